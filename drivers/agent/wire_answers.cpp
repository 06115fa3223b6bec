#include <utility>

#include "drivers/agent/wire_fields.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep::wire {
namespace {

Json traits_json(const Traits& traits) {
  return {{"driver", traits.driver},
          {"reads", rows_json(traits.reads)},
          {"writes", rows_json(traits.writes)},
          {"atomic", traits.atomic},
          {"undoesItself", traits.undoes_itself}};
}

Result<Traits> read_traits(const Json& json) {
  TRY(const Fields fields, Fields::of(json, "driver"));
  Traits out;
  TRY(out.driver, fields.text("driver"));
  TRY(out.reads, read_rows(fields, "reads"));
  TRY(out.writes, read_rows(fields, "writes"));
  TRY(out.atomic, fields.flag("atomic"));
  TRY(out.undoes_itself, fields.flag("undoesItself"));
  return out;
}

template <class Scoped>
Json scoped_json(const Scoped& one) {
  Json out{{"row", schema_row(one.row).pattern}};
  for (const std::string& key : one.keys) out["keys"].push_back(exact_json(key));
  return out;
}

// The row and keys of what was not read, or is not supported; false: of a row that this version does not
// know.
template <class Scoped>
Result<bool> read_scoped(const Fields& fields, Scoped& out) {
  TRY(const std::string pattern, fields.text("row"));
  const std::optional<RowId> row = row_of(pattern);
  if (!row) return false;
  out.row = *row;
  TRY(out.keys, read_exact_texts(fields, "keys"));
  return true;
}

Json entries_json(const Tree& tree) {
  Json out = Json::array();
  for (const Entry& one : tree.entries())
    out.push_back({exact_json(one.path.text()), value_json(one.path.row(), one.value)});
  return out;
}

Result<Tree> read_entries(const Json& json) {
  TreeBuilder builder;
  builder.reserve(json.size());
  for (const Json& one : json) {
    if (!one.is_array() || one.size() != 2) return wrong("an entry is not a pair of a path and a value");
    TRY(const std::string text, read_exact(one[0], "entries"));
    const Result<Path> path = Path::parse(text);
    if (!path) continue;  // of a newer agent
    TRY(const Value value, read_value(path->row(), one[1]));
    builder.add(*path, value);
  }
  std::vector<Clash> clashes;
  Tree out = builder.build(&clashes);
  if (!clashes.empty()) return wrong("entry " + clashes.front().path.text() + " has two values");
  return out;
}

}  // namespace

std::string encode(const Hello& hello) {
  Json drivers = Json::array();
  for (const Traits& one : hello.drivers) drivers.push_back(traits_json(one));
  Json out{{"protocol", hello.protocol}, {"version", hello.version}, {"cluster", hello.cluster},
           {"device", hello.device},     {"bootId", hello.boot_id},  {"machineId", hello.machine_id},
           {"drivers", drivers},         {"epoch", hello.epoch}};
  if (!hello.leader.empty()) out["leader"] = hello.leader;
  if (!hello.armed.empty()) out["armed"] = hello.armed;
  if (!hello.hold.empty()) out["hold"] = hello.hold;
  if (!hello.failed_undo.empty()) out["failedUndo"] = hello.failed_undo;
  return text_of(out);
}

Result<Hello> decode_hello(std::string_view body) {
  TRY(const Json json, parsed(body));
  TRY(const Fields fields, Fields::of(json, "hello"));
  Hello out;
  TRY(const std::uint64_t protocol, fields.number("protocol"));
  if (!std::in_range<std::uint32_t>(protocol)) return wrong("field 'protocol' is too large");
  out.protocol = static_cast<std::uint32_t>(protocol);
  TRY(out.version, fields.text("version"));
  TRY(out.cluster, fields.text("cluster"));
  TRY(out.device, fields.text("device"));
  TRY(out.boot_id, fields.text("bootId"));
  TRY(out.machine_id, fields.text("machineId"));
  TRY(out.epoch, fields.number("epoch"));
  TRY(out.leader, fields.text("leader"));
  TRY(out.armed, fields.text("armed"));
  TRY(out.hold, fields.text("hold"));
  TRY(out.failed_undo, fields.text("failedUndo"));
  TRY(const Json* const drivers, fields.array("drivers"));
  if (drivers != nullptr)
    for (const Json& one : *drivers) {
      TRY(Traits traits, read_traits(one));
      out.drivers.push_back(std::move(traits));
    }
  return out;
}

std::string encode(const Observation& observation) {
  Json out{{"device", observation.device},
           {"bootId", observation.boot_id},
           {"revision", observation.revision},
           {"entries", entries_json(observation.have)}};
  for (const Unread& one : observation.unread) {
    Json item = scoped_json(one);
    item["error"] = error_json(one.why);
    out["unread"].push_back(std::move(item));
  }
  for (const Incapable& one : observation.incapable) {
    Json item = scoped_json(one);
    item["reason"] = one.reason;
    if (one.by_hand) item["manual"] = true;
    out["unsupported"].push_back(std::move(item));
  }
  if (!observation.notes.empty()) out["notes"] = observation.notes;
  if (!observation.armed.empty()) out["armed"] = observation.armed;
  if (!observation.facts.empty()) out["facts"] = observation.facts;
  return text_of(out);
}

Result<Observation> decode_observation(std::string_view body, std::chrono::steady_clock::time_point sent) {
  TRY(const Json json, parsed(body));
  TRY(const Fields fields, Fields::of(json, "observation"));
  Observation out;
  out.when = sent;
  TRY(out.device, fields.text("device"));
  TRY(out.boot_id, fields.text("bootId"));
  TRY(out.revision, fields.text("revision"));
  TRY(out.notes, fields.texts("notes"));
  TRY(out.armed, fields.text("armed"));
  TRY(out.facts, fields.named_texts("facts"));
  TRY(const Json* const entries, fields.array("entries"));
  if (entries == nullptr) return wrong("field 'entries' is missing");
  TRY(out.have, read_entries(*entries));
  TRY(const Json* const unread, fields.array("unread"));
  for (const Json& json_of_one : unread == nullptr ? Json::array() : *unread) {
    TRY(const Fields one, Fields::of(json_of_one, "unread"));
    TRY(const Json* const error, one.needed("error"));
    Unread item{.row = 0, .keys = {}, .why = {ErrorKind::transient, ""}};
    TRY_DONE(read_error(*error, item.why));
    TRY(const bool known, read_scoped(one, item));
    if (known) out.unread.push_back(std::move(item));
  }
  TRY(const Json* const unsupported, fields.array("unsupported"));
  for (const Json& json_of_one : unsupported == nullptr ? Json::array() : *unsupported) {
    TRY(const Fields one, Fields::of(json_of_one, "unsupported"));
    Incapable item{.row = 0, .keys = {}, .reason = ""};
    TRY(item.reason, one.text("reason"));
    TRY(item.by_hand, one.flag("manual"));
    TRY(const bool known, read_scoped(one, item));
    if (known) out.incapable.push_back(std::move(item));
  }
  return out;
}

std::string encode(const Receipt& receipt) {
  Json outcomes = Json::array();
  for (const Receipt::Outcome& one : receipt.outcomes) {
    Json item{{"path", exact_json(one.path.text())}};
    if (one.error) item["error"] = error_json(*one.error);
    outcomes.push_back(std::move(item));
  }
  Json out{{"ticket", receipt.ticket}, {"outcomes", std::move(outcomes)}};
  if (!receipt.notes.empty()) out["notes"] = receipt.notes;
  return text_of(out);
}

Result<Receipt> decode_receipt(std::string_view body) {
  TRY(const Json json, parsed(body));
  TRY(const Fields fields, Fields::of(json, "receipt"));
  Receipt out;
  TRY(out.ticket, fields.text("ticket"));
  TRY(out.notes, fields.texts("notes"));
  TRY(const Json* const outcomes, fields.array("outcomes"));
  if (outcomes == nullptr) return wrong("field 'outcomes' is missing");
  for (const Json& json_of_one : *outcomes) {
    TRY(const Fields one, Fields::of(json_of_one, "outcome"));
    Receipt::Outcome item;
    TRY(item.path, read_path(one, "path"));
    if (const Json* const error = one.find("error")) {
      item.error.emplace(Error{ErrorKind::transient, ""});
      TRY_DONE(read_error(*error, *item.error));
    }
    out.outcomes.push_back(std::move(item));
  }
  return out;
}

std::string encode(const Usage::Use& use) {
  Json out{{"what", use.what}, {"open", use.open}};
  if (use.passed) out["passed"] = *use.passed;
  return text_of(out);
}

Result<Usage::Use> decode_use(std::string_view body) {
  TRY(const Json json, parsed(body));
  TRY(const Fields fields, Fields::of(json, "use"));
  Usage::Use out;
  TRY(out.what, fields.text("what"));
  TRY(out.open, fields.number("open"));
  if (fields.find("passed") != nullptr) {
    TRY(out.passed, fields.number("passed"));
  }
  return out;
}

std::string encode(const Woken& woken) {
  Json out = Json::object();
  if (woken.all) out["all"] = true;
  if (!woken.devices.empty()) out["devices"] = woken.devices;
  return text_of(out);
}

Result<Woken> decode_woken(std::string_view body) {
  TRY(const Json json, parsed(body));
  TRY(const Fields fields, Fields::of(json, "event"));
  Woken out;
  TRY(out.all, fields.flag("all"));
  TRY(out.devices, fields.texts("devices"));
  return out;
}

std::string encode(const Error& error) { return text_of({{"error", error_json(error)}}); }

Error decode_error(std::string_view body, ErrorKind otherwise, const std::string& what) {
  const Result<Json> json = parsed(body);
  if (!json || !json->is_object() || !json->contains("error")) return Error{otherwise, what};
  Error out{otherwise, what};
  return read_error(json->at("error"), out) ? out : Error{otherwise, what};
}

std::string encode(Done) { return "{}"; }

Result<Done> decode_done(std::string_view body) {
  TRY(const Json json, parsed(body));
  TRY([[maybe_unused]] const Fields fields, Fields::of(json, "answer"));
  return Done{};
}

}  // namespace lockstep::wire
