// The pairs of a gate: selected for the whole run, within the suite's budget, and of them those to measure
// now.
//
// Promises: every measurement of one run that asks for the same change measures the same pairs. Where all
// pairs over what the run may write are few (PairSelector) and fit into onChange.budget, it is all of them;
// else kPairsEach over each link. The rounds of a suite, as long as all goes well, take no longer than its
// budget; its benchmarks share that, so that none gets more than it needs while another gets less. What the
// budget leaves no time for is counted, and what is asked for by name comes first. Never on a host that runs
// jobs, and nothing that ends at a device in maintenance or can't but cross one. An affected link that no
// pair with a figure crosses is named, unless for maintenance or as its pairs are pending; one that no pair
// of the suite could ever cross by itself (GateCoverage::by_design). Refuses nothing.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "bench/tcp/probe_plan.hpp"
#include "reconciler/measure/ground.hpp"
#include "reconciler/measure/measure.hpp"
#include "reconciler/measure/transport.hpp"

namespace lockstep {

struct PreparedBenchmark {
  const Benchmark* benchmark = nullptr;
  TransportChoice transport{};
  bench::PlanOptions options{};
  bench::PlannedBenchmark planned{};
};

class GatePairs {
 public:
  // `busy`: hosts that run jobs now, with the reason.
  GatePairs(Ground& ground, const ValidationSuite& suite, const GateChoice& choice, const BusyHosts& busy);
  // Plans all; `wanted` of them only, where it is not empty.
  using Wanted = std::function<bool(const PreparedBenchmark&, const bench::Pair&)>;
  void plan(std::vector<PreparedBenchmark>& all, const Wanted& wanted);
  // In place of that: at most `left` pairs, in all, that cross nothing of choice.whole; takes them off it.
  void plan_controls(std::vector<PreparedBenchmark>& all, std::size_t& left);
  // After measuring.
  GateCoverage coverage(const std::vector<PreparedBenchmark>& all,
                        const std::vector<BenchmarkOutcome>& outcomes);
  // Why nothing of a benchmark was measured of which something was asked for; empty: nothing was.
  std::string why_left_out(const Benchmark& benchmark, std::size_t place);
  std::size_t looked_at() const { return looked_at_; }  // PairSelector's, of all

 private:
  // Of one benchmark, for the whole run.
  struct Selected {
    std::vector<std::vector<bench::Pair>> rounds;  // within the budget; of rings: none
    std::vector<bench::Pair> pairs;                // the same; of rings: their hops
    std::vector<bench::Pair> cut;                  // by the budget
  };
  using Flags = std::vector<bool>;  // by directed link
  // Why no pair with a figure crosses a link, the later the better to know.
  enum class Why : std::uint8_t { by_design, no_time, busy, pending, no_figure };

  Flags flags_of(const TouchedParts& touched) const;
  std::vector<std::uint32_t> links_of(const Flags& flagged) const;
  bool is_busy(const bench::Pair& pair) const { return busy_[pair.from] || busy_[pair.to]; }
  bool is_in_maintenance(const Benchmark& benchmark, const bench::Pair& pair);
  const std::set<bench::Pair>& also(const Benchmark& benchmark) const;
  void find_named();
  bool touches(const Benchmark& benchmark, const bench::Pair& pair, const Flags& flagged);
  std::vector<bench::Pair> pairs_of(const Benchmark& benchmark, bool all_if_few);
  bench::PlannedBenchmark plan_for_run(const PreparedBenchmark& one, bool all_if_few,
                                       std::optional<std::size_t> rounds);
  void plan_now(PreparedBenchmark& one, const Selected& selected, const Wanted& wanted);
  Flags covered(const std::vector<BenchmarkOutcome>& outcomes);
  std::vector<Why> reasons(const std::vector<PreparedBenchmark>& all);
  Flags possible(const std::vector<PreparedBenchmark>& all, const std::vector<std::uint32_t>& links,
                 const std::vector<bool>& usable);
  bool is_asked(const Benchmark& benchmark, const bench::Pair& pair);
  bool is_pending(const Benchmark& benchmark, const bench::Pair& pair);
  bool ends_in_maintenance(std::uint32_t link) const;
  std::vector<std::string> by_design(const std::vector<PreparedBenchmark>& all,
                                     std::vector<std::uint32_t> missing);
  std::string uncovered_text(std::uint32_t link, Why why) const;
  bool only_hangs_on_it(std::uint32_t link) const;

  Ground& ground_;
  const ValidationSuite& suite_;
  const GateChoice& choice_;
  const BusyHosts& busy_hosts_;
  std::vector<bool> in_service_;           // by endpoint: neither it nor its leaf is in maintenance
  std::vector<bool> usable_;               // by endpoint: so, and it ran no job when the run first measured
  std::vector<bool> busy_;                 // by endpoint: not usable, or it runs jobs now
  std::vector<std::uint32_t> links_;       // that the run may touch, the most wanted first
  std::vector<std::uint32_t> more_links_;  // that are asked for besides: a remedy's
  Flags touched_;                          // all of these
  Flags affected_;                         // by what is asked about
  Flags asked_;                            // the same, or all with `scope: all`
  Flags pending_;
  std::map<std::string, std::set<bench::Pair>> also_;  // by benchmark; of rings: no pair
  std::vector<Selected> selected_;                     // of each benchmark
  std::size_t looked_at_ = 0;
};

// How a budget is shared by those that would take `costs`: all alike, and no more than they need.
std::vector<std::chrono::milliseconds> fair_shares(const std::vector<std::chrono::milliseconds>& costs,
                                                   std::chrono::milliseconds budget);

}  // namespace lockstep
