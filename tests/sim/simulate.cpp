// simulate: runs seeded histories of a whole cluster in virtual time, each twice, and checks them.
//   simulate [--seed N] [--seeds COUNT] [--devices 200] [--steps]     replay N: one seed, prints its history
//   --devices 12-24: each seed has its own number from this range
//   --seconds N: starts no seed after that wall time; without --seeds, as many as there is time for
//   --at-least COUNT: fails if fewer seeds ran
//   --others: also outages by others, full disks, a clock that jumps, sessions that only a remedy restores,
//     suites that only alert, --strict, switches with two drivers, configuration that is lost unless it is
//     saved, and a program that runs on one of the hosts and reaches the others over the fabric
//   --hashes: also prints the hash of each seed's history, to compare with another process
// Exit code 1: a checker found a violation, two runs of a seed differ, too few seeds ran, or many seeds gave
// some checker nothing to check.
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "state_directory.hpp"
#include "world.hpp"

using lockstep::simulation::Edit;
using lockstep::simulation::World;
using lockstep::simulation::WorldCounts;
using lockstep::simulation::WorldOptions;
using lockstep::simulation::WorldResult;

namespace {

constexpr std::uint64_t kLeastDevices = 8;

struct Arguments {
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> seeds;
  std::uint64_t least_devices = 200;
  std::uint64_t most_devices = 200;
  std::optional<std::chrono::seconds> time;
  std::uint64_t at_least = 0;
  bool steps = false;
  bool hashes = false;
  bool others = false;
  std::uint64_t count() const { return seeds.value_or(time ? std::numeric_limits<std::uint64_t>::max() : 1); }
};

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t out = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

bool take_devices(Arguments& out, std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto least = number_of(text.substr(0, dash));
  const auto most = dash == text.npos ? least : number_of(text.substr(dash + 1));
  if (!least || !most || *least < kLeastDevices || *most < *least) return false;
  out.least_devices = *least;
  out.most_devices = *most;
  return true;
}

bool take(Arguments& out, std::string_view word, std::string_view value) {
  if (word == "--devices") return take_devices(out, value);
  const auto number = number_of(value);
  if (!number) return false;
  if (word == "--seed" || word == "replay") {
    out.seed = *number;
    out.steps = out.steps || word == "replay";
  } else if (word == "--seeds") {
    out.seeds = *number;
  } else if (word == "--seconds") {
    out.time = std::chrono::seconds(*number);
  } else if (word == "--at-least") {
    out.at_least = *number;
  } else {
    return false;
  }
  return true;
}

std::optional<Arguments> parse(int argc, char** argv) {
  Arguments out;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--steps" || word == "--hashes" || word == "--others") {
      (word == "--steps" ? out.steps : word == "--hashes" ? out.hashes : out.others) = true;
      continue;
    }
    if (i + 1 == argc || !take(out, word, argv[++i])) return std::nullopt;
  }
  return out;
}

// Returns false when a checker found a violation or the two runs differ.
bool run_twice(const WorldOptions& options, WorldResult& first) {
  first = World(options).run();
  WorldOptions silent = options;
  silent.steps = false;
  const bool same = World(silent).run().history == first.history;
  if (same && first.violations.empty()) return true;
  std::printf("seed %llu: %s\n", static_cast<unsigned long long>(options.seed),
              same ? "a checker found something" : "two runs of this seed differ");
  for (const std::string& what : first.violations) std::printf("  %s\n", what.c_str());
  std::printf("  replay: simulate replay %llu --devices %zu%s\n",
              static_cast<unsigned long long>(options.seed), options.devices,
              options.others ? " --others" : "");
  std::fflush(stdout);
  return false;
}

// The number of seeds in which the event occurs at least once, unless the simulation is wrong: for the rarest
// events, ten times the measured mean distance between two occurrences.
struct Counted {
  const char* what;
  std::size_t (*count)(const WorldCounts& counts);
  std::uint64_t seeds;
};
template <auto Count>
std::size_t of(const WorldCounts& counts) {
  return counts.*Count;
}
template <Edit Kind>
std::size_t edited(const WorldCounts& counts) {
  return counts.edited[static_cast<std::size_t>(Kind)];
}
constexpr Counted kCounted[] = {
    {"driver calls", of<&WorldCounts::calls>, 1},
    {"writes", of<&WorldCounts::writes>, 10},
    {"paths whose modelled figure was changed", of<&WorldCounts::moved>, 50},
    {"of these, about which a gate asked", of<&WorldCounts::asked>, 50},
    {"entries that a gate had undone, as they were before", of<&WorldCounts::undone>, 50},
    {"ends of cables taken back, as the other did not follow", of<&WorldCounts::evened>, 100},
    {"cables of which both ends took what must be alike", of<&WorldCounts::both_ended>, 50},
    {"ends not begun, as the other may not be changed", of<&WorldCounts::one_ended>, 50},
    {"writes of runs for some devices only", of<&WorldCounts::chosen>, 50},
    {"devices that were away while all was observed", of<&WorldCounts::away>, 50},
    {"ends that differ, and whose other end is away", of<&WorldCounts::far_away>, 100},
    {"edits of how many equal paths are used, written", edited<Edit::spread>, 50},
    {"edits of MTUs", edited<Edit::mtu>, 50},
    {"locks of routes, while MTUs of hosts change", of<&WorldCounts::locked>, 50},
    {"locks of routes taken away", of<&WorldCounts::unlocked>, 50},
    {"edits of lossless priorities", edited<Edit::lossless>, 50},
    {"edits of kernel parameters", edited<Edit::sysctl>, 50},
    {"edits of addresses and routes", edited<Edit::address>, 50},
    {"edits that add entries, or say nothing of them any more", edited<Edit::entry>, 50},
    {"healings", of<&WorldCounts::healed>, 50},
    {"processes killed", of<&WorldCounts::killed>, 50},
    {"second leaders refused", of<&WorldCounts::refused>, 50},
    {"second leaders that took over", of<&WorldCounts::took_over>, 100},
    {"late writes of a first leader, after those of the second", of<&WorldCounts::late>, 600},
};

// Only with --others.
constexpr Counted kCountedOfOthers[] = {
    {"outages by others, between plan and apply", of<&WorldCounts::out_planned>, 100},
    {"outages by others in the middle of an apply", of<&WorldCounts::out_meanwhile>, 100},
    {"outages by others while it was measured", of<&WorldCounts::out_measured>, 100},
    {"writes beside outages by others that budgets count", of<&WorldCounts::out_counted>, 400},
    {"steps that wait for what is out of service", of<&WorldCounts::out_held>, 300},
    {"changes that stay, although others had broken what was measured", of<&WorldCounts::spared>, 100},
    {"rounds in which the controls fell as well", of<&WorldCounts::all_fell>, 400},
    {"bad changes that stay, as the suite only alerts", of<&WorldCounts::alerted>, 400},
    {"changes undone, as nothing can be quarantined", of<&WorldCounts::not_cordoned>, 400},
    {"changes undone, as nobody could tell, under --strict", of<&WorldCounts::strictly>, 1000},
    {"jumps of the clock while an apply was under way", of<&WorldCounts::clock_jumps>, 100},
    {"devices of which one driver was away while all was observed", of<&WorldCounts::half_read>, 100},
    {"configurations of routing daemons saved by a write", of<&WorldCounts::saved>, 50},
    {"entries of these that a restart at the end kept", of<&WorldCounts::kept>, 50},
    {"calls that got no answer, as no way led to the device", of<&WorldCounts::unheard>, 50},
    {"writes that may cut the last way to a device", of<&WorldCounts::armed>, 100},
    {"devices that undid that as they were told to", of<&WorldCounts::told_to_undo>, 500},
    {"devices that were cut off, and undid that by themselves", of<&WorldCounts::undid>, 100},
    {"remedies carried out", of<&WorldCounts::cures>, 100},
    {"commits of journals whose disk was full", of<&WorldCounts::unstored>, 150},
    {"applies that were cut short by that, and say so", of<&WorldCounts::stopped_short>, 150},
    {"applies that went on from there", of<&WorldCounts::gone_on>, 150},
};

// Returns false when many seeds gave a checker nothing to check.
bool report(const WorldCounts& counts, std::uint64_t seeds, std::span<const Counted> counted) {
  bool all = true;
  for (const Counted& one : counted) {
    const bool never = one.count(counts) == 0 && seeds >= one.seeds;
    std::printf("%10zu %s%s\n", one.count(counts), one.what, never ? ": NEVER CHECKED" : "");
    all = all && !never;
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Arguments> arguments = parse(argc, argv);
  if (!arguments) {
    std::fprintf(stderr,
                 "usage: simulate [--seed N] [--seeds COUNT] [--seconds N] [--at-least COUNT] "
                 "[--devices N|N-N (8 and more)] [--steps] [--hashes] [--others] | replay N\n");
    return 2;
  }
  const lockstep::simulation::PrivateStates states;
  const auto begin = std::chrono::steady_clock::now();
  WorldCounts counts;
  std::uint64_t ran = 0;
  std::uint64_t failed = 0;
  for (; ran < arguments->count(); ++ran) {
    if (arguments->time && std::chrono::steady_clock::now() - begin >= *arguments->time) break;
    WorldOptions options;
    options.seed = arguments->seed + ran;
    options.steps = arguments->steps;
    options.others = arguments->others;
    options.devices =
        arguments->least_devices + options.seed % (arguments->most_devices - arguments->least_devices + 1);
    WorldResult result;
    failed += run_twice(options, result) ? 0 : 1;
    counts += result.counts;
    if (arguments->hashes)
      std::printf("%llu %016llx\n", static_cast<unsigned long long>(options.seed),
                  static_cast<unsigned long long>(result.history));
  }
  bool checked = report(counts, ran, kCounted);
  if (arguments->others) checked = report(counts, ran, kCountedOfOthers) && checked;
  std::printf("%llu seeds of %llu to %llu devices: %llu failed\n", static_cast<unsigned long long>(ran),
              static_cast<unsigned long long>(arguments->least_devices),
              static_cast<unsigned long long>(arguments->most_devices),
              static_cast<unsigned long long>(failed));
  if (ran < arguments->at_least)
    std::printf("only %llu of at least %llu seeds ran in time\n", static_cast<unsigned long long>(ran),
                static_cast<unsigned long long>(arguments->at_least));
  return failed == 0 && checked && ran >= arguments->at_least ? 0 : 1;
}
