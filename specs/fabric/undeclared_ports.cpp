#include "specs/fabric/undeclared_ports.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "specs/language/codes.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {

Diagnostics undeclared_ports(const Catalog& catalog, const Topology& topology) {
  std::vector<std::string> devices;
  Position first;
  for (const TopologyDevice& device : topology.devices) {
    const DeviceSet& set = catalog.device_sets[device.set];
    // A port exists here only if it is declared or cabled.
    if (!set.interfaces.empty() || !set.ports.empty() || device.port_count == 0) continue;
    if (devices.empty()) first = set.names.said ? set.names.at : set.at;
    devices.push_back(device.name);
  }
  if (devices.empty()) return {};
  sort_names(devices);
  const std::string_view verb = devices.size() == 1 ? " declares" : " declare";
  Diagnostic out;
  out.code = code::undeclared_ports;
  out.severity = Severity::warning;
  out.at = first;
  out.message = fold_hostlist(devices) + std::string(verb) +
                " no ports, so the port names of their cables are not checked";
  out.hint = "list them in the DeviceSet, such as ports: [{name: \"swp[1-32]\"}]";
  return {std::move(out)};
}

}  // namespace lockstep
