// The time of all proofs on 512 leaf switches x 128 spine switches x 32,768 host links (196,608 directed
// channels), and of one question about remaining capacity on the same fabric. Goal: well under a second, on
// one core.
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>

#include "specs/fabric/capacity.hpp"
#include "specs/fabric/deadlock.hpp"
#include "specs/fabric/proofs.hpp"
#include "specs/language/load.hpp"
#include "tests/perf/fleet_spec.hpp"

namespace {

using namespace lockstep;

// A RolloutPolicy, so that capacity is proved too.
constexpr const char* kPolicy = R"(---
apiVersion: lockstep.dev/v1alpha1
kind: RolloutPolicy
metadata: {name: careful}
spec: {selector: {}, unit: redundancy-group, waves: ["1", "100%"], minCapacity: {leaf: 80%, spine: 90%}}
)";

void timed(const char* what, const std::function<void()>& body) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  body();
  std::printf("%-34s %8.1f ms\n", what,
              std::chrono::duration<double, std::milli>(Clock::now() - start).count());
}

// A layered graph of the size of the sketch: 131,072 channels, 14.6 million dependencies.
Dependencies layered() {
  constexpr std::uint32_t kChannels = 131'072;
  constexpr std::uint32_t kEach = 223;
  constexpr std::uint32_t kHalf = kChannels / 2;
  Dependencies out;
  out.first.reserve(kChannels + 1);
  out.first.push_back(0);
  for (std::uint32_t c = 0; c < kChannels; ++c) {
    for (std::uint32_t i = 0; c < kHalf && i < kEach; ++i)
      out.next.push_back(kHalf + (c * 7 + i * 293) % kHalf);
    out.first.push_back(static_cast<std::uint32_t>(out.next.size()));
  }
  return out;
}

}  // namespace

int main() {
  Loaded loaded;
  Expanded expanded;
  Diagnostics found;
  timed("load", [&] {
    loaded = load_text("fleet.yaml", perf::fleet_spec({.hosts = 4096, .one_plane = true}) + kPolicy);
  });
  timed("expand", [&] { expanded = expand(loaded.catalog); });
  const Topology& topology = expanded.topology;
  timed("all proofs", [&] { found = prove(loaded.catalog, topology); });
  for (const Diagnostics* all : {&loaded.diagnostics, &expanded.diagnostics, &found})
    for (const Diagnostic& one : *all)
      std::printf("  line %u: %s %s\n", one.at.line, one.code.c_str(), one.message.c_str());
  if (topology.fabrics.empty()) return 1;
  timed("of these: circle of buffers", [&] {
    (void)find_buffer_cycle(topology, 0, {false, false, true, false});
  });
  std::vector<FabricCapacity> capacity;
  timed("capacity: prepare", [&] { capacity.emplace_back(topology, 0); });
  Remaining left;
  const FabricGraph& graph = topology.fabrics[0];
  const Down wave{.devices = {graph.spines[0], graph.spines[64], graph.leaves[3]},
                  .links = {graph.links.back()}};
  timed("capacity: one question", [&] { left = capacity.front().without(wave); });
  std::printf("  spine tier %.4f, leaf tier %.4f, %zu hosts cut off\n", left.smallest[2], left.smallest[1],
              left.cut_off.size());
  const Dependencies dependencies = layered();
  bool acyclic = false;
  timed("Kahn alone", [&] { acyclic = find_cycle(dependencies).empty(); });
  std::printf("  %zu devices, %zu links; Kahn: %zu channels, %zu dependencies, %s\n", topology.devices.size(),
              topology.links.size(), dependencies.channels(), dependencies.next.size(),
              acyclic ? "no circle" : "a circle");
  return 0;
}
