// The part of a discovery that devlink tells: firmware versions, parameters, health, ports with their rates,
// shared buffers. Tables that would be empty are left out; JSON has all of it.
#pragma once

#include "reconciler/report/discovery.hpp"

namespace lockstep {

std::string devlink_text(const DiscoveredDevice& found, const Terminal& terminal);
nlohmann::json devlink_json(const devlink::DeviceFacts& facts);

}  // namespace lockstep
