#include "reconciler/service/suite_clock.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "reconciler/service/stored_fields.hpp"
#include "specs/language/said.hpp"
#include "specs/language/words.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

Json run_json(const SuiteResult& run) {
  return {{"at", stored::time_json(run.at)},
          {"verdict", to_string(run.verdict)},
          {"message", run.message},
          {"run", run.run}};
}

Result<SuiteResult> read_run(const Json& json) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  SuiteResult run;
  TRY(run.at, stored::time(json, "at"));
  TRY(const std::string verdict, stored::text(json, "verdict"));
  const auto known = spelled<bench::Verdict>(verdict);
  if (!known) return stored::damaged("'verdict' is none");
  run.verdict = *known;
  TRY(run.message, stored::text(json, "message"));
  TRY(run.run, stored::number(json, "run", kMost));
  return run;
}

Json times_json(const SuiteTimes& times) {
  Json out{{"since", stored::time_json(times.since)}, {"whyNot", times.why_not}};
  if (times.again) out["again"] = stored::time_json(*times.again);
  if (times.last) out["last"] = run_json(*times.last);
  return out;
}

Result<SuiteTimes> read_times(const Json& json) {
  SuiteTimes times;
  TRY(times.since, stored::time(json, "since"));
  TRY(times.why_not, stored::text(json, "whyNot"));
  if (json.contains("again")) {
    TRY(times.again, stored::time(json, "again"));
  }
  if (json.contains("last")) {
    TRY(times.last, read_run(json["last"]));
  }
  return times;
}

std::chrono::seconds again_after(const SuiteSchedule& one) {
  return std::min<std::chrono::seconds>(SuiteClock::kAgain, one.every);
}

}  // namespace

std::vector<SuiteSchedule> schedules_in(const Catalog& catalog) {
  using std::chrono::duration_cast;
  std::vector<SuiteSchedule> out;
  for (const ValidationSuite& suite : catalog.validation_suites) {
    if (!suite.on_schedule.said) continue;
    const OnSchedule& when = *suite.on_schedule;
    out.push_back({*suite.metadata.name, duration_cast<std::chrono::seconds>(*when.every),
                   duration_cast<std::chrono::milliseconds>(when.budget.or_else(kScheduleBudget)),
                   when.when.said && *when.when == When::always});
  }
  return out;
}

bool SuiteClock::take(std::vector<SuiteSchedule> schedules, WallTime now) {
  schedules_ = std::move(schedules);
  bool changed = std::erase_if(times_, [this](const auto& one) {
                   return std::ranges::find(schedules_, one.first, &SuiteSchedule::suite) == schedules_.end();
                 }) > 0;
  for (const SuiteSchedule& one : schedules_)
    changed = times_.try_emplace(one.suite, SuiteTimes{.since = now}).second || changed;
  return changed;
}

// The clock may have been, since those times were taken.
void SuiteClock::set_back(WallTime now) {
  for (const SuiteSchedule& one : schedules_) {
    SuiteTimes& times = times_.at(one.suite);
    times.since = std::min(times.since, now);
    if (times.again) times.again = std::min(*times.again, now + again_after(one));
  }
}

WallTime SuiteClock::due_at(const SuiteSchedule& one) const {
  const SuiteTimes& times = times_.at(one.suite);
  const WallTime at = times.since + one.every;
  return times.again ? std::max(at, *times.again) : at;
}

std::optional<SuiteSchedule> SuiteClock::due(WallTime now) {
  set_back(now);
  const auto first =
      std::ranges::min_element(schedules_, {}, [&](const SuiteSchedule& one) { return due_at(one); });
  if (first == schedules_.end() || due_at(*first) > now) return std::nullopt;
  return *first;
}

std::optional<WallTime> SuiteClock::next(WallTime now) {
  set_back(now);
  std::optional<WallTime> out;
  for (const SuiteSchedule& one : schedules_) {
    const WallTime at = std::max(now, due_at(one));
    if (!out || at < *out) out = at;
  }
  return out;
}

std::optional<WallTime> SuiteClock::next_of(const std::string& suite) const {
  const auto found = std::ranges::find(schedules_, suite, &SuiteSchedule::suite);
  if (found == schedules_.end()) return std::nullopt;
  return due_at(*found);
}

void SuiteClock::judged(const std::string& suite, WallTime began, SuiteResult run) {
  const auto found = times_.find(suite);
  if (found == times_.end()) return;  // its specs are gone
  found->second = {.since = began, .last = std::move(run)};
}

void SuiteClock::not_judged(const std::string& suite, WallTime began, WallTime ended, const std::string& why,
                            bool counts) {
  const auto found = times_.find(suite);
  if (found == times_.end()) return;
  const auto schedule = std::ranges::find(schedules_, suite, &SuiteSchedule::suite);
  SuiteTimes& times = found->second;
  times.why_not = why;
  if (counts) times.since = began;
  times.again = ended + again_after(*schedule);
}

Json SuiteClock::to_json() const {
  Json out = Json::object();
  for (const auto& [suite, times] : times_) out[suite] = times_json(times);
  return out;
}

Result<SuiteClock> SuiteClock::from_json(const Json& document) {
  if (!document.is_object()) return stored::damaged("'measured' is not an object");
  SuiteClock out;
  for (const auto& [suite, times] : document.items()) {
    TRY(out.times_[suite], read_times(times));
  }
  return out;
}

}  // namespace lockstep
