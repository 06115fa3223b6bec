// The body of an action: {"steps": ["sha256:..."], "reason": "..."}.
//
// Promises: never trusted: refused (invalid_spec), each with what is wrong: what json_body.hpp refuses;
// unknown fields; steps for an action that has none, an empty list of steps, what is not the start of a
// digest; a reason that is missing where the action needs one, or longer than kReasonMax. An empty body is an
// empty object.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reconciler/api/kinds.hpp"
#include "specs/model/result.hpp"

namespace lockstep::api {

inline constexpr std::size_t kReasonMax = 1024;  // as long as the message of an event (core/v1 Event)

struct ActionBody {
  std::vector<std::string> steps;
  std::string reason;  // printable
};
Result<ActionBody> parse_action_body(const ActionRow& action, std::string_view body);

}  // namespace lockstep::api
