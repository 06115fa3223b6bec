// What `lockstep discover` found, as text, as JSON and as a draft of specs.
//
// Promises: the text has a table of ports, one of what NICs among them are set to, one of GPUs with how far
// the fabric's NICs are from each, one of settings, and a note for whatever could not be had; JSON has all of
// it; the draft loads, and has each cable that LLDP heard of once. Names that specs can't write are left out
// of the draft, with a comment for each.
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
std::string discovery_draft(const std::vector<DiscoveredDevice>& all, bool twin);

}  // namespace lockstep
