// What a SONiC switch of a twin has of itself: the rows that a new CONFIG_DB begins with, and what SONiC sets
// in the kernel when it boots.
//
// Promises: valid by SONiC's models (tested). Ports are down, as on all devices of a new twin.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "drivers/sonic/config_db.hpp"

namespace lockstep::sonic {

struct SwitchIdentity {
  std::string hostname;
  std::string type;  // "LeafRouter"
};

ConfigDb first_config(const SwitchIdentity& identity, std::span<const std::string> ports);
// A port's row. `number`: of the port on this switch, from 0.
ConfigRow first_port_row(std::size_t number);

// Kernel parameters by name, of the namespace and of these ports.
std::vector<std::pair<std::string, std::string>> boot_parameters(std::span<const std::string> ports);

}  // namespace lockstep::sonic
