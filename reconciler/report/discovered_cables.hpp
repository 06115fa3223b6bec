// The cables that LLDP reports, from the discovery of each device: for a draft of specs.
//
// Promises: each cable once, whichever end reports it, and one cable per port: cables reported by both ends
// take precedence. A cable that specs can't express is left out, with a reason for a comment.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reconciler/report/cabling_laws.hpp"
#include "reconciler/report/discovery.hpp"

namespace lockstep {

struct DiscoveredCables {
  std::vector<ObservedCable> cables;
  std::vector<std::string> left_out;
};

// `all`: names of devices are host names.
DiscoveredCables discovered_cables(const std::vector<DiscoveredDevice>& all);

// Whether specs can write the name: a single name, also as a hostlist.
bool is_port_name(const std::string& text);
// Excludes ports created by the kernel, which have no cable.
bool takes_cables(const DiscoveredPort& port);
std::string left_out_name(std::string_view what, std::string_view name, std::string_view why);

}  // namespace lockstep
