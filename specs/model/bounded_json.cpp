#include "specs/model/bounded_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

namespace lockstep {
namespace {

// A comma or an opening bracket outside quotes begins a value, and so does the text itself.
Result<Done> check(std::string_view text, const JsonBounds& bounds) {
  std::size_t values = 1;
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') ++i;
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    const bool opens = c == '[' || c == '{';
    if (opens && ++depth > bounds.depth)
      return Error{ErrorKind::invalid_spec,
                   "JSON nested deeper than " + std::to_string(bounds.depth) + " levels"};
    if ((c == ']' || c == '}') && depth > 0) --depth;
    if ((opens || c == ',') && ++values > bounds.values)
      return Error{ErrorKind::invalid_spec, "JSON of more than " + std::to_string(bounds.values) + " values"};
  }
  return Done{};
}

}  // namespace

Result<nlohmann::json> parse_bounded_json(std::string_view text, const JsonBounds& bounds) {
  TRY_DONE(check(text, bounds));
  nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Error{ErrorKind::invalid_spec, "not JSON"};
  return json;
}

}  // namespace lockstep
