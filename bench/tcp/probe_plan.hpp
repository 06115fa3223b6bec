// From a benchmark of a ValidationSuite to a TcpPlan: pairs, rounds, repeats, iterations; and back: coverage,
// links and ideal of each measurement. Over RDMA the same pairs run in the same rounds (bench/verbs/rounds).
//
// Promises: pure and deterministic. A pair without links has no path by design and is not counted. `duration`
// is the steady time of one pair, shared by its repeats (a collective: of one group and size). As many
// iterations as the benchmark says, else as many as its SLOs' percentiles need. Latency runs on an idle
// fabric: one pair at a time unless told otherwise. Refuses: nothing; `direction: both`, which no transport
// carries yet, is planned as "not to be had".
#pragma once

#include <functional>

#include "bench/ideal.hpp"
#include "bench/schedule.hpp"
#include "bench/tcp/run.hpp"

namespace lockstep::bench {

struct Links {
  std::vector<std::string> names;         // directed links by index
  std::vector<std::uint64_t> capacities;  // bit/s of the line
  // Between two endpoints: what every flow crosses, and at each hash stage the equal links of which one is
  // taken.
  std::function<FlowPath(std::size_t from, std::size_t to)> path;
};

struct PlanOptions {
  std::string config_hash;
  std::function<bool(const Pair&)> wanted;  // e.g. only what a change can have touched; empty: all
  // Pairs that can't be judged now; a ring with such a hop is left out whole. Empty: none.
  std::function<bool(const Pair&)> excluded;
  ScheduleLimits limits;  // of bandwidth rounds
  std::size_t latency_pairs_at_once = 1;
  std::uint64_t seed = 1;  // of sample(N)
};

struct PlannedBenchmark {
  TcpPlan plan;
  std::vector<Pair> pairs;  // chosen, with a path, before `wanted`
  std::vector<Pair> no_path;
};

PlannedBenchmark plan_tcp(const Benchmark& benchmark, const std::vector<ProbeEndpoint>& endpoints,
                          const Links& links, const PlanOptions& options = {});

// Fills `links` and `ideal` of each measurement, and takes `cpu_limited` back where a link of the path
// explains the figure.
void explain(std::vector<Measurement>& measurements, const std::vector<ProbeEndpoint>& endpoints,
             const Links& links);

// Pairs and links that good measurements have covered, of those that the benchmark chose.
Coverage coverage(const PlannedBenchmark& planned, const std::vector<Measurement>& measurements,
                  const std::vector<ProbeEndpoint>& endpoints, const Links& links);

}  // namespace lockstep::bench
