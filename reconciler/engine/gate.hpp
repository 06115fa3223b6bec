// Gate: what measurements of the same pairs, before a change and after it, say about the change; pure.
//
// An SLO over one pair (or group) is a subject. It holds, is broken, or is unknown; `before` attributes what
// is found after a change:
//
//   before -> after                              finding        action                         exit code
//   any -> holds                                 holds          next wave                      0
//   holds -> broken; broken, unknown -> worse    caused         the suite's onViolation        2
//   holds, unknown -> unknown, worse, and the
//     probes' own CPU for a byte explains it     caused         the suite's onViolation        2
//   unknown without a figure -> broken           unattributed   undone, and measured again     2
//   broken, unknown -> broken, not worse         not_caused     next wave                      2
//   unknown -> unknown, not worse                not_worse      next wave                      3
//   any -> unknown otherwise                     not_validated  once more, then later waves
//                                                               are held                       3
//   what no benchmark of the suites crosses      uncovered      later waves are held           3
//   there was no such pair (new_ends.hpp)
//     -> holds                                   holds          next wave                      0
//     -> broken                                  new_broken     undone on the new host alone   2
//     -> unknown                                 new_unknown    as not_validated               3
//
// Before an earlier change that nobody has judged yet: what was measured ahead of that one, as long as it may
// be compared (OwedChange::before).
//
// Promises: a broken figure counts only if it is measured and broken in each of the rounds that confirm it,
// and not if the controls, pairs that the change can't have touched, fell as well. Own CPU explains a fall
// where it rose in each round, and the probes had no less of it than before, or it doubled
// (tests/sim/gate_truth.cpp has how often that errs). Less than kLeastCoverage of what was to be measured, or
// an end or a link that no pair covers, is not validated; where none could cover it, measuring again would
// tell nothing new. Refuses nothing: what was not measured before is unknown without a figure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lockstep {

// What follows where a change broke an SLO; the first goes furthest.
enum class OnFail : std::uint8_t { rollback, quarantine, alert };

enum class SloState : std::uint8_t {
  holds,
  broken,
  unknown,
  none,  // there was no such pair yet
};

struct GateFigure {
  std::string subject;  // the same in each measurement: "slo/pairs: bandwidth min, gpu1:rail0 -> gpu2:rail0"
  SloState state = SloState::unknown;
  std::optional<double> figure;     // the more the better; 0: nothing was carried; none: there is none
  double noise = 0;                 // of it, relative
  std::optional<double> cpu;        // of the probes' own, for a byte or a round trip; in any unit
  std::string terms{};              // "tcp, >= 90% of nominal": figures of other terms are not compared
  std::string why;                  // of anything but holds
  std::optional<OnFail> on_fail{};  // by its suite; none: as the application has it
  bool operator==(const GateFigure&) const = default;
};

struct GateMeasurement {
  std::vector<GateFigure> figures;
  std::vector<GateFigure> controls;    // pairs that the change can't have touched
  std::size_t selected = 0;            // pairs and groups that were to be measured
  std::size_t measured = 0;            // of them
  std::vector<std::string> uncovered;  // ends and links of the change that no measured pair crosses
  // The same, that no pair of any suite could cross: "spine0 (ValidationSuite/slo measures same-rail pairs)".
  std::vector<std::string> without_benchmark{};
  std::string sentence;    // where all hold: "all SLOs hold over 24 measurements"
  std::string left_out{};  // told besides: "3 hosts run jobs and were not measured"
};

// shared/design has it: engine.md, section 1.
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
// No benchmark could tell, and one may the next time.
constexpr bool is_unsure(Attribution attribution) {
  return attribution == Attribution::not_validated || attribution == Attribution::new_unknown;
}

struct Judged {
  std::string subject;  // empty: of the measurement as a whole (coverage)
  Attribution attribution = Attribution::holds;
  std::string why;                  // of anything but holds; of one that holds: that it is worse than before
  std::optional<OnFail> on_fail{};  // GateFigure's
};

struct Judgement {
  std::vector<Judged> all;  // by subject
  Attribution worst() const;
  // The one that decided; null: there is nothing.
  const Judged* deciding() const;
  bool undoes() const;                      // new_broken, unattributed or caused
  bool unknown() const;                     // of some subject no benchmark could tell
  std::vector<std::string> broken() const;  // subjects of those that undo
  std::vector<std::string> unsure() const;  // subjects
  bool has(Attribution attribution) const;
  int exit_code() const;
};

// τ: a figure that is less than 1 - τ of the other is worse.
double tolerance(const GateFigure& before, const GateFigure& after);

// `before`: null where nothing was measured. `owed`: subjects of which an earlier change has not been judged
// yet, with their figures before that one: what is broken there may be its doing, however it was right before
// this one.
Judgement judge_gate(const GateMeasurement* before, const GateMeasurement& after,
                     const std::map<std::string, GateFigure>& owed = {});

// A measurement that confirms another.
struct ConfirmingRound {
  GateMeasurement measured;
  std::set<std::string> asked{};  // subjects; empty: all
  bool asks(const std::string& subject) const { return asked.empty() || asked.contains(subject); }
};
// What was broken is so only if it is in each of `rounds` that asked for it: unknown where one could not
// measure it, and where the controls of a round fell against those of `before`, as something else than the
// change slows all. What all of `after` covers, only a round that measured all of it again can tell.
GateMeasurement confirmed(const GateMeasurement* before, GateMeasurement after,
                          const std::vector<ConfirmingRound>& rounds);

// " (and 3 more)"; empty: of none.
std::string and_more(std::size_t more);

// not_run: there was nothing to measure, so that nothing can have failed.
enum class GateVerdict : std::uint8_t { pass, fail, unknown, not_run };
std::string_view to_string(GateVerdict verdict);

struct GateResult {
  GateVerdict verdict = GateVerdict::unknown;
  std::string why;     // "broken by the change: pairs bandwidth min, gpu1:rail0 -> gpu2:rail0: ..."
  Judgement judged{};  // empty: nothing was measured
};
// `measured`: after the change. In the words of what decided.
GateResult gate_result(const GateMeasurement& measured, Judgement judged);

// After the change was undone, and measured again. Of several subjects the last one here decides.
enum class Guilt : std::uint8_t {
  exonerated,  // it is still broken, as it was before, or the controls fell too
  not_proven,  // nobody can tell
  guilty,      // it holds again
  open,        // it held before, and is broken without the change: something else happened meanwhile
};
std::string_view to_string(Guilt guilt);
// Of the subjects for which it was undone; none: what could not be told had it undone, under --strict.
Guilt guilt_of(const std::vector<std::string>& broken, const GateMeasurement* before,
               const GateMeasurement& again);

}  // namespace lockstep
