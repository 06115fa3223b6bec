#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reconciler/report/discovery.hpp"
#include "specs/language/hostlist.hpp"
#include "specs/language/scalars.hpp"
#include "specs/model/printable.hpp"

namespace lockstep {
namespace {

// One name, and as a hostlist that name alone: interfaces and LLDP neighbours may be any bytes.
bool is_name(const std::string& text) {
  // It is written between double quotes of YAML.
  if (printable(text) != text || text.find_first_of("\"\\") != text.npos) return false;
  const auto names = expand_hostlist(text, 1);
  return names && names->front() == text;
}

// Ports of the kernel's own making that no cable ends at.
bool takes_cables(const DiscoveredPort& port) {
  return !port.loopback && port.kind != "ifb" && port.kind != "dummy" && port.kind != "bridge" &&
         port.kind != "tun";
}

struct Draft {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>>
      sets;  // role, interfaces -> devices
  std::string cables;
  std::string left_out;  // comments

  void leave_out(const std::string& what, const std::string& name) {
    left_out +=
        fmt::format("# left out: {} '{}': specs can't write this name\n", printable(what), printable(name));
  }
};

struct End {
  std::string device;
  std::string port;
};

// Both ends of a cable tell of it if both are discovered: the mirror is the one with the later name first.
bool is_mirror(const End& from, const End& to, const std::vector<DiscoveredDevice>& all) {
  const bool both = std::any_of(all.begin(), all.end(),
                                [&to](const DiscoveredDevice& one) { return one.device == to.device; });
  return both && std::pair(to.device, to.port) < std::pair(from.device, from.port);
}

void add_cable(const End& from, const std::string& peer, const std::vector<DiscoveredDevice>& all,
               Draft& draft) {
  const std::size_t colon = peer.find(':');
  const End to{peer.substr(0, colon), colon == peer.npos ? "" : peer.substr(colon + 1)};
  if (!is_host_name(to.device) || !is_name(to.port))
    return draft.leave_out(from.device + ":" + from.port + "'s neighbour", peer);
  if (is_mirror(from, to, all)) return;
  draft.cables += fmt::format("        - {{from: \"{}:{}\", to: \"{}:{}\"}}\n", from.device, from.port,
                              to.device, to.port);
}

void add_device(const DiscoveredDevice& found, const std::vector<DiscoveredDevice>& all, Draft& draft) {
  if (!is_host_name(found.device)) return draft.leave_out("device", found.device);
  std::string interfaces;
  for (const DiscoveredPort& port : found.host.ports) {
    if (!takes_cables(port)) continue;
    if (!is_name(port.name)) {
      draft.leave_out(found.device + "'s port", port.name);
      continue;
    }
    interfaces += fmt::format("    - {{name: \"{}\"{}{}}}\n", port.name,
                              !port.rdma_devices.empty() ? ", rdma: true" : "",
                              port.nic.speed ? ", speed: " + speed_text(port) : "");
    if (!port.peer.empty()) add_cable({found.device, port.name}, port.peer, all, draft);
  }
  draft.sets[{found.role, interfaces}].push_back(found.device);
}

}  // namespace

// A DeviceSet a role and a set of equal ports, and one cabling law by pairs.
std::string discovery_draft(const std::vector<DiscoveredDevice>& all, bool twin) {
  Draft draft;
  for (const DiscoveredDevice& found : all) add_device(found, all, draft);
  std::string out =
      "# A first draft by `lockstep discover --draft`: edit it (take out the ports of\n"
      "# management, which nothing here can tell), then `lockstep validate`.\n";
  out += draft.left_out;
  for (const auto& [key, devices] : draft.sets) {
    const auto& [role, interfaces] = key;
    out += fmt::format(
        "---\napiVersion: lockstep.dev/v1alpha1\nkind: DeviceSet\nmetadata: {{name: \"{}-{}\"}}\nspec:\n  "
        "names: \"{}\"\n"
        "  role: {}\n  drivers: [{}]\n{}",
        role == "leaf" ? "leaves" : role + "s", devices.front(), fold_hostlist(devices), role,
        twin && role != "host" ? "linux, frr" : "linux",
        // A twin's devices are not this machine: how the real ones are reached is for a person to say.
        twin ? "" : "  connect: {local: true}\n");
    if (!interfaces.empty())
      out += std::string(role == "host" ? "  interfaces:\n" : "  ports:\n") + interfaces;
  }
  if (!draft.cables.empty())
    out +=
        "---\napiVersion: lockstep.dev/v1alpha1\nkind: Fabric\nmetadata: {name: discovered}\nspec:\n  role: "
        "backend\n"
        "  topology: leaf-spine\n  mtu: {host: 9000, fabric: 9216}\n  cabling:\n    - by: pairs\n      "
        "list:\n" +
        draft.cables;
  return out;
}

}  // namespace lockstep
