// From a benchmark of a ValidationSuite to a TcpPlan: pairs, rounds, repeats, iterations; and back: coverage,
// links and ideal of each measurement. Over RDMA the same pairs run in the same rounds (bench/verbs/rounds).
//
// Promises: pure and deterministic. A pair without links has no path by design and is not counted. `duration`
// is the steady time of one pair, shared by its repeats (a collective: of one group and size). As many
// iterations as the benchmark says, else as many as its SLOs' percentiles need. Latency runs on an idle
// fabric: one pair at a time unless told otherwise. Refuses: nothing; `direction: both`, which no transport
// carries yet, is planned as "not to be had".
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
  std::vector<std::uint64_t> capacities;                // bit/s of the line, of directed links by index
  // Between two endpoints: what every flow crosses, and at each hash stage the equal links of which one is
  // taken.
  std::function<FlowPath(std::size_t from, std::size_t to)> path;
};

struct PlanOptions {
  std::string config_hash;
  std::optional<std::vector<Pair>> pairs{};  // in place of those that the benchmark's choice makes
  std::function<bool(const Pair&)> wanted;   // e.g. only what a change can have touched; empty: all
  // Pairs that can't be judged now; a ring with such a hop is left out whole. Empty: none.
  std::function<bool(const Pair&)> excluded;
  ScheduleLimits limits;  // of bandwidth rounds
  std::size_t latency_pairs_at_once = 1;
  std::uint64_t seed = 1;  // of sample(N)
};

struct PlannedBenchmark {
  TcpPlan plan;
  std::vector<Pair> pairs;     // that run; a ring's are its hops
  std::vector<Pair> left_out;  // for which limits.rounds left no round
  std::vector<Pair> no_path;
};

PlannedBenchmark plan_tcp(const Benchmark& benchmark, const std::vector<ProbeEndpoint>& endpoints,
                          const Links& links, const PlanOptions& options = {});

// What a round of it takes while all goes well: a pair's repeats with their warm-up; a group's time for all
// sizes. A pair that fails ends its round later, by the time that `Timing` gives it to connect and to stall.
std::chrono::milliseconds round_time(const TcpPlan& plan);

// The way that the data goes: reading is a stream from the far end.
Pair data_way(Workload workload, Pair pair);
bool collective(Workload workload);  // in groups; else in pairs

// Fills `links` and `ideal` of each measurement, and takes `cpu_limited` back where a link of the path
// explains the figure.
void explain(std::vector<Measurement>& measurements, const std::vector<ProbeEndpoint>& endpoints,
             const Links& links);

// The directed links that each measurement's traffic may have crossed, one after the other.
std::vector<std::uint32_t> links_crossed(const Measurement& measurement,
                                         const std::map<std::string, std::size_t>& ends, const Links& links);
// By name: where each is among the endpoints.
std::map<std::string, std::size_t> index_of(const std::vector<ProbeEndpoint>& endpoints);

// Pairs and links that good measurements have covered, of those that were planned.
Coverage coverage(const PlannedBenchmark& planned, const std::vector<Measurement>& measurements,
                  const std::vector<ProbeEndpoint>& endpoints, const Links& links);

}  // namespace lockstep::bench
