// A port's leaves as text, a line each, without the port.
#pragma once

#include <string>

#include "drivers/linux/dcb/map.hpp"

namespace lockstep {

inline std::string text(const dcb::PortState& state) {
  std::string out;
  for (const Leaf& leaf : dcb_map::leaves("nic0", state))
    out += leaf.path.text().substr(std::string_view("interface[nic0]/").size()) + " = " +
           leaf.value.to_string() + "\n";
  return out;
}

}  // namespace lockstep
