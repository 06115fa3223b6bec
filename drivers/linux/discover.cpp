#include "drivers/linux/discover.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "drivers/linux/host_state.hpp"
#include "drivers/linux/in_namespace.hpp"
#include "drivers/linux/lldp.hpp"

namespace lockstep {
namespace {

std::string mac_text(const std::vector<std::byte>& bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const std::byte one : bytes) {
    const auto code = std::to_integer<unsigned>(one);
    if (!out.empty()) out += ':';
    out += kDigits[code >> 4];
    out += kDigits[code & 0xF];
  }
  return out;
}

struct Heard {
  std::map<std::uint32_t, LldpNeighbour> by_index;
  std::optional<Error> failed;
};

// Everything that must be asked inside the namespace.
Result<HostState> read_inside(const DiscoverTarget& target, const Call& call, Heard& heard) {
  HostWanted wanted;
  wanted.network = Wanted{.addresses = true, .routes = false, .rules = false};
  wanted.queueing = false;
  wanted.offloads = false;
  TRY(HostState state, read_host(wanted, {}, call));
  if (target.listen.count() == 0 || !target.lldpd_socket.empty()) return state;
  Call bounded = call;
  bounded.deadline = std::min(call.deadline, std::chrono::steady_clock::now() + target.listen);
  auto listener = LldpListener::open(call);
  if (!listener) {
    heard.failed = listener.error();
    return state;
  }
  auto neighbours = listener->listen(bounded);
  if (!neighbours) return neighbours.error();
  heard.by_index = *std::move(neighbours);
  return state;
}

DiscoveredPort port_of(const Link& link, const HostState& state, const std::string& sysfs_root) {
  DiscoveredPort out;
  out.name = link.name;
  out.kind = link.kind;
  out.driver = link.kind;
  out.hardware_address = mac_text(link.hardware_address);
  out.mtu = link.mtu;
  out.admin_up = link.admin_up;
  out.carrier = link.carrier;
  out.loopback = link.loopback;
  if (const auto speed = state.speeds.find(link.index); speed != state.speeds.end())
    out.speed = speed->second;
  if (link.parent_bus == "pci") {
    out.pci = link.parent_device;
    PciFacts facts = pci_facts(sysfs_root, out.pci);
    out.driver = std::move(facts.driver);
    out.numa_node = facts.numa_node;
    out.rdma_devices = std::move(facts.rdma_devices);
  }
  for (const InterfaceAddress& one : state.network.addresses)
    if (one.index == link.index && !is_link_local(one.prefix.address) && !is_loopback(one.prefix.address))
      out.addresses.push_back(one.prefix.text());
  return out;
}

}  // namespace

Result<DiscoveredHost> discover_host(const DiscoverTarget& target, const Call& call) {
  std::optional<Result<HostState>> state;
  Heard heard;
  TRY_DONE(in_namespace(target.netns_path, [&] { state.emplace(read_inside(target, call, heard)); }));
  if (!*state) return state->error();
  DiscoveredHost out;
  if ((*state)->ethtool_unread) out.notes.push_back("speeds: " + (*state)->ethtool_unread->text());
  std::map<std::string, LldpNeighbour> by_name;
  if (!target.lldpd_socket.empty()) {
    LldpdAnswer asked = ask_lldpd(target.lldpd_socket, call);
    by_name = std::move(asked.heard);
    if (asked.why) out.notes.push_back("neighbours: " + asked.why->text());
  }
  if (heard.failed) out.notes.push_back("neighbours: " + heard.failed->text());
  for (const Link& link : (*state)->network.links) {
    DiscoveredPort port = port_of(link, **state, target.sysfs_root);
    if (const auto one = heard.by_index.find(link.index); one != heard.by_index.end())
      port.peer = one->second.text();
    if (const auto one = by_name.find(link.name); one != by_name.end()) port.peer = one->second.text();
    out.ports.push_back(std::move(port));
  }
  if (target.netns_path.empty()) {
    out.gpus = sysfs_gpus(target.sysfs_root);
    out.rdma_devices = sysfs_rdma_devices(target.sysfs_root);
  }
  return out;
}

}  // namespace lockstep
