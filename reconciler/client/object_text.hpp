// One object in readable sections, as `kubectl describe` has them.
//
// Promises: pure. All that the object has is shown, also fields that this version does not know.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "drivers/posix/call.hpp"
#include "reconciler/client/object_kinds.hpp"
#include "reconciler/report/terminal.hpp"

namespace lockstep::client {

// `events`: those of the object, oldest first.
std::string object_text(const KindRow& kind, const nlohmann::json& object,
                        const std::vector<const nlohmann::json*>& events, WallTime now,
                        const Terminal& terminal);

}  // namespace lockstep::client
