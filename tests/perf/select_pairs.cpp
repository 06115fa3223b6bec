// The time a gate takes to select its pairs and to arrange them in rounds: 4,096 hosts x 8 rails, one leaf
// switch changed. Goal: 50 ms, on one core. Reading the specs and the devices is not included, everything
// else is.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "reconciler/measure/gate_pairs.hpp"
#include "specs/language/load.hpp"
#include "tests/perf/fleet_spec.hpp"

namespace {

using namespace lockstep;

constexpr const char* kSuite = R"(---
apiVersion: lockstep.dev/v1alpha1
kind: ValidationSuite
metadata: {name: slo}
spec:
  fabric: backend
  transport: tcp
  benchmarks:
    - {name: pairs, workload: stream, pairs: all, duration: 2s, slo: [{metric: bandwidth, statistic: min, atLeast: 90% of nominal}]}
    - {name: latency, workload: request-response, pairs: same-rail, duration: 300ms, slo: [{metric: latency, statistic: p99, atMost: 20us}]}
    - {name: allreduce, workload: ring-allreduce, sizes: [1GiB], slo: [{metric: busbw, statistic: median, atLeast: 80% of nominal}]}
)";

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> all) {
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
  return all[all.size() / 2];
}

TouchedParts whole(const Topology& topology, const std::string& device) {
  TouchedParts out{{device}, {}};
  for (LinkIndex link = 0; link < topology.links.size(); ++link)
    if (topology.device_of(topology.links[link].a) == device ||
        topology.device_of(topology.links[link].b) == device)
      out.cables.push_back(link);
  return out;
}

void measure_change(const Catalog& catalog, const Compiled& compiled, const std::string& device,
                    std::size_t flows_at_once) {
  constexpr int kRuns = 21;
  const MeasureInput input{catalog, compiled, {}, {}, {}, "", {}};
  const ValidationSuite& suite = catalog.validation_suites.front();
  const TouchedParts touched = whole(compiled.topology, device);
  const GateChoice choice{.affected = touched, .pending = {}, .whole = touched};
  const BusyHosts busy;
  std::vector<double> ground_times, plan_times, all_times;
  std::string found;
  for (int run = 0; run < kRuns; ++run) {
    const auto start = std::chrono::steady_clock::now();
    Ground ground(input, 0);
    ground_times.push_back(milliseconds_since(start));
    const auto plan = std::chrono::steady_clock::now();
    GatePairs pairs(ground, suite, choice, busy);
    std::vector<PreparedBenchmark> all;
    for (const Benchmark& benchmark : suite.benchmarks) {
      all.push_back({.benchmark = &benchmark});
      all.back().options.limits.flows_per_round = flows_at_once;
    }
    pairs.plan(all, {});
    plan_times.push_back(milliseconds_since(plan));
    all_times.push_back(milliseconds_since(start));
    found.clear();
    for (const PreparedBenchmark& one : all)
      found += " " + *one.benchmark->name + " " + std::to_string(one.planned.pairs.size()) + "/" +
               std::to_string(one.planned.plan.rounds.size() + one.planned.plan.group_rounds.size());
    found += ", looked at " + std::to_string(pairs.looked_at());
  }
  std::printf(
      "%-6s %4zu links, %3zu at once: %6.1f ms (fabric and routes %5.1f, pairs and rounds %5.1f), most %6.1f;"
      " pairs/rounds:%s\n",
      device.c_str(), 2 * touched.cables.size(), flows_at_once, median(all_times), median(ground_times),
      median(plan_times), *std::max_element(all_times.begin(), all_times.end()), found.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned hosts = argc > 1 ? static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)) : 4096;
  for (const bool one_plane : {false, true}) {
    const Loaded loaded = load_text(
        "fleet.yaml", perf::fleet_spec({.hosts = hosts, .roce = false, .one_plane = one_plane}) + kSuite);
    for (const Diagnostic& one : loaded.diagnostics)
      std::printf("line %u: %s %s\n", one.at.line, one.code.c_str(), one.message.c_str());
    const Compiled compiled = compile(loaded.catalog);
    if (loaded.catalog.validation_suites.empty() || compiled.topology.fabrics.empty()) return 1;
    std::printf("%u hosts, %zu endpoints, %zu links%s\n", hosts,
                compiled.topology.fabrics[0].endpoints.size(), compiled.topology.links.size(),
                one_plane ? ", every leaf at every spine" : ", a plane for each rail");
    for (const std::size_t at_once : {4U, 0U})
      for (const char* const device : {"g2r3", "p1s1", "gpu77"})
        measure_change(loaded.catalog, compiled, device, at_once);
  }
  return 0;
}
