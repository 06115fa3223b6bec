// Plans a benchmark of a ValidationSuite as a TcpPlan (pairs, rounds, repeats, iterations), and adds
// coverage, links and ideal to the measurements. Over RDMA the same pairs run in the same rounds
// (bench/verbs/rounds).
//
// Promises: pure and deterministic. A pair without links has no path by design and is not counted. `duration`
// is the steady time of one pair, shared by its repeats (a collective: of one group and size). Iterations are
// as many as the benchmark sets, else as many as its SLOs' percentiles need. Latency runs on an idle fabric:
// one pair at a time unless configured otherwise. `direction: both`, which no transport supports yet, is
// planned as "not to be had".
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>

#include "bench/ideal.hpp"
#include "bench/schedule.hpp"
#include "bench/tcp/run.hpp"

namespace lockstep::bench {

struct Links {
  std::function<std::string(std::uint32_t link)> name;  // "leaf0:up0 -> spine0:down0"
  std::vector<std::uint64_t> capacities;                // bit/s on the wire, of directed links by index
  // Between two endpoints: the links that every flow crosses, and at each hash stage the equal links from
  // which one is chosen.
  std::function<FlowPath(std::size_t from, std::size_t to)> path;
};

struct PlanOptions {
  std::string config_hash;
  std::optional<std::vector<Pair>> pairs{};  // instead of those that the benchmark's choice makes
  std::function<bool(const Pair&)> wanted;   // e.g. only what a change can have touched; empty: all
  // Pairs that can't be judged now; a ring with such a hop is left out whole. Empty: none.
  std::function<bool(const Pair&)> excluded;
  ScheduleLimits limits;  // for bandwidth rounds
  std::size_t latency_pairs_at_once = 1;
  std::uint64_t seed = 1;  // for sample(N)
};

struct PlannedBenchmark {
  TcpPlan plan;
  std::vector<Pair> pairs;     // that run; for a ring, its hops
  std::vector<Pair> left_out;  // for which limits.rounds had no room
  std::vector<Pair> no_path;
};

PlannedBenchmark plan_tcp(const Benchmark& benchmark, const std::vector<ProbeEndpoint>& endpoints,
                          const Links& links, const PlanOptions& options = {});

// Duration of a round if nothing fails: a pair's repeats with their warm-up; a group's time for all sizes. A
// pair that fails ends its round later, by the time that `Timing` gives it to connect and to stall.
std::chrono::milliseconds round_time(const TcpPlan& plan);

// The direction of the data: reading is a stream from the far end.
Pair data_way(Workload workload, Pair pair);
bool collective(Workload workload);  // runs in groups; else in pairs

// Fills `links` and `ideal` of each measurement, and clears `cpu_limited` if a link of the path explains the
// figure.
void explain(std::vector<Measurement>& measurements, const std::vector<ProbeEndpoint>& endpoints,
             const Links& links);

// The directed links that each measurement's traffic may have crossed, concatenated.
std::vector<std::uint32_t> links_crossed(const Measurement& measurement,
                                         const std::map<std::string, std::size_t>& ends, const Links& links);
// By name: the index of each endpoint.
std::map<std::string, std::size_t> index_of(const std::vector<ProbeEndpoint>& endpoints);

// Pairs and links covered by good measurements, of those that were planned.
Coverage coverage(const PlannedBenchmark& planned, const std::vector<Measurement>& measurements,
                  const std::vector<ProbeEndpoint>& endpoints, const Links& links);

}  // namespace lockstep::bench
