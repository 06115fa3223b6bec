#include "specs/model/value_json.hpp"

#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "specs/model/printable.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

Error wrong(std::string what) { return Error{ErrorKind::invalid_spec, std::move(what)}; }

// A device may return any bytes, and a rollback must write them again: text that JSON can't represent becomes
// an object with its bytes in hexadecimal.
Json json_of(std::string_view text) {
  if (!find_invalid_utf8(text)) return std::string(text);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    hex += kDigits[byte >> 4U];
    hex += kDigits[byte & 0xfU];
  }
  return {{"bytes", hex}};
}

Result<std::string> text_of(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  const auto bytes = json.find("bytes");
  if (!json.is_object() || bytes == json.end() || !bytes->is_string())
    return wrong("a list holds something that is not a text");
  const std::string& hex = bytes->get_ref<const std::string&>();
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    unsigned byte = 0;
    const char* const pair = hex.data() + i;
    if (hex.size() - i < 2 || std::from_chars(pair, pair + 2, byte, 16).ptr != pair + 2)
      return wrong("bytes are not two hexadecimal digits each");
    out += static_cast<char>(byte);
  }
  return out;
}

}  // namespace

Json to_json(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::none: return nullptr;
    case Value::Kind::present: return true;
    case Value::Kind::boolean: return value.as_boolean();
    case Value::Kind::integer: return value.as_integer();
    case Value::Kind::text: return json_of(value.as_text());
    case Value::Kind::secret: return {{"secret", std::string(value.as_text())}};
    case Value::Kind::reference: return {{"reference", std::string(value.as_text())}};
    case Value::Kind::list: break;
  }
  Json list = Json::array();
  for (const std::string_view element : value.as_list()) list.push_back(json_of(element));
  return list;
}

Result<Value> value_from_json(RowId row, const Json& json) {
  if (json.is_null()) return Value{};
  if (json.is_boolean()) {
    if (schema_row(row).type == EntryType::present && json.get<bool>()) return Value::present();
    return Value::boolean(json.get<bool>());
  }
  // nlohmann: signed numbers fit, unsigned ones may need 64 bits.
  if (json.is_number_unsigned() && !std::in_range<std::int64_t>(json.get<std::uint64_t>()))
    return wrong(json.dump() + " is more than a number may be");
  if (json.is_number_integer()) return Value::integer(json.get<std::int64_t>());
  if (json.is_string()) return Value::text(json.get<std::string>());
  if (json.is_array()) {
    std::vector<std::string> elements;
    for (const Json& element : json) {
      TRY(std::string text, text_of(element));
      elements.push_back(std::move(text));
    }
    if (schema_row(row).is_set()) return Value::set(std::move(elements));
    return Value::list(elements);
  }
  if (json.contains("bytes")) {
    TRY(const std::string text, text_of(json));
    return Value::text(text);
  }
  if (json.contains("secret") && json["secret"].is_string())
    return Value::secret(json["secret"].get<std::string>());
  if (json.contains("reference") && json["reference"].is_string())
    return Value::reference(json["reference"].get<std::string>());
  return wrong("a value is of no known shape");
}

}  // namespace lockstep
