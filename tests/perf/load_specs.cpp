// Megabytes of specs that load() reads and checks per second: load_specs [objects]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "specs/language/load.hpp"

namespace {

// A host of its own kind with its settings: 2.4 kB.
std::string host(unsigned number) {
  std::string out = fmt::format(R"(---
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {{name: set{0}, labels: {{host: "h{0}"}}}}
spec:
  names: h{0}
  role: host
  drivers: [linux]
  connect: {{agent: "https://{{name}}:7443"}}
  interfaces: [{{name: "rail[0-7]", platform: connectx-7, rdma: true, speed: 400Gbps}}]
---
apiVersion: lockstep.dev/v1alpha1
kind: HostProfile
metadata: {{name: profile{0}}}
spec:
  selector: {{matchLabels: {{host: "h{0}"}}}}
  memlock: unlimited
  cpu: {{governor: performance, irqAffinity: numa-local}}
  sysctl:
)",
                                number);
  for (unsigned i = 0; i < 40; ++i) out += fmt::format("    net.core.some_parameter_{}: {}   # why\n", i, i);
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned objects = argc > 1 ? static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)) : 2000;
  std::string text;
  for (unsigned i = 0; i < objects; ++i) text += host(i);
  constexpr int kRounds = 5;
  double best = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    const lockstep::Loaded loaded = lockstep::load_text("specs.yaml", text);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    for (const lockstep::Diagnostic& one : loaded.diagnostics) fmt::print("  {} {}\n", one.code, one.message);
  }
  const double megabytes = static_cast<double>(text.size()) / 1e6;
  fmt::print("{:.1f} MB in {:.2f} s: {:.1f} MB/s (best of {})\n", megabytes, best, megabytes / best, kRounds);
  return 0;
}
