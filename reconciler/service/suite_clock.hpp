// SuiteClock: when the suites of the specs are to be measured by the clock (`onSchedule`), and what the last
// such run found.
//
// Promises: pure: time is an argument, and may jump: a run that seems to be in the future counts as one of
// now. Two runs of a suite that were judged, or exceeded their budget, begin at least its interval apart,
// also across restarts and revisions. A suite that is new is first due an interval after it was first seen:
// its change was measured. A run that was not judged is tried again after kAgain, or the interval if that is
// shorter. Of suites that are due, the one that is due longest comes first.
#pragma once

#include <chrono>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/judge.hpp"
#include "drivers/posix/call.hpp"
#include "specs/language/catalog.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

struct SuiteSchedule {
  std::string suite;
  std::chrono::seconds every{};
  std::chrono::milliseconds budget{};
  bool at_busy_hosts = false;
};

// Those of the specs that have `onSchedule`.
std::vector<SuiteSchedule> schedules_in(const Catalog& catalog);

struct SuiteResult {
  WallTime at{};  // when it was over
  bench::Verdict verdict = bench::Verdict::unknown;
  std::string message{};  // for a reader
  std::uint64_t run = 0;  // of the store; 0: it is not recorded
};

struct SuiteTimes {
  WallTime since{};                   // when the last run began that counts, or the suite was first seen
  std::optional<WallTime> again{};    // a run was not judged: not before this
  std::optional<SuiteResult> last{};  // that was judged
  std::string why_not{};              // why the newest run was not judged; empty: it was
};

class SuiteClock {
 public:
  // A choice: what hindered it lasts longer than a moment.
  static constexpr std::chrono::minutes kAgain{10};

  // What counts from now on; of other suites all is forgotten. Whether anything changed.
  bool take(std::vector<SuiteSchedule> schedules, WallTime now);
  std::optional<SuiteSchedule> due(WallTime now);
  // When the next suite is due, `now` at the earliest; none: there are no schedules.
  std::optional<WallTime> next(WallTime now);
  std::optional<WallTime> next_of(const std::string& suite) const;

  void judged(const std::string& suite, WallTime began, SuiteResult run);
  // `counts`: the next one comes an interval after it began, as if it had been judged.
  void not_judged(const std::string& suite, WallTime began, WallTime ended, const std::string& why,
                  bool counts);

  const std::vector<SuiteSchedule>& schedules() const { return schedules_; }
  const SuiteTimes& times_of(const std::string& suite) const { return times_.at(suite); }

  // Without the schedules: those come from the specs.
  nlohmann::json to_json() const;
  // Invalid spec: the document is damaged.
  static Result<SuiteClock> from_json(const nlohmann::json& document);

 private:
  void set_back(WallTime now);
  WallTime due_at(const SuiteSchedule& one) const;

  std::vector<SuiteSchedule> schedules_;
  std::map<std::string, SuiteTimes> times_;  // by suite
};

}  // namespace lockstep
