// simulate: runs seeded histories of a whole cluster in virtual time, each twice, and checks them.
//   simulate [--seed N] [--seeds COUNT] [--devices 200] [--steps]     replay N: one seed, its history printed
//   --hashes: besides, the hash of each seed's history, to compare with another process
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "world.hpp"

using lockstep::simulation::World;
using lockstep::simulation::WorldCounts;
using lockstep::simulation::WorldOptions;
using lockstep::simulation::WorldResult;

namespace {

// False: a checker found something, or the two runs differ.
bool run_twice(const WorldOptions& options, WorldResult& first) {
  first = World(options).run();
  WorldOptions silent = options;
  silent.steps = false;
  const bool same = World(silent).run().history == first.history;
  if (same && first.violations.empty()) return true;
  std::printf("seed %llu: %s\n", static_cast<unsigned long long>(options.seed),
              same ? "a checker found something" : "two runs of this seed differ");
  for (const std::string& what : first.violations) std::printf("  %s\n", what.c_str());
  std::printf("  replay: simulate replay %llu --devices %zu\n", static_cast<unsigned long long>(options.seed),
              options.devices);
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  WorldOptions options;
  std::uint64_t seeds = 1;
  bool hashes = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const char* const next = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--steps" || word == "--hashes") {
      (word == "--steps" ? options.steps : hashes) = true;
      continue;
    }
    const std::uint64_t number = std::strtoull(next, nullptr, 10);
    ++i;
    if (word == "--seed") {
      options.seed = number;
    } else if (word == "--seeds") {
      seeds = number;
    } else if (word == "--devices" && number >= 8) {
      options.devices = number;
    } else if (word == "replay") {
      options.seed = number;
      options.steps = true;
    } else {
      std::fprintf(stderr,
                   "usage: simulate [--seed N] [--seeds COUNT] [--devices N>=8] [--steps] [--hashes] | "
                   "replay N\n");
      return 2;
    }
  }
  WorldCounts counts;
  std::uint64_t failed = 0;
  for (std::uint64_t i = 0; i < seeds; ++i, ++options.seed) {
    WorldResult result;
    failed += run_twice(options, result) ? 0 : 1;
    counts += result.counts;
    if (hashes)
      std::printf("%llu %016llx\n", static_cast<unsigned long long>(options.seed),
                  static_cast<unsigned long long>(result.history));
  }
  std::printf(
      "%llu seeds of %zu devices, %zu driver calls, %zu writes, %zu healings; %zu processes killed; of "
      "second leaders %zu refused, %zu took over, %zu late writes of the first came after theirs: "
      "%llu failed\n",
      static_cast<unsigned long long>(seeds), options.devices, counts.calls, counts.writes, counts.healed,
      counts.killed, counts.refused, counts.took_over, counts.late, static_cast<unsigned long long>(failed));
  return failed == 0 ? 0 : 1;
}
