#include "tests/contract/spike/wire.hpp"

#include "specs/model/schema_rows.hpp"
#include "specs/model/value_json.hpp"

namespace lockstep::contract::wire {
namespace {

constexpr ErrorKind kKinds[] = {ErrorKind::transient,    ErrorKind::unknown_outcome, ErrorKind::conflict,
                                ErrorKind::refused,      ErrorKind::unsupported,     ErrorKind::denied,
                                ErrorKind::invalid_spec, ErrorKind::cancelled};

// A peer of another version has other rows: what this one does not know it can't have asked for.
std::optional<RowId> known_row(std::string_view pattern) {
  for (std::size_t id = 0; id < kSchema.size(); ++id)
    if (kSchema[id].pattern == pattern) return static_cast<RowId>(id);
  return std::nullopt;
}

Json rows_json(const std::vector<RowId>& rows) {
  Json out = Json::array();
  for (const RowId one : rows) out.push_back(schema_row(one).pattern);
  return out;
}

std::vector<RowId> rows_from(const Json& json) {
  std::vector<RowId> out;
  for (const Json& one : json)
    if (const auto row = known_row(one.get<std::string>())) out.push_back(*row);
  return out;
}

template <class T>
T right(Result<T> result) {
  if (!result) throw WrongWire(result.error().text());
  return *std::move(result);
}

Path path_from(const Json& json) { return right(Path::parse(json.get<std::string>())); }
Value value_from(Path path, const Json& json) { return right(value_from_json(path.row(), json)); }

template <class Part>
Json part_json(const Part& part, Json rest) {
  rest["row"] = schema_row(part.row).pattern;
  rest["keys"] = part.keys;
  return rest;
}

}  // namespace

Json to_json(const Error& error) { return {{"kind", to_string(error.kind)}, {"what", error.text()}}; }

Error error_from(const Json& json) {
  const auto word = json.at("kind").get<std::string>();
  for (const ErrorKind kind : kKinds)
    if (to_string(kind) == word) return Error{kind, json.at("what").get<std::string>()};
  throw WrongWire("'" + word + "' is no kind of error");
}

Json to_json(const ChangeSet& changes) {
  Json out = Json::array();
  for (const Change& one : changes)
    out.push_back({{"path", one.path.text()},
                   {"was", lockstep::to_json(one.was)},
                   {"want", lockstep::to_json(one.want)}});
  return out;
}

ChangeSet changes_from(const Json& json) {
  ChangeSet out;
  for (const Json& one : json) {
    const Path path = path_from(one.at("path"));
    out.push_back({path, value_from(path, one.at("was")), value_from(path, one.at("want")), 0});
  }
  return out;
}

Json to_json(const Guard& guard) {
  Json out{{"ticket", guard.ticket},
           {"revision", guard.revision},
           {"epoch", guard.epoch},
           {"transaction", guard.transaction},
           {"undo", to_json(guard.undo)}};
  if (guard.undo_after) out["undo_after_ms"] = guard.undo_after->count();
  return out;
}

Guard guard_from(const Json& json) {
  Guard out;
  out.ticket = json.at("ticket").get<std::string>();
  out.revision = json.at("revision").get<std::string>();
  out.epoch = json.at("epoch").get<std::uint64_t>();
  out.transaction = json.at("transaction").get<std::string>();
  out.undo = changes_from(json.at("undo"));
  if (json.contains("undo_after_ms"))
    out.undo_after = std::chrono::milliseconds(json.at("undo_after_ms").get<std::int64_t>());
  return out;
}

Json to_json(const Scope& scope) {
  Json named = Json::array();
  for (const Path one : scope.named) named.push_back(one.text());
  return {{"rows", rows_json(scope.rows)}, {"named", std::move(named)}};
}

Scope scope_from(const Json& json) {
  Scope out{rows_from(json.at("rows"))};
  for (const Json& one : json.at("named")) out.named.push_back(path_from(one));
  return out;
}

Json to_json(const Traits& traits) {
  return {{"driver", traits.driver},
          {"reads", rows_json(traits.reads)},
          {"writes", rows_json(traits.writes)},
          {"atomic", traits.atomic},
          {"undoes_itself", traits.undoes_itself}};
}

Traits traits_from(const Json& json) {
  return Traits{json.at("driver").get<std::string>(), rows_from(json.at("reads")),
                rows_from(json.at("writes")), json.at("atomic").get<bool>(),
                json.at("undoes_itself").get<bool>()};
}

Json to_json(const Observation& seen) {
  Json have = Json::array();
  for (const auto& one : seen.have.entries()) have.push_back({one.path.text(), lockstep::to_json(one.value)});
  Json unread = Json::array();
  for (const Unread& one : seen.unread) unread.push_back(part_json(one, {{"why", to_json(one.why)}}));
  Json incapable = Json::array();
  for (const Incapable& one : seen.incapable)
    incapable.push_back(part_json(one, {{"reason", one.reason}, {"by_hand", one.by_hand}}));
  return {{"device", seen.device},     {"have", std::move(have)},     {"boot_id", seen.boot_id},
          {"revision", seen.revision}, {"unread", std::move(unread)}, {"incapable", std::move(incapable)},
          {"notes", seen.notes},       {"armed", seen.armed}};
}

Observation observation_from(const Json& json) {
  Observation out;
  out.device = json.at("device").get<std::string>();
  out.when = std::chrono::steady_clock::now();  // the peer's clock is another
  out.boot_id = json.at("boot_id").get<std::string>();
  out.revision = json.at("revision").get<std::string>();
  out.notes = json.at("notes").get<std::vector<std::string>>();
  out.armed = json.at("armed").get<std::string>();
  TreeBuilder tree;
  for (const Json& one : json.at("have")) {
    const Path path = path_from(one.at(0));
    tree.add(path, value_from(path, one.at(1)));
  }
  out.have = tree.build();
  for (const Json& one : json.at("unread"))
    if (const auto row = known_row(one.at("row").get<std::string>()))
      out.unread.push_back({*row, one.at("keys").get<std::vector<std::string>>(), error_from(one.at("why"))});
  for (const Json& one : json.at("incapable"))
    if (const auto row = known_row(one.at("row").get<std::string>()))
      out.incapable.push_back({*row, one.at("keys").get<std::vector<std::string>>(),
                               one.at("reason").get<std::string>(), one.at("by_hand").get<bool>()});
  return out;
}

Json to_json(const Receipt& receipt) {
  Json outcomes = Json::array();
  for (const Receipt::Outcome& one : receipt.outcomes)
    outcomes.push_back(
        {{"path", one.path.text()}, {"error", one.error ? to_json(*one.error) : Json(nullptr)}});
  return {{"ticket", receipt.ticket}, {"outcomes", std::move(outcomes)}, {"notes", receipt.notes}};
}

Receipt receipt_from(const Json& json) {
  Receipt out{json.at("ticket").get<std::string>(), {}, json.at("notes").get<std::vector<std::string>>()};
  for (const Json& one : json.at("outcomes"))
    out.outcomes.push_back({path_from(one.at("path")), one.at("error").is_null()
                                                           ? std::nullopt
                                                           : std::optional(error_from(one.at("error")))});
  return out;
}

}  // namespace lockstep::contract::wire
