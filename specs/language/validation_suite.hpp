// ValidationSuite: the benchmarks, the SLOs that must hold, and when they run again.
#pragma once

#include <span>

#include "specs/language/object.hpp"

namespace lockstep {

enum class Transport : std::uint8_t { automatic, rdma, tcp };
constexpr auto words(Transport) { return std::to_array<std::string_view>({"auto", "rdma", "tcp"}); }

enum class Workload : std::uint8_t {
  write_bandwidth,
  read_bandwidth,
  stream,
  write_latency,
  request_response,
  ring_allreduce,
  tree_allreduce,
  all_to_all,
  incast,
  barrier
};
constexpr auto words(Workload) {
  return std::to_array<std::string_view>({"write-bandwidth", "read-bandwidth", "stream", "write-latency",
                                          "request-response", "ring-allreduce", "tree-allreduce",
                                          "all-to-all", "incast", "barrier"});
}

// all | same-rail | cross-leaf | ring | sample(N)
struct PairChoice {
  enum class Way : std::uint8_t { all, same_rail, cross_leaf, ring, sample };
  Way way = Way::all;
  std::uint32_t sample = 0;
  auto operator<=>(const PairChoice&) const = default;
};

enum class Direction : std::uint8_t { one, both };
constexpr auto words(Direction) { return std::to_array<std::string_view>({"one", "both"}); }

enum class Metric : std::uint8_t { bandwidth, latency, busbw, step_skew };
constexpr auto words(Metric) {
  return std::to_array<std::string_view>({"bandwidth", "latency", "busbw", "stepSkew"});
}

enum class Statistic : std::uint8_t { min, p1, p5, p10, p25, median, p75, p90, p95, p99, p999, max };
constexpr auto words(Statistic) {
  return std::to_array<std::string_view>(
      {"min", "p1", "p5", "p10", "p25", "median", "p75", "p90", "p95", "p99", "p99.9", "max"});
}

// The right side of an SLO: `90% of nominal`, `95% of baseline`, `40Gbps`, `12us`, `5%`. Which member is set
// follows from `of` and, for an absolute bound, from the metric (bandwidth, busbw: rate; latency: time;
// stepSkew: ratio).
struct Bound {
  enum class Of : std::uint8_t { absolute, nominal, baseline };
  enum class Unit : std::uint8_t { ratio, rate, time };
  Of of = Of::absolute;
  Unit unit = Unit::ratio;
  Ratio ratio;
  BitRate rate;
  Duration time{};
  auto operator<=>(const Bound&) const = default;
};
Bound::Unit unit_of(Metric metric);  // for an absolute bound on it
bool is_floor(Metric metric);        // true: higher is better, bounded by atLeast; false: bounded by atMost
std::string_view bound_pattern_of(Metric metric);       // of that bound, for the JSON Schema
std::span<const Metric> metrics_of(Workload workload);  // measured by a run of the workload

struct Slo {
  Said<Metric> metric;
  Said<Statistic> statistic;
  Said<Bound> at_least;  // exactly one of the two is set
  Said<Bound> at_most;
  Position at;
};

// The bound that is set; if both or neither is set, the lower one.
inline const Said<Bound>& bound_of(const Slo& slo) {
  return slo.at_least.said || !slo.at_most.said ? slo.at_least : slo.at_most;
}

struct Benchmark {
  Said<std::string> name;
  Said<Workload> workload;
  Said<Transport> transport;  // unset: the suite's
  Said<PairChoice> pairs;
  Said<Duration> duration;
  Said<Direction> direction;
  std::vector<Said<ByteCount>> sizes;  // bytes per rank
  Said<std::uint32_t> repeats;
  Said<std::uint32_t> iterations;
  std::vector<Slo> slo;
  Position at;
};

enum class RerunScope : std::uint8_t { affected, all };
constexpr auto words(RerunScope) { return std::to_array<std::string_view>({"affected", "all"}); }

enum class OnViolation : std::uint8_t { rollback, quarantine, alert };
constexpr auto words(OnViolation) {
  return std::to_array<std::string_view>({"rollback", "quarantine", "alert"});
}

enum class When : std::uint8_t { idle, always };
constexpr auto words(When) { return std::to_array<std::string_view>({"idle", "always"}); }

// Used if onChange.budget is not set. It is half the time that an apply waits for a measurement
// (ApplyOptions), which also measures its controls and may have to queue.
inline constexpr Duration kGateBudget = std::chrono::minutes(5);
// Used if onSchedule.budget is not set: a choice, and the example of the design.
inline constexpr Duration kScheduleBudget = std::chrono::minutes(30);

struct OnChange {
  Said<RerunScope> scope;
  Said<Duration> budget;
  Said<OnViolation> on_violation;
};
struct OnSchedule {
  Said<Duration> every;
  Said<When> when;
  Said<Duration> budget;
  Said<OnViolation> on_violation;
};

struct ValidationSuite : Object {
  Said<std::string> fabric;
  Said<Transport> transport;
  std::vector<Benchmark> benchmarks;
  Said<OnChange> on_change;
  Said<OnSchedule> on_schedule;
};

std::string format(const Bound& value);  // without ">=": "90% of nominal"
std::string format(const PairChoice& value);

}  // namespace lockstep
