// The journal's file: one JSON object, in the forms of the wire (drivers/agent/wire.hpp).
#include <limits>
#include <utility>

#include "drivers/agent/wire_fields.hpp"
#include "reconciler/agent/journal.hpp"

namespace lockstep::agent {
namespace {

using wire::Fields;
using wire::Json;

// Of the file's layout. A file of another version was written by another agent: what it says is not known.
constexpr std::uint64_t kVersion = 1;

template <class Duration>
Result<Duration> read_duration(const Fields& fields, const char* name) {
  TRY(const std::uint64_t count, fields.number(name));
  if (!std::in_range<typename Duration::rep>(count))
    return wire::wrong("field '" + std::string(name) + "' is too large");
  return Duration(static_cast<typename Duration::rep>(count));
}

Result<std::string> read_transaction(const Fields& fields) {
  TRY(std::string name, fields.text("transaction"));
  if (name.empty()) return wire::wrong("field 'transaction' is missing");
  return name;
}

Result<ChangeSet> read_changes(const Fields& fields, const char* name) {
  TRY(const Json* const json, fields.needed(name));
  return wire::changes_from_json(*json);
}

Json armed_json(const ArmedTransaction& armed) {
  Json out{{"transaction", armed.transaction},
           {"driver", armed.driver},
           {"ticket", armed.ticket},
           {"changes", wire::changes_json(armed.changes)},
           {"undo", wire::changes_json(armed.undo)},
           {"undoAfterMs", armed.undo_after.count()},
           {"deadlineNs", armed.deadline.count()},
           {"bootId", armed.boot_id},
           {"rollingBack", armed.rolling_back},
           {"rollingBackSinceNs", armed.rolling_back_since.count()}};
  if (!armed.way_back.empty()) out["wayBack"] = wire::changes_json(armed.way_back);
  return out;
}

Result<ArmedTransaction> read_armed(const Json& json) {
  TRY(const Fields fields, Fields::of(json, "armed"));
  ArmedTransaction out;
  TRY(out.transaction, read_transaction(fields));
  TRY(out.driver, fields.text("driver"));
  TRY(out.ticket, fields.text("ticket"));
  TRY(out.changes, read_changes(fields, "changes"));
  TRY(out.undo, read_changes(fields, "undo"));
  if (const Json* const way_back = fields.find("wayBack")) {
    TRY(out.way_back, wire::changes_from_json(*way_back));
  }
  TRY(out.undo_after, read_duration<std::chrono::milliseconds>(fields, "undoAfterMs"));
  TRY(out.deadline, read_duration<std::chrono::nanoseconds>(fields, "deadlineNs"));
  TRY(out.boot_id, fields.text("bootId"));
  TRY(out.rolling_back, fields.flag("rollingBack"));
  TRY(out.rolling_back_since, read_duration<std::chrono::nanoseconds>(fields, "rollingBackSinceNs"));
  return out;
}

Result<SettledTransaction> read_settled(const Json& json) {
  TRY(const Fields fields, Fields::of(json, "settled"));
  SettledTransaction out;
  TRY(out.transaction, read_transaction(fields));
  TRY(const bool kept, fields.flag("kept"));
  out.settlement = kept ? Settlement::keep : Settlement::undo;
  TRY(out.at, read_duration<std::chrono::nanoseconds>(fields, "atNs"));
  return out;
}

Result<FailedRollback> read_failed(const Json& json) {
  TRY(const Fields fields, Fields::of(json, "failed"));
  FailedRollback out;
  TRY(out.transaction, read_transaction(fields));
  TRY(out.why, fields.text("why"));
  TRY(out.left, read_changes(fields, "left"));
  return out;
}

}  // namespace

std::string journal_text(const JournalState& state) {
  Json out{{"version", kVersion}, {"epoch", state.epoch}, {"settled", Json::array()}};
  if (!state.leader.empty()) out["leader"] = state.leader;
  if (state.armed) out["armed"] = armed_json(*state.armed);
  for (const SettledTransaction& one : state.settled)
    out["settled"].push_back({{"transaction", one.transaction},
                              {"kept", one.settlement == Settlement::keep},
                              {"atNs", one.at.count()}});
  if (state.failed)
    out["failed"] = {{"transaction", state.failed->transaction},
                     {"why", state.failed->why},
                     {"left", wire::changes_json(state.failed->left)}};
  if (!state.hold.empty()) out["hold"] = state.hold;
  return wire::text_of(out) + "\n";
}

Result<JournalState> parse_journal(std::string_view text) {
  TRY(const Json json, wire::parsed(text));
  TRY(const Fields fields, Fields::of(json, "journal"));
  TRY(const std::uint64_t version, fields.number("version"));
  if (version != kVersion)
    return wire::wrong("version " + std::to_string(version) + " of a journal is not known here");
  JournalState out;
  TRY(out.epoch, fields.number("epoch"));
  TRY(out.leader, fields.text("leader"));
  if (const Json* const armed = fields.find("armed")) {
    TRY(out.armed, read_armed(*armed));
  }
  TRY(const Json* const settled, fields.array("settled"));
  if (settled == nullptr) return wire::wrong("field 'settled' is missing");
  for (const Json& one : *settled) {
    TRY(SettledTransaction item, read_settled(one));
    out.settled.push_back(std::move(item));
  }
  if (const Json* const failed = fields.find("failed")) {
    TRY(out.failed, read_failed(*failed));
  }
  TRY(out.hold, fields.text("hold"));
  return out;
}

}  // namespace lockstep::agent
