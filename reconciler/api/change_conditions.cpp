#include "reconciler/api/change_conditions.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "reconciler/api/condition_json.hpp"
#include "reconciler/engine/apply.hpp"

namespace lockstep::api {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kSubjectsShown = 5;  // a choice: they are as long as a line each

struct Told {
  std::string_view status;
  std::string_view reason;
  std::string message{};
};

// None: a word of another version.
std::optional<ApplyVerdict> verdict_of(const std::string& outcome) {
  for (int i = 0; i <= static_cast<int>(ApplyVerdict::taken_over); ++i)
    if (to_string(static_cast<ApplyVerdict>(i)) == outcome) return static_cast<ApplyVerdict>(i);
  return std::nullopt;
}

std::string_view reason_of(ApplyVerdict verdict) {
  switch (verdict) {
    case ApplyVerdict::nothing_to_do: return "NothingToDo";
    case ApplyVerdict::kept: return "Kept";
    case ApplyVerdict::partly: return "Partly";
    case ApplyVerdict::effects_open: return "EffectsOpen";
    case ApplyVerdict::undone: return "RolledBack";
    case ApplyVerdict::undo_failed: return "RollbackFailed";
    case ApplyVerdict::quarantined: return "Quarantined";
    case ApplyVerdict::waits: return "WaitsForWindow";
    case ApplyVerdict::stopped: return "Stopped";
    case ApplyVerdict::not_validated: return "NotValidated";
    case ApplyVerdict::asks: return "ApprovalNeeded";
    case ApplyVerdict::undone_in_part: return "RolledBackInPart";
    case ApplyVerdict::taken_over: return "TakenOver";
  }
  return "Unknown";
}

bool is_kept(ApplyVerdict verdict) {
  return verdict == ApplyVerdict::kept || verdict == ApplyVerdict::nothing_to_do;
}

// Whether a gate decided against it.
bool failed_gate(ApplyVerdict verdict) {
  return verdict == ApplyVerdict::undone || verdict == ApplyVerdict::undo_failed ||
         verdict == ApplyVerdict::quarantined || verdict == ApplyVerdict::undone_in_part;
}

std::string subjects_text(const std::set<std::string>& subjects) {
  if (subjects.empty()) return "the benchmarks have not judged it yet";
  std::string out;
  std::size_t shown = 0;
  for (const std::string& one : subjects)
    if (shown++ < kSubjectsShown) out += (out.empty() ? "" : "; ") + one;
  if (subjects.size() > kSubjectsShown)
    out += "; and " + std::to_string(subjects.size() - kSubjectsShown) + " more";
  return "the benchmarks have not judged it yet for " + out;
}

// What a later run made of it is not in its own record: it may be judged, rolled back or overwritten by now.
bool is_settled_later(const HistoryChange& change, const std::optional<ApplyVerdict>& verdict) {
  return verdict == ApplyVerdict::not_validated && !change.owed;
}
constexpr const char* kSettledLater = "it was not validated at its end, and a later run has settled that";

Told ready_of(const HistoryChange& change, const std::optional<ApplyVerdict>& verdict) {
  if (change.record.ended.empty()) return {"False", "Running", "it is under way"};
  if (!verdict) return {"Unknown", "UnknownOutcome", "its outcome is '" + change.record.outcome + "'"};
  if (is_settled_later(change, verdict)) return {"Unknown", "SettledLater", kSettledLater};
  if (is_kept(*verdict) && change.owed) return {"False", "NotValidated", subjects_text(*change.owed)};
  return {is_kept(*verdict) ? "True" : "False", reason_of(*verdict), change.record.outcome};
}

// Another run settles what it left by itself, or it left nothing.
bool needs_nobody(ApplyVerdict verdict) {
  return verdict == ApplyVerdict::undone || verdict == ApplyVerdict::taken_over ||
         verdict == ApplyVerdict::stopped;
}

// The last measurement after it, or after its rollback.
const RunHead* deciding_run(const HistoryChange& change) {
  const auto found = std::ranges::find_if(change.runs.rbegin(), change.runs.rend(), [](const RunHead& one) {
    return one.purpose == RunPurpose::after || one.purpose == RunPurpose::confirm;
  });
  return found == change.runs.rend() ? nullptr : &*found;
}

Told validated_of(const HistoryChange& change, const std::optional<ApplyVerdict>& verdict,
                  const RunHead* run) {
  const std::string by = run == nullptr ? "" : "run " + std::to_string(run->number) + ": " + run->verdict;
  if (change.record.ended.empty()) return {"Unknown", "Running", "it is under way"};
  if (verdict && failed_gate(*verdict)) return {"False", "GateFailed", by};
  if (change.owed) return {"Unknown", "NotValidated", subjects_text(*change.owed)};
  if (is_settled_later(change, verdict)) return {"Unknown", "SettledLater", kSettledLater};
  if (change.touched.none()) return {"Unknown", "NothingWritten", "it wrote nothing that could be judged"};
  if (run == nullptr) return {"Unknown", "NotMeasured", "nothing was measured after it"};
  if (run->verdict == "pass") return {"True", "GatePassed", by};
  if (run->verdict == "fail")
    return {"False", "ObjectivesFailed", by + "; it was kept, as it had not caused that"};
  return {"Unknown", "NotJudged", by};
}

}  // namespace

Json change_conditions(const HistoryChange& change, std::uint64_t generation) {
  const std::optional<ApplyVerdict> verdict = verdict_of(change.record.outcome);
  const RunHead* const run = deciding_run(change);
  const bool is_over = !change.record.ended.empty();
  const std::string& since = is_over ? change.record.ended : change.record.begun;
  Json out = Json::array();
  const auto add = [&](const char* type, const Told& told, const std::string& at) {
    out.push_back(condition_json(type, told.status, told.reason, told.message, generation, at));
  };
  const Told ready = ready_of(change, verdict);
  add("Ready", ready, since);
  if (is_over && ready.status != "Unknown") out.back()["observedAt"] = since;  // read back then
  if (!is_over) add("Reconciling", {"True", "Running", "it is under way"}, since);
  if (is_over && verdict && ready.status == "False" && !needs_nobody(*verdict))
    add("Stalled", {"True", ready.reason, ready.message}, since);
  const Told validated = validated_of(change, verdict, run);
  const bool is_measured =
      run != nullptr && (validated.status != "Unknown" || validated.reason == "NotJudged");
  add("Validated", validated, since);
  if (is_measured) out.back()["observedAt"] = run->at;
  return out;
}

}  // namespace lockstep::api
