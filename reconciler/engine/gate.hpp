// Gate: what measurements of the same pairs, before and after a change, mean for the change; pure.
//
// An SLO over one pair (or group) is a subject. It holds, is broken, or is unknown; the measurement before
// the change decides how a result after it is attributed:
//
//   before -> after                              finding        action                         exit code
//   any -> holds                                 holds          next wave                      0
//   holds -> broken; broken, unknown -> worse    caused         the suite's onViolation        2
//   holds, unknown -> unknown, worse, and the
//     probes' own CPU for a byte explains it     caused         the suite's onViolation        2
//   unknown without a figure -> broken           unattributed   rolled back, measured again    2
//   broken, unknown -> broken, not worse         not_caused     next wave                      2
//   unknown -> unknown, not worse                not_worse      next wave                      3
//   any -> unknown otherwise                     not_validated  once more, then later waves
//                                                               are held                       3
//   what no benchmark of the suites crosses      uncovered      later waves are held           3
//   there was no such pair (new_ends.hpp)
//     -> holds                                   holds          next wave                      0
//     -> broken                                  new_broken     rolled back on that host only  2
//     -> unknown                                 new_unknown    as not_validated               3
//
// If an earlier change is not validated yet, "before" is the measurement ahead of that change, as long as it
// is comparable (OwedChange::before).
//
// Promises: a broken figure counts only if it is broken in every round that confirms it, and not if the
// controls, pairs that the change can't have touched, fell as well. Own CPU explains a fall if it rose in
// every round, and the probes either had no less of it than before, or it doubled (tests/sim/gate_truth.cpp
// has the error rate). Coverage below kLeastCoverage, or an end or a link that no pair covers, is not
// validated; where no pair could cover it, measuring again would show nothing new. Refuses nothing: what was
// not measured before is unknown without a figure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lockstep {

// What follows when a change broke an SLO; the first goes furthest.
enum class OnFail : std::uint8_t { rollback, quarantine, alert };

enum class SloState : std::uint8_t {
  holds,
  broken,
  unknown,
  none,  // the pair did not exist yet
};

struct GateFigure {
  std::string subject;  // the same in each measurement: "slo/pairs: bandwidth min, gpu1:rail0 -> gpu2:rail0"
  SloState state = SloState::unknown;
  std::optional<double> figure;     // higher is better; 0: nothing got through; none: there is no figure
  double noise = 0;                 // of the figure, relative
  std::optional<double> cpu;        // of the probes, per byte or round trip; in any unit
  std::string terms{};              // "tcp, >= 90% of nominal": figures with other terms are not compared
  std::string why;                  // of every state except holds
  std::optional<OnFail> on_fail{};  // from its suite; none: the default of the application
  bool operator==(const GateFigure&) const = default;
};

struct GateMeasurement {
  std::vector<GateFigure> figures;
  std::vector<GateFigure> controls;    // pairs that the change can't have touched
  std::size_t selected = 0;            // pairs and groups that were to be measured
  std::size_t measured = 0;            // of those
  std::vector<std::string> uncovered;  // ends and links of the change that no measured pair crosses
  // As `uncovered`, if no pair of any suite can cross it: "spine0 (ValidationSuite/slo measures same-rail
  // pairs)".
  std::vector<std::string> without_benchmark{};
  std::string sentence;    // where all hold: "all SLOs hold over 24 measurements"
  std::string left_out{};  // reported in addition: "3 hosts run jobs and were not measured"
};

// Choices (ARCHITECTURE.md, "The gate").
inline constexpr double kLeastTolerance = 0.05;
inline constexpr double kLeastCoverage = 0.95;
inline constexpr std::size_t kControls = 8;
inline constexpr std::size_t kConfirmingRounds = 2;

// From the best to the worst.
enum class Attribution : std::uint8_t {
  holds,
  not_worse,
  new_unknown,
  uncovered,
  not_validated,
  not_caused,
  new_broken,
  unattributed,
  caused,
};
std::string_view to_string(Attribution attribution);
// No benchmark could judge it, and one may the next time.
constexpr bool is_unsure(Attribution attribution) {
  return attribution == Attribution::not_validated || attribution == Attribution::new_unknown;
}

struct Judged {
  std::string subject;  // empty: of the measurement as a whole (coverage)
  Attribution attribution = Attribution::holds;
  std::string why;  // of every attribution except holds; for holds: that it is worse than before
  std::optional<OnFail> on_fail{};  // GateFigure's
};

struct Judgement {
  std::vector<Judged> all;  // by subject
  Attribution worst() const;
  // The finding that decides; null: there is none.
  const Judged* deciding() const;
  bool undoes() const;                      // new_broken, unattributed or caused
  bool unknown() const;                     // of some subject, which no benchmark could judge
  std::vector<std::string> broken() const;  // subjects of the findings that roll back
  std::vector<std::string> unsure() const;  // subjects
  bool has(Attribution attribution) const;
  int exit_code() const;
};

// τ: a figure that is less than 1 - τ times the other is worse.
double tolerance(const GateFigure& before, const GateFigure& after);

// `before`: null if nothing was measured. `owed`: subjects for which an earlier change is not validated yet,
// with their figures from before that change: what is broken there may be due to the earlier change, even if
// it held before this one.
Judgement judge_gate(const GateMeasurement* before, const GateMeasurement& after,
                     const std::map<std::string, GateFigure>& owed = {});

// A measurement that confirms another.
struct ConfirmingRound {
  GateMeasurement measured;
  std::set<std::string> asked{};  // subjects; empty: all
  bool asks(const std::string& subject) const { return asked.empty() || asked.contains(subject); }
};
// A subject stays broken only if it is broken in each of `rounds` that asked for it: it becomes unknown if a
// round could not measure it, or if the controls of a round fell against those of `before`, because then
// something else than the change slows everything. Coverage as a whole is confirmed only by a round that
// measured everything again.
GateMeasurement confirmed(const GateMeasurement* before, GateMeasurement after,
                          const std::vector<ConfirmingRound>& rounds);

// " (and 3 more)"; empty if there are none.
std::string and_more(std::size_t more);

// not_run: there was nothing to measure, so that nothing can have failed.
enum class GateVerdict : std::uint8_t { pass, fail, unknown, not_run };
std::string_view to_string(GateVerdict verdict);

struct GateResult {
  GateVerdict verdict = GateVerdict::unknown;
  std::string why;     // "broken by the change: pairs bandwidth min, gpu1:rail0 -> gpu2:rail0: ..."
  Judgement judged{};  // empty: nothing was measured
};
// `measured`: after the change. The reason is that of the finding that decided.
GateResult gate_result(const GateMeasurement& measured, Judgement judged);

// The finding after the change was rolled back and measured again. Of several subjects the last value here
// wins.
enum class Guilt : std::uint8_t {
  exonerated,  // still broken, as it was before, or the controls fell too
  not_proven,  // could not be determined
  guilty,      // it holds again
  open,        // it held before and is broken without the change: something else happened meanwhile
};
std::string_view to_string(Guilt guilt);
// For the subjects that caused the rollback; none: an unknown finding caused it, under --strict.
Guilt guilt_of(const std::vector<std::string>& broken, const GateMeasurement* before,
               const GateMeasurement& again);

}  // namespace lockstep
