#include "specs/model/value_json.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

Error wrong(std::string what) { return Error{ErrorKind::invalid_spec, std::move(what)}; }

}  // namespace

Json to_json(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::none: return nullptr;
    case Value::Kind::present: return true;
    case Value::Kind::boolean: return value.as_boolean();
    case Value::Kind::integer: return value.as_integer();
    case Value::Kind::text: return std::string(value.as_text());
    case Value::Kind::secret: return {{"secret", std::string(value.as_text())}};
    case Value::Kind::reference: return {{"reference", std::string(value.as_text())}};
    case Value::Kind::list: break;
  }
  Json list = Json::array();
  for (const std::string_view element : value.as_list()) list.push_back(std::string(element));
  return list;
}

Result<Value> value_from_json(RowId row, const Json& json) {
  if (json.is_null()) return Value{};
  if (json.is_boolean()) {
    if (schema_row(row).type == EntryType::present && json.get<bool>()) return Value::present();
    return Value::boolean(json.get<bool>());
  }
  // nlohmann: what has a sign fits, what has none may be of 64 bits.
  if (json.is_number_unsigned() && !std::in_range<std::int64_t>(json.get<std::uint64_t>()))
    return wrong(json.dump() + " is more than a number may be");
  if (json.is_number_integer()) return Value::integer(json.get<std::int64_t>());
  if (json.is_string()) return Value::text(json.get<std::string>());
  if (json.is_array()) {
    std::vector<std::string> elements;
    for (const Json& element : json) {
      if (!element.is_string()) return wrong("a list holds something that is not a text");
      elements.push_back(element.get<std::string>());
    }
    if (schema_row(row).compare == Compare::set) return Value::set(std::move(elements));
    return Value::list(elements);
  }
  if (json.contains("secret") && json["secret"].is_string())
    return Value::secret(json["secret"].get<std::string>());
  if (json.contains("reference") && json["reference"].is_string())
    return Value::reference(json["reference"].get<std::string>());
  return wrong("a value is of no known shape");
}

}  // namespace lockstep
