#include "drivers/linux/discover.hpp"

#include <algorithm>
#include <map>

#include "drivers/linux/host_state.hpp"
#include "drivers/linux/kernel_address.hpp"
#include "drivers/linux/lldp.hpp"
#include "drivers/posix/in_namespace.hpp"
#include "specs/model/roce_mtu.hpp"

namespace lockstep {
namespace {

struct Heard {
  std::map<std::uint32_t, LldpNeighbour> by_index;
  std::optional<Error> failed;
};

// Everything that must be read inside the namespace.
struct Inside {
  HostState state;
  std::map<std::uint32_t, ethtool::NicFacts> nics;
  std::optional<Error> nics_unread;
  std::vector<devlink::DeviceFacts> devlink;
  std::optional<Error> devlink_unread;
};
Result<Inside> read_inside(const DiscoverTarget& target, const Call& call, Heard& heard) {
  Inside out;
  HostWanted wanted;
  wanted.network = Wanted{.addresses = true, .routes = false, .rules = false};
  wanted.queueing = false;
  TRY(out.state, read_host(wanted, {}, call));
  auto nics = ethtool::read_nics(out.state.network.links, call);
  if (nics)
    out.nics = *std::move(nics);
  else
    out.nics_unread = nics.error();
  auto devlink = devlink::read_inventory(HostFiles(target.root), call);
  if (devlink)
    out.devlink = *std::move(devlink);
  else
    out.devlink_unread = devlink.error();
  if (target.listen.count() == 0 || !target.lldpd_socket.empty()) return out;
  Call bounded = call;
  bounded.deadline = std::min(call.deadline, std::chrono::steady_clock::now() + target.listen);
  auto listener = LldpListener::open(call);
  if (!listener) {
    heard.failed = listener.error();
    return out;
  }
  auto neighbours = listener->listen(bounded);
  if (!neighbours) return neighbours.error();
  heard.by_index = *std::move(neighbours);
  return out;
}

DiscoveredPort port_of(const Link& link, const Inside& inside, const HostFiles& files) {
  DiscoveredPort out;
  out.name = link.name;
  out.kind = link.kind;
  out.driver = link.kind;
  out.hardware_address = hardware_address_text(link.hardware_address);
  out.mtu = link.mtu;
  out.admin_up = link.admin_up;
  out.carrier = link.carrier;
  out.loopback = link.loopback;
  if (const auto nic = inside.nics.find(link.index); nic != inside.nics.end()) out.nic = nic->second;
  if (link.parent_bus == "pci") {
    out.pci = read_pci_function(files, link.parent_device);
    if (out.pci) {
      out.driver = out.pci->driver;
      out.rdma_devices = out.pci->rdma_devices;
    }
  }
  for (const InterfaceAddress& one : inside.state.network.addresses)
    if (one.index == link.index && !is_link_local(one.prefix.address) && !is_loopback(one.prefix.address))
      out.addresses.push_back(one.prefix.text());
  return out;
}

std::string name_of(const PciFunction& nic, const std::vector<DiscoveredPort>& ports) {
  for (const DiscoveredPort& port : ports)
    if (port.pci && port.pci->address == nic.address) return port.name;
  return nic.address;
}

std::uint32_t path_mtu(const rdma::PortFacts& port, const std::vector<DiscoveredPort>& ports) {
  if (port.link_layer != "Ethernet") return 0;
  for (const DiscoveredPort& one : ports)
    if (one.name == port.netdev) return roce_mtu(one.mtu);
  return 0;
}

void add_rdma(const HostFiles& files, const Call& call, DiscoveredHost& out) {
  auto devices = rdma::read_rdma(files, call);
  if (!devices) {
    // A kernel without RDMA has no devices, which needs no note.
    if (devices.error().kind != ErrorKind::unsupported)
      out.notes.push_back("RDMA: " + devices.error().text());
    return;
  }
  for (rdma::DeviceFacts& facts : *devices) {
    DiscoveredRdma one;
    for (const rdma::PortFacts& port : facts.ports) {
      one.ports.push_back({rdma::read_gids(files, facts.name, port.number), path_mtu(port, out.ports)});
      for (DiscoveredPort& netdev : out.ports)
        if (netdev.name == port.netdev &&
            std::ranges::find(netdev.rdma_devices, facts.name) == netdev.rdma_devices.end())
          netdev.rdma_devices.push_back(facts.name);
    }
    one.facts = std::move(facts);
    out.rdma.push_back(std::move(one));
  }
}

void add_machine(const DiscoverTarget& target, const HostFiles& files, const Call& call,
                 DiscoveredHost& out) {
  Nvml nvml(target.root, target.nvml_library);
  HostGpus gpus = read_gpus(files, read_pci(files), nvml, call);
  if (gpus.nvml_missing) out.notes.push_back("GPUs: " + gpus.nvml_missing->text());
  for (HostGpu& gpu : gpus.all) {
    DiscoveredGpu one;
    for (const PciFunction& nic : gpus.nics)
      one.nics.emplace_back(name_of(nic, out.ports), distance_between(gpu.pci, nic));
    one.gpu = std::move(gpu);
    out.gpus.push_back(std::move(one));
  }
  add_rdma(files, call, out);
  LinuxTarget settings;
  settings.netns_path = target.netns_path;
  settings.root = target.root;
  settings.nvml_library = target.nvml_library;
  out.settings = host_facts(settings, call);
}

}  // namespace

Result<DiscoveredHost> discover_host(const DiscoverTarget& target, const Call& call) {
  std::optional<Result<Inside>> inside;
  Heard heard;
  TRY_DONE(in_namespace(target.netns_path, [&] { inside.emplace(read_inside(target, call, heard)); }));
  if (!*inside) return inside->error();
  DiscoveredHost out;
  const HostFiles files(target.root);
  if ((*inside)->nics_unread)
    out.notes.push_back("link modes, rings, modules: " + (*inside)->nics_unread->text());
  out.devlink = std::move((*inside)->devlink);
  if ((*inside)->devlink_unread) out.notes.push_back("devlink: " + (*inside)->devlink_unread->text());
  std::map<std::string, LldpNeighbour> by_name;
  if (!target.lldpd_socket.empty()) {
    LldpdAnswer asked = read_lldpd(target.lldpd_socket, call);
    by_name = std::move(asked.heard);
    if (asked.why) out.notes.push_back("neighbors: " + asked.why->text());
  }
  if (heard.failed) out.notes.push_back("neighbors: " + heard.failed->text());
  for (const Link& link : (*inside)->state.network.links) {
    DiscoveredPort port = port_of(link, **inside, files);
    if (const auto one = heard.by_index.find(link.index); one != heard.by_index.end())
      port.peer = one->second.text();
    if (const auto one = by_name.find(link.name); one != by_name.end()) port.peer = one->second.text();
    out.ports.push_back(std::move(port));
  }
  // A namespace of this machine does not own the machine's devices.
  if (target.netns_path.empty() || target.root != "/") add_machine(target, files, call, out);
  return out;
}

}  // namespace lockstep
