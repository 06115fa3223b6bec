// Clusters whose gates are planned but not measured: coverage is computed from made-up measurements.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "reconciler/measure/gate_pairs.hpp"
#include "specs/language/load.hpp"
#include "tests/said.hpp"
#include "tests/unit/fabric/small_fabric.hpp"

namespace lockstep {

inline Benchmark benchmark_of(const std::string& name, Workload workload, PairChoice choice = PairChoice{}) {
  Benchmark out;
  out.name = said(name);
  out.workload = said(workload);
  out.pairs = said(choice);
  out.slo.emplace_back();
  return out;
}

// A catalog and its compiled form, as far as measuring needs it.
struct MeasuredCluster {
  Catalog catalog;
  Compiled compiled;

  static MeasuredCluster of_specs(const std::string& specs) {
    MeasuredCluster out;
    out.catalog = load({specs}).catalog;
    CompileOptions options;
    options.twin = TwinScale{};
    out.compiled = compile(out.catalog, options);
    return out;
  }
  // A cluster with one fabric and one benchmark over pairs.
  static MeasuredCluster of_topology(Topology topology, PairChoice choice = PairChoice{}) {
    MeasuredCluster out;
    out.catalog.fabrics.emplace_back().metadata.name.value = "backend";
    for (DeviceIndex i = 0; i < topology.devices.size(); ++i) topology.by_name.push_back(i);
    std::sort(topology.by_name.begin(), topology.by_name.end(), [&](DeviceIndex a, DeviceIndex b) {
      return topology.devices[a].name < topology.devices[b].name;
    });
    out.compiled.topology = std::move(topology);
    out.compiled.allocation.port.resize(out.compiled.topology.ports.size());
    out.compiled.intents.resize(out.compiled.topology.devices.size());
    ValidationSuite& suite = out.catalog.validation_suites.emplace_back();
    suite.fabric = said<std::string>("backend");
    suite.transport = said(Transport::tcp);
    suite.benchmarks.push_back(benchmark_of("pairs", Workload::stream, choice));
    return out;
  }
  ValidationSuite& suite() { return catalog.validation_suites.front(); }
  const Topology& topology() const { return compiled.topology; }
  MeasureInput input() const { return {catalog, compiled, {}, {}, {}, "", {}}; }
  DeviceIndex device(const std::string& name) const { return compiled.topology.find_device(name); }

  // Whole devices with all their cables.
  TouchedParts whole(const std::set<std::string>& names) const {
    TouchedParts out{{names.begin(), names.end()}, {}};
    for (LinkIndex link = 0; link < topology().links.size(); ++link)
      if (names.contains(topology().device_of(topology().links[link].a)) ||
          names.contains(topology().device_of(topology().links[link].b)))
        out.cables.push_back(link);
    return out;
  }
  TouchedParts all() const {
    std::set<std::string> names;
    for (const TopologyDevice& device : topology().devices) names.insert(device.name);
    return whole(names);
  }
};

// The pairs of one gate for a change.
struct PlannedGate {
  const MeasuredCluster& cluster;
  GateChoice choice;
  BusyHosts busy;
  Ground ground;
  GatePairs pairs;
  std::vector<PreparedBenchmark> all;

  PlannedGate(MeasuredCluster& of, GateChoice asked, BusyHosts jobs = {},
              const GatePairs::Wanted& wanted = {}, std::size_t flows_at_once = 4)
      : cluster(of),
        choice(std::move(asked)),
        busy(std::move(jobs)),
        ground(cluster.input(), 0),
        pairs(ground, of.suite(), choice, busy) {
    for (const Benchmark& benchmark : of.suite().benchmarks) {
      all.push_back({.benchmark = &benchmark});
      all.back().options.limits.flows_per_round = flows_at_once;
    }
    pairs.plan(all, wanted);
  }

  std::string text(const bench::Pair& pair) const {
    return ground.probes[pair.from].endpoint.name() + " -> " + ground.probes[pair.to].endpoint.name();
  }
  // The measured pairs of a benchmark.
  std::set<std::string> measured(std::size_t benchmark = 0) const {
    std::set<std::string> out;
    for (const auto& round : all[benchmark].planned.plan.rounds)
      for (const bench::Pair& pair : round) out.insert(text(pair));
    return out;
  }
  std::size_t rings(std::size_t benchmark) const {
    std::size_t out = 0;
    for (const auto& round : all[benchmark].planned.plan.group_rounds) out += round.size();
    return out;
  }
  std::chrono::milliseconds takes() const {
    std::chrono::milliseconds out{0};
    for (const PreparedBenchmark& one : all)
      out += bench::round_time(one.planned.plan) *
             static_cast<int>(one.planned.plan.rounds.size() + one.planned.plan.group_rounds.size());
    return out;
  }
  // The coverage if all pairs were measured, except those for which `fails` returns true.
  GateCoverage coverage(const std::function<bool(const std::string& pair)>& fails = {}) {
    std::vector<BenchmarkOutcome> outcomes;
    for (const PreparedBenchmark& one : all) {
      BenchmarkOutcome& outcome = outcomes.emplace_back();
      outcome.benchmark = one.benchmark;
      const auto add = [&](bench::Measurement made, const std::string& subject) {
        made.benchmark = *one.benchmark->name;
        made.workload = *one.benchmark->workload;
        if (fails && fails(subject)) made.trouble = bench::Trouble::tool;
        outcome.measurements.push_back(std::move(made));
      };
      for (const auto& round : one.planned.plan.rounds)
        for (const bench::Pair& pair : round) {
          bench::Measurement made;
          made.from = ground.probes[pair.from].endpoint.name();
          made.to = ground.probes[pair.to].endpoint.name();
          add(std::move(made), text(pair));
        }
      for (const auto& round : one.planned.plan.group_rounds)
        for (const bench::Group& group : round) {
          bench::Measurement made;
          made.group = group.name;
          for (const std::size_t rank : group.ranks)
            made.ranks.push_back(ground.probes[rank].endpoint.name());
          add(std::move(made), group.name);
        }
    }
    return pairs.coverage(all, outcomes);
  }
};

}  // namespace lockstep
