// Seconds and peak memory of load + compile, for 64 to 16,384 hosts: compile_fleet [hosts...] [--no-roce]
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "specs/compile/compile.hpp"
#include "specs/language/load.hpp"
#include "tests/perf/fleet_spec.hpp"

namespace {

using lockstep::perf::FleetShape;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void measure(const FleetShape& shape) {
  const std::string text = lockstep::perf::fleet_spec(shape);
  const auto start = std::chrono::steady_clock::now();
  const lockstep::Loaded loaded = lockstep::load_text("fleet.yaml", text);
  const double load_seconds = seconds_since(start);
  const lockstep::Compiled compiled = lockstep::compile(loaded.catalog, {});
  const double all_seconds = seconds_since(start);
  std::size_t entries = 0;
  for (const lockstep::Intent& intent : compiled.intents) entries += intent.want.size();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print(
      "{:>6} hosts {:>6} devices {:>8} ports {:>9} entries  load {:.3f} s  compile {:.3f} s  peak {:>5} "
      "MiB\n",
      shape.hosts, compiled.topology.devices.size(), compiled.topology.ports.size(), entries, load_seconds,
      all_seconds - load_seconds, usage.ru_maxrss / 1024);
  for (const lockstep::Diagnostics* all : {&loaded.diagnostics, &compiled.diagnostics})
    for (const lockstep::Diagnostic& one : *all) fmt::print("  {} {}\n", one.code, one.message);
  std::fflush(stdout);
  std::_Exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<unsigned> sizes;
  bool roce = true;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--no-roce")
      roce = false;
    else
      sizes.push_back(static_cast<unsigned>(std::strtoul(argv[i], nullptr, 10)));
  }
  if (sizes.empty()) sizes = {64, 256, 1024, 4096, 16384};
  // Each size runs in its own process, to get its own peak.
  for (const unsigned hosts : sizes) {
    const pid_t child = fork();
    if (child == 0) measure({hosts, roce});
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0) return 1;
  }
  return 0;
}
