// The results of `lockstep discover`, as text, as JSON and as a draft of specs.
//
// Promises: the text has a table of ports, one of the settings of NICs among them, one of GPUs with their
// distance to the fabric's NICs, one of settings, and a note for everything that could not be read; JSON has
// all of it; the draft can be loaded, has one DeviceSet for each kind of machine, and each cable reported by
// LLDP once, by the rules that hold for them. Names that specs can't express are left out of the draft, with
// a comment for each.
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
  std::string connect{};  // YAML: how specs say that it is reached; empty: it is this machine, or in a twin
};

std::string speed_text(const DiscoveredPort& port);  // "400Gbps"; empty: not known
std::string discovery_text(const std::vector<DiscoveredDevice>& all, const Terminal& terminal);
nlohmann::json discovery_json(const std::vector<DiscoveredDevice>& all);
std::string discovery_draft(const std::vector<DiscoveredDevice>& all, bool twin);

}  // namespace lockstep
