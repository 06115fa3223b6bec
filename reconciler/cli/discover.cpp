#include "drivers/linux/discover.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "reconciler/cli/commands.hpp"
#include "reconciler/cli/opened_cluster.hpp"
#include "reconciler/report/table.hpp"
#include "reconciler/twin/places.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {
namespace {

struct Found {
  std::string device;
  std::string role;
  DiscoveredHost host;
};

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

Result<std::vector<Found>> discover_all(const Console& console, const std::optional<OpenedCluster>& cluster) {
  std::vector<Found> all;
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

std::string joined(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& one : list) out += (out.empty() ? "" : ", ") + one;
  return out;
}

std::string speed_text(const DiscoveredPort& port) {
  return port.speed ? format(BitRate{std::uint64_t{*port.speed} * 1'000'000}) : "";
}

std::string found_text(const std::vector<Found>& all, const Terminal& terminal) {
  std::string out;
  Table ports({{"device"},
               {"port"},
               {"driver"},
               {"speed", true},
               {"mtu", true},
               {"state"},
               {"addresses"},
               {"neighbour"},
               {"pci"},
               {"numa", true},
               {"rdma"}});
  Table gpus({{"device"}, {"gpu"}, {"vendor"}, {"id"}, {"driver"}, {"numa", true}});
  for (const Found& found : all) {
    for (const DiscoveredPort& port : found.host.ports) {
      if (port.loopback) continue;
      const std::string state = !port.admin_up ? "down" : port.carrier ? "up" : "no carrier";
      ports.add({terminal.paint(Ink::cyan, found.device), port.name, port.driver, speed_text(port),
                 std::to_string(port.mtu), terminal.paint(state == "up" ? Ink::green : Ink::yellow, state),
                 joined(port.addresses), port.peer, port.pci,
                 port.numa_node ? std::to_string(*port.numa_node) : "", joined(port.rdma_devices)});
    }
    for (const DiscoveredGpu& gpu : found.host.gpus)
      gpus.add({terminal.paint(Ink::cyan, found.device), gpu.pci, gpu.vendor, gpu.device_id,
                gpu.kernel_driver, gpu.numa_node ? std::to_string(*gpu.numa_node) : ""});
  }
  out += ports.empty() ? "no ports but the loopback\n" : ports.render(terminal);
  if (!gpus.empty()) out += "\n" + gpus.render(terminal);
  std::map<std::string, std::vector<std::string>> notes;
  for (const Found& found : all)
    for (const std::string& note : found.host.notes) notes[note].push_back(found.device);
  for (const auto& [note, devices] : notes)
    out += terminal.paint(Ink::dim, fmt::format("note: {} ({})\n", note, fold_hostlist(devices)));
  return out;
}

nlohmann::json found_json(const std::vector<Found>& all) {
  nlohmann::json devices = nlohmann::json::array();
  for (const Found& found : all) {
    nlohmann::json ports = nlohmann::json::array();
    for (const DiscoveredPort& port : found.host.ports) {
      nlohmann::json one{{"name", port.name},
                         {"driver", port.driver},
                         {"mac", port.hardware_address},
                         {"mtu", port.mtu},
                         {"adminUp", port.admin_up},
                         {"carrier", port.carrier},
                         {"addresses", port.addresses},
                         {"rdmaDevices", port.rdma_devices}};
      if (port.speed) one["speedMbps"] = *port.speed;
      if (!port.pci.empty()) one["pci"] = port.pci;
      if (port.numa_node) one["numaNode"] = *port.numa_node;
      if (!port.peer.empty()) one["neighbour"] = port.peer;
      ports.push_back(std::move(one));
    }
    nlohmann::json gpus = nlohmann::json::array();
    for (const DiscoveredGpu& gpu : found.host.gpus)
      gpus.push_back({{"pci", gpu.pci},
                      {"vendor", gpu.vendor},
                      {"deviceId", gpu.device_id},
                      {"driver", gpu.kernel_driver}});
    devices.push_back({{"name", found.device},
                       {"ports", ports},
                       {"gpus", gpus},
                       {"rdmaDevices", found.host.rdma_devices},
                       {"notes", found.host.notes}});
  }
  return {{"apiVersion", "lockstep.dev/v1alpha1"}, {"kind", "Discovery"}, {"devices", devices}};
}

// A DeviceSet a role and a set of equal ports, and one cabling law by pairs from what LLDP heard.
std::string draft_of(const std::vector<Found>& all, bool twin) {
  std::string out = "# A first draft by `lockstep discover --draft`: edit it, then `lockstep validate`.\n";
  std::map<std::pair<std::string, std::string>, std::vector<std::string>>
      sets;  // role, interfaces -> devices
  std::map<std::string, std::string> interfaces_of;
  std::string cables;
  for (const Found& found : all) {
    std::string interfaces;
    for (const DiscoveredPort& port : found.host.ports) {
      if (port.loopback) continue;
      interfaces += fmt::format("    - {{name: \"{}\"{}{}}}\n", port.name,
                                port.rdma_devices.empty() ? "" : ", rdma: true",
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
  const Result<std::vector<Found>> all = discover_all(console, cluster);
  if (!all) return console.fail(all.error());
  if (options.draft)
    console.print(draft_of(*all, options.aim.twin));
  else if (console.is_text())
    console.print(found_text(*all, console.out()));
  else
    console.print_document(found_json(*all));
  return kExitInSync;
}

}  // namespace lockstep
