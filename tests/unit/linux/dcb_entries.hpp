// The entries of a port as text, one per line, without the name of the port.
#pragma once

#include <string>

#include "drivers/linux/dcb/map.hpp"

namespace lockstep {

inline std::string text(const dcb::PortState& state) {
  std::string out;
  for (const Entry& entry : dcb_map::entries("nic0", state))
    out += entry.path.text().substr(std::string_view("interface[nic0]/").size()) + " = " +
           entry.value.to_string() + "\n";
  return out;
}

}  // namespace lockstep
