// What `lockstep discover` found, as text and as JSON.
//
// Promises: the text has a table of ports, one of GPUs with how far the fabric's NICs are from each, one of
// settings, and a note for whatever could not be had; JSON has all of it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "drivers/linux/discover.hpp"
#include "reconciler/report/terminal.hpp"

namespace lockstep {

struct DiscoveredDevice {
  std::string device;
  std::string role;
  DiscoveredHost host;
};

std::string speed_text(const DiscoveredPort& port);  // "400Gbps"; empty: not told
std::string discovery_text(const std::vector<DiscoveredDevice>& all, const Terminal& terminal);
nlohmann::json discovery_json(const std::vector<DiscoveredDevice>& all);

}  // namespace lockstep
