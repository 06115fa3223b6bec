// The management network of a twin with agents: a namespace where the controller sits, with a bridge, and a
// cable from it to a port of its own in each device. Agents are reached over it alone.
//
// Promises: addresses follow from names, so that devices that come later move none. IPv6 (a ULA prefix,
// RFC 4193), so that no IPv4 route of a device, and no `redistribute connected` of an IPv4 fabric, is touched
// by it. All is up when the calls return, without duplicate address detection. Calling them again changes
// nothing.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "reconciler/twin/late_relay.hpp"
#include "reconciler/twin/namespace.hpp"

namespace lockstep {

inline constexpr std::string_view kManagementPort = "mgmt0";
// As `lockstep twin exec` calls it; no device has such a name.
inline constexpr std::string_view kController = "@controller";
inline constexpr std::uint16_t kAgentPort = 7443;

std::string management_address(std::string_view device);  // "fd6c:6f63:6b73::1b2c:..."

Result<Done> make_controller(const std::string& cluster);
Result<Done> connect_management(const std::string& cluster, const std::string& device, const MadeNetns& made);

// The bridge's port for a device, by its kernel name, in the controller's namespace.
std::string management_bridge_port(const std::string& device);

// Takes the device's port out of the bridge and passes its frames by a relay, which delays each by that time;
// the path is cut where the relay ends and undelay_management() was not called.
Result<LateRelay> delay_management(const std::string& cluster, const std::string& device,
                                   std::chrono::milliseconds delay);
// As it was; also where it is not delayed.
Result<Done> undelay_management(const std::string& cluster, const std::string& device);

}  // namespace lockstep
