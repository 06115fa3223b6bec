// The devlink part of a discovery: firmware versions, parameters, health, ports with their rates, shared
// buffers. Empty tables are left out; JSON has everything.
#pragma once

#include "reconciler/report/discovery.hpp"

namespace lockstep {

std::string devlink_text(const DiscoveredDevice& found, const Terminal& terminal);
nlohmann::json devlink_json(const devlink::DeviceFacts& facts);

}  // namespace lockstep
