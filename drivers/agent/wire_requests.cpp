#include <limits>
#include <utility>

#include "drivers/agent/wire_fields.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep::wire {
namespace {

constexpr std::array<std::string_view, 3> kSettlements{"keep", "undo", "extend"};

Result<Value> read_value_of(const Fields& fields, const char* name, RowId row) {
  TRY(const Json* const json, fields.needed(name));
  Result<Value> value = read_value(row, *json);
  if (!value) return wrap("field '" + std::string(name) + "'", std::move(value.error()));
  return value;
}

Json guard_json(const Guard& guard) {
  Json out{{"ticket", guard.ticket}, {"epoch", guard.epoch}};
  if (!guard.revision.empty()) out["revision"] = guard.revision;
  if (guard.undo_after) out["undoAfterMs"] = guard.undo_after->count();
  if (!guard.transaction.empty()) out["transaction"] = guard.transaction;
  if (!guard.undo.empty()) out["undo"] = changes_json(guard.undo);
  return out;
}

Result<Guard> read_guard(const Json& json) {
  TRY(const Fields fields, Fields::of(json, "guard"));
  Guard out;
  TRY(out.ticket, fields.text("ticket"));
  TRY(out.revision, fields.text("revision"));
  TRY(out.epoch, fields.number("epoch"));
  TRY(out.transaction, fields.text("transaction"));
  if (fields.find("undoAfterMs") != nullptr) {
    TRY(const std::uint64_t ms, fields.number("undoAfterMs"));
    if (ms > std::uint64_t{std::numeric_limits<std::int32_t>::max()})
      return wrong("undoAfterMs is too large");
    out.undo_after = std::chrono::milliseconds(ms);
  }
  if (const Json* const undo = fields.find("undo")) {
    TRY(out.undo, changes_from_json(*undo));
  }
  return out;
}

}  // namespace

Json changes_json(const ChangeSet& changes) {
  Json out = Json::array();
  for (const Change& one : changes)
    out.push_back({{"path", exact_json(one.path.text())},
                   {"was", value_json(one.path.row(), one.was)},
                   {"want", value_json(one.path.row(), one.want)}});
  return out;
}

Result<ChangeSet> changes_from_json(const Json& json) {
  if (!json.is_array()) return wrong("changes are not a list");
  ChangeSet out;
  out.reserve(json.size());
  for (const Json& one : json) {
    TRY(const Fields fields, Fields::of(one, "change"));
    Change change;
    TRY(change.path, read_path(fields, "path"));
    TRY(change.was, read_value_of(fields, "was", change.path.row()));
    TRY(change.want, read_value_of(fields, "want", change.path.row()));
    out.push_back(change);
  }
  return out;
}

std::string encode(const ObserveRequest& request) {
  Json out{{"driver", request.driver}, {"epoch", request.epoch}};
  if (!request.scope.rows.empty()) out["rows"] = rows_json(request.scope.rows);
  for (const Path one : request.scope.named) out["named"].push_back(exact_json(one.text()));
  if (!request.if_not.empty()) out["ifNot"] = request.if_not;
  if (!request.leader.empty()) out["leader"] = request.leader;
  return text_of(out);
}

Result<ObserveRequest> decode_observe(std::string_view body) {
  TRY(const Json json, parsed(body));
  TRY(const Fields fields, Fields::of(json, "request"));
  ObserveRequest out;
  TRY(out.driver, fields.text("driver"));
  TRY(out.epoch, fields.number("epoch"));
  TRY(out.leader, fields.text("leader"));
  TRY(out.if_not, fields.text("ifNot"));
  TRY(out.scope.rows, read_rows(fields, "rows"));
  // Rows that this version does not know are none of its: an empty list would ask for all.
  TRY(const std::vector<std::string> rows, fields.texts("rows"));
  if (out.scope.rows.empty() && !rows.empty())
    return Error{ErrorKind::unsupported, "this agent knows none of the rows that are asked for"};
  TRY(const std::vector<std::string> named, read_exact_texts(fields, "named"));
  for (const std::string& one : named)
    if (const Result<Path> path = Path::parse(one)) out.scope.named.push_back(*path);
  return out;
}

std::string encode(const ApplyRequest& request) {
  Json out{{"driver", request.driver},
           {"changes", changes_json(request.changes)},
           {"guard", guard_json(request.guard)}};
  if (!request.leader.empty()) out["leader"] = request.leader;
  return text_of(out);
}

Result<ApplyRequest> decode_apply(std::string_view body) {
  TRY(const Json json, parsed(body));
  TRY(const Fields fields, Fields::of(json, "request"));
  ApplyRequest out;
  TRY(out.driver, fields.text("driver"));
  TRY(const Json* const changes, fields.needed("changes"));
  TRY(out.changes, changes_from_json(*changes));
  TRY(const Json* const guard, fields.needed("guard"));
  TRY(out.guard, read_guard(*guard));
  TRY(out.leader, fields.text("leader"));
  return out;
}

std::string encode(const SettleRequest& request) {
  Json out{{"transaction", request.transaction},
           {"settlement", kSettlements.at(static_cast<std::size_t>(request.settlement))},
           {"epoch", request.epoch}};
  if (!request.leader.empty()) out["leader"] = request.leader;
  return text_of(out);
}

Result<SettleRequest> decode_settle(std::string_view body) {
  TRY(const Json json, parsed(body));
  TRY(const Fields fields, Fields::of(json, "request"));
  SettleRequest out;
  TRY(out.transaction, fields.text("transaction"));
  TRY(out.epoch, fields.number("epoch"));
  TRY(out.leader, fields.text("leader"));
  TRY(const std::string word, fields.text("settlement"));
  const std::optional<std::size_t> settlement = index_of(kSettlements, word);
  if (!settlement) return wrong("no settlement is called '" + word + "'");
  out.settlement = static_cast<Settlement>(*settlement);
  return out;
}

std::string encode(const RemedyRequest& request) {
  Json out{{"driver", request.driver}, {"effects", changes_json(request.effects)}, {"epoch", request.epoch}};
  if (!request.leader.empty()) out["leader"] = request.leader;
  return text_of(out);
}

Result<RemedyRequest> decode_remedy(std::string_view body) {
  TRY(const Json json, parsed(body));
  TRY(const Fields fields, Fields::of(json, "request"));
  RemedyRequest out;
  TRY(out.driver, fields.text("driver"));
  TRY(out.epoch, fields.number("epoch"));
  TRY(out.leader, fields.text("leader"));
  TRY(const Json* const effects, fields.needed("effects"));
  TRY(out.effects, changes_from_json(*effects));
  return out;
}

std::string encode(const UsageRequest& request) {
  return text_of({{"driver", request.driver}, {"entry", exact_json(request.entry.text())}});
}

Result<UsageRequest> decode_usage(std::string_view body) {
  TRY(const Json json, parsed(body));
  TRY(const Fields fields, Fields::of(json, "request"));
  UsageRequest out;
  TRY(out.driver, fields.text("driver"));
  TRY(out.entry, read_path(fields, "entry"));
  return out;
}

}  // namespace lockstep::wire
