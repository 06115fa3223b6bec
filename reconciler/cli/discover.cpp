#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>

#include "reconciler/cli/commands.hpp"
#include "reconciler/cli/opened_cluster.hpp"
#include "reconciler/report/discovery.hpp"
#include "reconciler/twin/places.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {
namespace {

Call discovery_call(const Console& console) {
  Call call;
  call.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  call.stop = console.stop;
  call.wake_fd = console.stop_fd;
  return call;
}

std::string host_name() {
  std::array<char, 256> name{};  // HOST_NAME_MAX is 64 (limits.h); DNS names are at most 253
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

Result<std::vector<DiscoveredDevice>> discover_all(const Console& console,
                                                   const std::optional<OpenedCluster>& cluster) {
  std::vector<DiscoveredDevice> all;
  if (!cluster) {
    TRY(DiscoveredHost host,
        discover_host({.netns_path = "", .lldpd_socket = "/run/lldpd.socket"}, discovery_call(console)));
    all.push_back({host_name(), "host", std::move(host)});
    return all;
  }
  for (const TopologyDevice& device : cluster->compiled.topology.devices) {
    const DevicePlaces at = places(cluster->id, device.name);
    Result<DiscoveredHost> host = discover_host(
        {.netns_path = at.netns_path, .lldpd_socket = at.lldpd_socket}, discovery_call(console));
    if (!host) return wrap(device.name, std::move(host.error()));
    // GPUs and RDMA devices are this machine's, and none of a namespace's.
    all.push_back({device.name, std::string(to_string(device.role)), *std::move(host)});
  }
  return all;
}

// A DeviceSet a role and a set of equal ports, and one cabling law by pairs from what LLDP heard.
std::string draft_of(const std::vector<DiscoveredDevice>& all, bool twin) {
  std::string out = "# A first draft by `lockstep discover --draft`: edit it, then `lockstep validate`.\n";
  std::map<std::pair<std::string, std::string>, std::vector<std::string>>
      sets;  // role, interfaces -> devices
  std::map<std::string, std::string> interfaces_of;
  std::string cables;
  for (const DiscoveredDevice& found : all) {
    std::string interfaces;
    for (const DiscoveredPort& port : found.host.ports) {
      if (port.loopback) continue;
      interfaces += fmt::format("    - {{name: \"{}\"{}{}}}\n", port.name,
                                port.pci && !port.pci->rdma_devices.empty() ? ", rdma: true" : "",
                                port.speed ? ", speed: " + speed_text(port) : "");
      if (!port.peer.empty() && found.device + ":" + port.name < port.peer)
        cables +=
            fmt::format("        - {{from: \"{}:{}\", to: \"{}\"}}\n", found.device, port.name, port.peer);
    }
    sets[{found.role, interfaces}].push_back(found.device);
  }
  for (const auto& [key, devices] : sets) {
    const auto& [role, interfaces] = key;
    out += fmt::format(
        "---\napiVersion: lockstep.dev/v1alpha1\nkind: DeviceSet\nmetadata: {{name: \"{}s-{}\"}}\nspec:\n  "
        "names: \"{}\"\n"
        "  role: {}\n  drivers: [{}]\n{}",
        role, devices.front(), fold_hostlist(devices), role, twin && role != "host" ? "linux, frr" : "linux",
        // A twin's devices are not this machine: how the real ones are reached is for a person to say.
        twin ? "" : "  connect: {local: true}\n");
    if (!interfaces.empty())
      out += std::string(role == "host" ? "  interfaces:\n" : "  ports:\n") + interfaces;
  }
  if (!cables.empty())
    out +=
        "---\napiVersion: lockstep.dev/v1alpha1\nkind: Fabric\nmetadata: {name: discovered}\nspec:\n  role: "
        "backend\n"
        "  topology: leaf-spine\n  mtu: {host: 9000, fabric: 9216}\n  cabling:\n    - by: pairs\n      "
        "list:\n" +
        cables;
  return out;
}

}  // namespace

int run_discover(const DiscoverOptions& options, const Console& console) {
  std::optional<OpenedCluster> cluster;
  if (options.aim.twin) {
    cluster = open_cluster(options.aim, console);
    if (!cluster) return kExitError;
  }
  const Result<std::vector<DiscoveredDevice>> all = discover_all(console, cluster);
  if (!all) return console.fail(all.error());
  if (options.draft)
    console.print(draft_of(*all, options.aim.twin));
  else if (console.is_text())
    console.print(discovery_text(*all, console.out()));
  else
    console.print_document(discovery_json(*all));
  return kExitInSync;
}

}  // namespace lockstep
