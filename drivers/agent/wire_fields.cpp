#include "drivers/agent/wire_fields.hpp"

#include <algorithm>
#include <utility>

#include "specs/model/bounded_json.hpp"
#include "specs/model/printable.hpp"
#include "specs/model/schema_rows.hpp"
#include "specs/model/value_json.hpp"

namespace lockstep::wire {
namespace {

constexpr std::array<std::string_view, 8> kKinds{"transient",   "unknownOutcome", "conflict",    "refused",
                                                 "unsupported", "denied",         "invalidSpec", "cancelled"};
// Causes of causes; ours have two or three.
constexpr int kCausesMax = 8;
// nlohmann's parser recurses a level at a time; no message has more than six. As many values as of a document
// of ours (bounded_json.hpp).
constexpr JsonBounds kBounds{.depth = 16};
// Choices, far above what drivers say.
constexpr std::size_t kNamedTextsMost = 64;
constexpr std::size_t kNamedTextMax = 1024;  // a name and its text
// Any row whose values are texts: reads bytes.
constexpr RowId kTextRow = 0;

Error mistyped(const char* name, const char* type) {
  return wrong("field '" + std::string(name) + "' is not " + type);
}

// In valid JSON each field has one colon outside quotes.
std::size_t fields_written(std::string_view text) {
  std::size_t out = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      quoted = !quoted;
    else if (!quoted && text[i] == ':')
      ++out;
  }
  return out;
}

// As deep as kBounds at most.
std::size_t fields_held(const Json& json) {
  std::size_t out = json.is_object() ? json.size() : 0;
  if (json.is_structured())
    for (const Json& one : json) out += fields_held(one);
  return out;
}

// A row's list whose elements are given back in their order.
Json list_json(Value list) {
  Json out = Json::array();
  for (const std::string_view one : list.as_list()) out.push_back(exact_json(one));
  return out;
}

}  // namespace

Error wrong(const std::string& what) { return Error{ErrorKind::invalid_spec, what}; }

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Result<Json> parsed(std::string_view body) {
  TRY(Json json, parse_bounded_json(body, kBounds));
  if (fields_held(json) != fields_written(body)) return wrong("an object has two fields of one name");
  return json;
}

Result<Fields> Fields::of(const Json& json, const char* what) {
  if (!json.is_object()) return wrong(std::string(what) + " is not an object");
  return Fields(json);
}

const Json* Fields::find(const char* name) const {
  const auto at = json_->find(name);
  return at == json_->end() || at->is_null() ? nullptr : &*at;
}

Result<const Json*> Fields::needed(const char* name) const {
  const auto at = json_->find(name);
  if (at == json_->end()) return wrong("field '" + std::string(name) + "' is missing");
  return &*at;
}

Result<std::string> Fields::text(const char* name) const {
  const Json* const value = find(name);
  if (value == nullptr) return std::string();
  if (!value->is_string()) return mistyped(name, "a string");
  return value->get<std::string>();
}

Result<std::uint64_t> Fields::number(const char* name) const {
  const Json* const value = find(name);
  if (value == nullptr) return std::uint64_t{0};
  if (!value->is_number_unsigned()) return mistyped(name, "a number from 0");
  return value->get<std::uint64_t>();
}

Result<bool> Fields::flag(const char* name) const {
  const Json* const value = find(name);
  if (value == nullptr) return false;
  if (!value->is_boolean()) return mistyped(name, "true or false");
  return value->get<bool>();
}

Result<std::vector<std::string>> Fields::texts(const char* name) const {
  std::vector<std::string> out;
  TRY(const Json* const all, array(name));
  if (all == nullptr) return out;
  for (const Json& one : *all) {
    if (!one.is_string()) return mistyped(name, "a list of strings");
    out.push_back(one.get<std::string>());
  }
  return out;
}

Result<std::map<std::string, std::string>> Fields::named_texts(const char* name) const {
  std::map<std::string, std::string> out;
  const Json* const all = find(name);
  if (all == nullptr) return out;
  if (!all->is_object()) return mistyped(name, "a map");
  for (const auto& [key, text] : all->items()) {
    if (out.size() == kNamedTextsMost) break;
    if (!text.is_string()) continue;
    if (const std::string value = text; key.size() + value.size() <= kNamedTextMax) out.emplace(key, value);
  }
  return out;
}

Result<const Json*> Fields::array(const char* name) const {
  const Json* const value = find(name);
  if (value != nullptr && !value->is_array()) return mistyped(name, "a list");
  return value;
}

Json exact_json(std::string_view text) { return to_json(Value::text(text)); }

Result<std::string> read_exact(const Json& json, const char* name) {
  if (json.is_string()) return json.get<std::string>();
  if (!json.is_object() || !json.contains("bytes")) return mistyped(name, "a string");
  TRY(const Value value, value_from_json(kTextRow, json));
  return std::string(value.as_text());
}

Result<std::vector<std::string>> read_exact_texts(const Fields& fields, const char* name) {
  std::vector<std::string> out;
  TRY(const Json* const all, fields.array(name));
  if (all == nullptr) return out;
  for (const Json& one : *all) {
    TRY(std::string text, read_exact(one, name));
    out.push_back(std::move(text));
  }
  return out;
}

Json value_json(RowId row, Value value) {
  const bool is_named = value.kind() == Value::Kind::secret || value.kind() == Value::Kind::reference;
  if (is_named && find_invalid_utf8(value.as_text()))
    return {{value.kind() == Value::Kind::secret ? "secret" : "reference", exact_json(value.as_text())}};
  Json plain = to_json(value);
  if (const Result<Value> back = value_from_json(row, plain); back && *back == value) return plain;
  switch (value.kind()) {
    case Value::Kind::present: return {{"present", true}};
    case Value::Kind::boolean: return {{"boolean", value.as_boolean()}};
    case Value::Kind::list: return {{"list", list_json(value)}};
    default: return plain;
  }
}

Result<Value> read_value(RowId row, const Json& json) {
  if (!json.is_object() || json.size() != 1) return value_from_json(row, json);
  const std::string& name = json.begin().key();
  const Json& held = json.begin().value();
  if (name == "present" && held.is_boolean() && held.get<bool>()) return Value::present();
  if (name == "boolean" && held.is_boolean()) return Value::boolean(held.get<bool>());
  if (name == "list") {
    TRY(const Fields fields, Fields::of(json, "value"));
    TRY(const std::vector<std::string> elements, read_exact_texts(fields, "list"));
    return Value::list(elements);
  }
  if ((name == "secret" || name == "reference") && held.is_object()) {
    TRY(const std::string text, read_exact(held, "bytes"));
    return name == "secret" ? Value::secret(text) : Value::reference(text);
  }
  return value_from_json(row, json);
}

std::optional<RowId> row_of(const std::string& pattern) {
  const auto at = std::find_if(kSchema.begin(), kSchema.end(),
                               [&pattern](const Row& one) { return one.pattern == pattern; });
  if (at == kSchema.end()) return std::nullopt;
  return static_cast<RowId>(at - kSchema.begin());
}

Json rows_json(const std::vector<RowId>& rows) {
  Json out = Json::array();
  for (const RowId one : rows) out.push_back(schema_row(one).pattern);
  return out;
}

Result<std::vector<RowId>> read_rows(const Fields& fields, const char* name) {
  TRY(const std::vector<std::string> patterns, fields.texts(name));
  std::vector<RowId> out;
  for (const std::string& pattern : patterns)
    if (const std::optional<RowId> row = row_of(pattern)) out.push_back(*row);
  return out;
}

Result<Path> read_path(const Fields& fields, const char* name) {
  TRY(const Json* const json, fields.needed(name));
  TRY(const std::string text, read_exact(*json, name));
  Result<Path> path = Path::parse(text);
  if (!path) return Error{ErrorKind::unsupported, path.error().what};
  return path;
}

Json error_json(const Error& error, int causes) {
  const bool is_last = causes == kCausesMax;
  Json out{{"kind", kKinds.at(static_cast<std::size_t>(error.kind))},
           {"what", is_last ? error.text() : error.what}};
  if (error.cause && !is_last) out["cause"] = error_json(*error.cause, causes + 1);
  return out;
}

Result<Done> read_error(const Json& json, Error& out, int causes) {
  TRY(const Fields fields, Fields::of(json, "error"));
  TRY(const std::string word, fields.text("kind"));
  const std::optional<std::size_t> kind = index_of(kKinds, word);
  if (!kind) return wrong("no error is of kind '" + word + "'");
  out.kind = static_cast<ErrorKind>(*kind);
  TRY(out.what, fields.text("what"));
  if (const Json* const cause = fields.find("cause"); cause != nullptr && causes < kCausesMax) {
    Error inner{out.kind, ""};
    TRY_DONE(read_error(*cause, inner, causes + 1));
    out.cause = std::make_shared<const Error>(std::move(inner));
  }
  return Done{};
}

}  // namespace lockstep::wire
