#include "reconciler/api/action_body.hpp"

#include <nlohmann/json.hpp>

#include "reconciler/api/json_body.hpp"
#include "specs/model/printable.hpp"

namespace lockstep::api {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kDigestPrefix = "sha256:";
constexpr std::size_t kDigestDigits = 64;
// As many as a body of RequestLimits::body_max may have digests.
constexpr std::size_t kActionValues = std::size_t{1} << 18;
constexpr std::size_t kDigitsLeast = 4;  // as for a revision (ServiceLoop::approve)

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
  TRY(const Json json, parse_json_body(body, kActionValues));
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
