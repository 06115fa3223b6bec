// The output of `lockstep host-policy explain`: what specs may do to this machine, with the policy line for
// each rule.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "drivers/host_policy/policy.hpp"
#include "reconciler/report/terminal.hpp"

namespace lockstep {

std::string host_policy_text(const HostPolicy& policy, const Terminal& terminal);
nlohmann::json host_policy_json(const HostPolicy& policy);

// For one setting; `why`: why it is refused.
std::string permission_text(const Path& setting, const WhyRefused& why, const Terminal& terminal);
nlohmann::json permission_json(const Path& setting, const WhyRefused& why);

}  // namespace lockstep
