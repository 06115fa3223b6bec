#include "reconciler/api/json_body.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

#include "specs/model/printable.hpp"

namespace lockstep::api {
namespace {

using Json = nlohmann::json;

// Before anything is allocated for it.
std::optional<Error> why_too_much(std::string_view text, std::size_t values) {
  std::size_t depth = 0;
  std::size_t count = 1;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (in_text && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      in_text = !in_text;
    } else if (!in_text && (text[i] == '{' || text[i] == '[')) {
      if (++depth > kDepthMax) return wrong_body("deeper than " + std::to_string(kDepthMax) + " levels");
      ++count;
    } else if (!in_text && (text[i] == '}' || text[i] == ']') && depth > 0) {
      --depth;
    } else if (!in_text && text[i] == ',') {
      ++count;
    }
  }
  if (count > values) return wrong_body("more than " + std::to_string(values) + " values");
  return std::nullopt;
}

}  // namespace

Error wrong_body(const std::string& what) { return Error{ErrorKind::invalid_spec, "body: " + what}; }

Result<nlohmann::json> parse_json_body(std::string_view body, std::size_t values) {
  if (body.find_first_not_of(" \t\r\n") == body.npos) return Json::object();
  if (auto why = why_too_much(body, values)) return *std::move(why);
  std::vector<std::set<std::string>> seen;  // of each object that is open
  std::optional<std::string> twice;
  const auto note = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) seen.emplace_back();
    if (event == Json::parse_event_t::object_end) seen.pop_back();
    if (event == Json::parse_event_t::key && !seen.back().insert(value.get<std::string>()).second)
      twice = value.get<std::string>();
    return true;
  };
  Json out = Json::parse(body, note, false);
  if (out.is_discarded()) return wrong_body("not valid JSON in UTF-8");
  if (!out.is_object()) return wrong_body("not a JSON object");
  if (twice) return wrong_body("field '" + printable(*twice) + "' appears twice");
  return out;
}

}  // namespace lockstep::api
