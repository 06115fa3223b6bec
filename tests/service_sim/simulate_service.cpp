// simulate_service: runs seeded histories of a service in virtual time, and checks them (world.hpp); one of
// ten runs twice.
//   simulate_service [--from SEED] [--seeds COUNT] [--steps]   --steps: prints the histories
//   --seconds N: starts no seed after that wall time
// Exit code 1: a check found a violation, two runs of a seed differ, or many seeds gave a check nothing to
// check.
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "world.hpp"

using lockstep::service_simulation::Counts;
using lockstep::service_simulation::World;
using lockstep::service_simulation::WorldOptions;
using lockstep::service_simulation::WorldResult;

namespace {

struct Arguments {
  std::uint64_t from = 1;
  std::uint64_t seeds = 1;
  std::optional<std::uint64_t> seconds;
  bool steps = false;
};

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t out = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

std::optional<Arguments> parse(int argc, char** argv) {
  Arguments out;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--steps") {
      out.steps = true;
      continue;
    }
    const auto number = i + 1 < argc ? number_of(argv[++i]) : std::nullopt;
    if (!number) return std::nullopt;
    if (word == "--from")
      out.from = *number;
    else if (word == "--seeds")
      out.seeds = *number;
    else if (word == "--seconds")
      out.seconds = *number;
    else
      return std::nullopt;
  }
  return out;
}

constexpr std::uint64_t kTwice = 10;

// Returns false when a check found a violation or two runs differ.
bool run(const WorldOptions& options, WorldResult& first) {
  first = World(options).run();
  const bool same = options.seed % kTwice != 0 || !first.violations.empty() ||
                    World({.seed = options.seed}).run().history == first.history;
  if (same && first.violations.empty()) return true;
  std::printf("seed %llu: %s\n", static_cast<unsigned long long>(options.seed),
              same ? "a check found something" : "two runs of this seed differ");
  for (const std::string& what : first.violations) std::printf("  %s\n", what.c_str());
  std::printf("  again: simulate_service --from %llu --steps\n",
              static_cast<unsigned long long>(options.seed));
  std::fflush(stdout);
  return false;
}

// What happens in most seeds: in so many, it happens unless the simulation is wrong.
constexpr std::uint64_t kManySeeds = 50;
constexpr std::string_view kCounted[] = {
    "SLOs broken by the clock",
    "approvals of older steps",
    "approve",
    "changes for a revision",
    "commits during a gate",
    "commits that a full disk refuses",
    "commits that do not load",
    "cordon",
    "devices shown in sync",
    "devices that flap",
    "drift",
    "drift of most devices",
    "forced pushes",
    "harmful commits",
    "heals",
    "interrupted gates",
    "jumps of the clock",
    "kills",
    "kills at a commit",
    "measurements",
    "measurements by the clock",
    "other versions",
    "outages",
    "outages of all devices",
    "personal applies",
    "personal applies that are refused",
    "proofs of leadership",
    "quiet ends at a goal",
    "quiet with a newer revision in git",
    "refused requests",
    "reject",
    "resume",
    "reverting commits",
    "revisions kept",
    "revisions refused",
    "rollbacks",
    "starts",
    "statuses with an open breaker",
    "stops",
    "suites measured by the clock",
    "supersessions",
    "suspend",
    "troubles of the source",
    "uncordon",
    "writes",
    "writes in a window",
};

bool report(Counts& counts, std::uint64_t seeds) {
  bool all = true;
  for (const std::string_view what : kCounted) {
    const bool never = counts[what] == 0 && seeds >= kManySeeds;
    std::printf("%10zu %.*s%s\n", counts[what], static_cast<int>(what.size()), what.data(),
                never ? ": NEVER" : "");
    all = all && !never;
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Arguments> arguments = parse(argc, argv);
  if (!arguments) {
    std::fprintf(stderr, "usage: simulate_service [--from SEED] [--seeds COUNT] [--seconds N] [--steps]\n");
    return 2;
  }
  const lockstep::simulation::PrivateStates states;
  const auto begin = std::chrono::steady_clock::now();
  Counts counts;
  std::uint64_t ran = 0;
  std::uint64_t failed = 0;
  for (; ran < arguments->seeds; ++ran) {
    const auto took = std::chrono::steady_clock::now() - begin;
    if (arguments->seconds && took >= std::chrono::seconds(*arguments->seconds)) break;
    WorldResult result;
    failed += run({.seed = arguments->from + ran, .steps = arguments->steps}, result) ? 0 : 1;
    for (const auto& [what, count] : result.counts) counts[what] += count;
  }
  const bool checked = report(counts, ran);
  std::printf("%llu seeds: %llu failed\n", static_cast<unsigned long long>(ran),
              static_cast<unsigned long long>(failed));
  return failed == 0 && checked && ran > 0 ? 0 : 1;
}
