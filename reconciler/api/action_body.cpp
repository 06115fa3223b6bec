#include "reconciler/api/action_body.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "specs/model/printable.hpp"

namespace lockstep::api {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kDigestPrefix = "sha256:";
constexpr std::size_t kDigestDigits = 64;
constexpr std::size_t kDigitsLeast = 4;  // as for a revision (ServiceLoop::approve)

Error wrong_body(const std::string& what) { return Error{ErrorKind::invalid_spec, "body: " + what}; }

// Before anything is allocated for it.
bool is_deep(std::string_view text) {
  std::size_t depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (in_text && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      in_text = !in_text;
    } else if (!in_text && (text[i] == '{' || text[i] == '[')) {
      if (++depth > kDepthMax) return true;
    } else if (!in_text && (text[i] == '}' || text[i] == ']') && depth > 0) {
      --depth;
    }
  }
  return false;
}

Result<Json> parsed_object(std::string_view body) {
  if (is_deep(body)) return wrong_body("deeper than " + std::to_string(kDepthMax) + " levels");
  std::set<std::string> seen;
  std::optional<std::string> twice;
  const auto note = [&](int depth, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::key && depth == 1 && !seen.insert(value.get<std::string>()).second)
      twice = value.get<std::string>();
    return true;
  };
  Json out = Json::parse(body, note, false);
  if (out.is_discarded()) return wrong_body("not valid JSON in UTF-8");
  if (!out.is_object()) return wrong_body("not a JSON object");
  if (twice) return wrong_body("field '" + printable(*twice) + "' appears twice");
  return out;
}

bool is_digest_start(std::string_view text) {
  if (text.starts_with(kDigestPrefix)) text.remove_prefix(kDigestPrefix.size());
  return text.size() >= kDigitsLeast && text.size() <= kDigestDigits &&
         text.find_first_not_of("0123456789abcdef") == text.npos;
}

Result<std::vector<std::string>> steps_in(const Json& json) {
  if (!json.is_array() || json.empty())
    return wrong_body("'steps' must be a list of at least one digest; leave it out to approve all that wait");
  std::vector<std::string> out;
  for (const Json& one : json) {
    if (!one.is_string() || !is_digest_start(one.get_ref<const std::string&>()))
      return wrong_body("each of 'steps' must be the start of a digest: sha256: and at least " +
                        std::to_string(kDigitsLeast) + " hexadecimal digits");
    out.push_back(one.get<std::string>());
  }
  return out;
}

Result<std::string> reason_in(const Json& json) {
  if (!json.is_string()) return wrong_body("'reason' must be a text");
  const auto& text = json.get_ref<const std::string&>();
  if (text.size() > kReasonMax)
    return wrong_body("'reason' is longer than " + std::to_string(kReasonMax) + " bytes");
  return printable(text);
}

}  // namespace

Result<ActionBody> parse_action_body(const ActionRow& action, std::string_view body) {
  ActionBody out;
  Json json = Json::object();
  if (body.find_first_not_of(" \t\r\n") != body.npos) {
    TRY(json, parsed_object(body));
  }
  for (const auto& [name, value] : json.items()) {
    if (name == "steps" && action.steps) {
      TRY(out.steps, steps_in(value));
    } else if (name == "reason") {
      TRY(out.reason, reason_in(value));
    } else {
      return wrong_body("unknown field '" + printable(name) + "'; " + std::string(action.word) + " has " +
                        (action.steps ? "'steps' and 'reason'" : "'reason'"));
    }
  }
  if (action.needs_reason && out.reason.find_first_not_of(' ') == out.reason.npos)
    return wrong_body("'reason' is missing: say why, for those who find it");
  return out;
}

}  // namespace lockstep::api
