// The pairs of a gate: selected for the whole run, within the suite's budget, and the subset to measure now.
//
// Promises: all measurements of one run that cover the same change measure the same pairs. If the pairs over
// everything that the run may write are few (PairSelector) and fit into the budget, all of them are
// selected; else kPairsEach over each link. The rounds of a suite, if nothing fails, take no longer than its
// budget, which its benchmarks share so that none gets more than it needs while another gets less. Pairs
// dropped for lack of budget are counted, and pairs requested by name come first. Hosts that run jobs are
// never measured, nor pairs that end at a device in maintenance or must cross one. An affected link that no
// pair with a figure crosses is reported, except because of maintenance or pending pairs; a link that no pair
// of the suite can cross at all is reported separately (GateCoverage::by_design).
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
  // Plans all pairs; only those for which `wanted` is true, if it is not empty.
  using Wanted = std::function<bool(const PreparedBenchmark&, const bench::Pair&)>;
  void plan(std::vector<PreparedBenchmark>& all, const Wanted& wanted);
  // Plans instead at most `left` pairs in total that cross nothing of choice.whole, and subtracts them from
  // `left`.
  void plan_controls(std::vector<PreparedBenchmark>& all, std::size_t& left);
  // Requires that the pairs were measured.
  GateCoverage coverage(const std::vector<PreparedBenchmark>& all,
                        const std::vector<BenchmarkOutcome>& outcomes);
  // Why a benchmark with requested pairs measured none of them; empty: no pairs were requested.
  std::string why_left_out(const Benchmark& benchmark, std::size_t place);
  std::size_t looked_at() const { return looked_at_; }  // PairSelector's, of all

 private:
  // For one benchmark, for the whole run.
  struct Selected {
    std::vector<std::vector<bench::Pair>> rounds;  // within the budget; for rings: none
    std::vector<bench::Pair> pairs;                // the same pairs; for rings: their hops
    std::vector<bench::Pair> cut;                  // dropped for lack of budget
  };
  using Flags = std::vector<bool>;  // by directed link
  // Why no pair with a figure crosses a link; a later reason takes precedence.
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
  std::vector<bool> in_service_;  // by endpoint: neither it nor its leaf is in maintenance
  std::vector<bool> usable_;      // by endpoint: in service, and it ran no job when the run first measured
  std::vector<bool> busy_;        // by endpoint: not usable, or it runs jobs now
  std::vector<std::uint32_t> links_;       // that the run may change, most important first
  std::vector<std::uint32_t> more_links_;  // that are requested in addition: a remedy's
  Flags touched_;                          // all of these
  Flags affected_;                         // by the change in question
  Flags asked_;                            // the same, or all with `scope: all`
  Flags pending_;
  std::map<std::string, std::set<bench::Pair>> also_;  // by benchmark; for rings: no pair
  std::vector<Selected> selected_;                     // by benchmark
  std::size_t looked_at_ = 0;
};

// Divides a budget among items that would take `costs`: equal shares, but no more than each needs.
std::vector<std::chrono::milliseconds> fair_shares(const std::vector<std::chrono::milliseconds>& costs,
                                                   std::chrono::milliseconds budget);

}  // namespace lockstep
