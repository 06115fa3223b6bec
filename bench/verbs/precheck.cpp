#include "bench/verbs/precheck.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/verbs/exchange.hpp"
#include "bench/verbs/transfer.hpp"
#include "specs/model/roce_mtu.hpp"

namespace lockstep::bench::verbs {
namespace {

constexpr std::uint32_t udp_bytes = 8;
constexpr std::uint32_t bth_bytes = 12;
constexpr std::uint32_t reth_bytes = 16;
constexpr std::uint32_t icrc_bytes = 4;

std::optional<Finding> check_netdev(const Facts& facts) {
  if (facts.netdev.empty())
    return Finding{Obstacle::netdev, "no interface here has the address " + facts.address};
  if (!facts.up) return Finding{Obstacle::netdev, facts.netdev + " is down"};
  if (!facts.carrier) return Finding{Obstacle::netdev, facts.netdev + " has no carrier"};
  return std::nullopt;
}

const RdmaPort* port_of(const Facts& facts, const GidChoice& gid) {
  for (const RdmaDevice& device : facts.devices)
    if (device.name == gid.device)
      for (const RdmaPort& port : device.ports)
        if (port.facts.number == gid.port) return &port;
  return nullptr;
}

// Devices that have any GID on this interface.
std::string devices_on(const Facts& facts) {
  for (const RdmaDevice& device : facts.devices)
    for (const RdmaPort& port : device.ports)
      for (const rdma::Gid& gid : port.gids)
        if (gid.netdev == facts.netdev) return device.name;
  return {};
}

std::string names_of(const std::vector<RdmaDevice>& devices) {
  std::string out;
  for (const RdmaDevice& one : devices) out += (out.empty() ? "" : ", ") + one.name;
  return out;
}

void check_device(const Facts& facts, std::vector<Finding>& out) {
  if (facts.devices.empty()) {
    out.push_back(
        {Obstacle::device, "there is no RDMA device on this machine: none in /sys/class/infiniband"});
    return;
  }
  const auto gid = choose_gid(facts.devices, facts.address, facts.wanted_device);
  if (!gid) {
    const std::string at = facts.netdev.empty() ? std::string{} : devices_on(facts);
    if (!facts.netdev.empty() && at.empty())
      out.push_back({Obstacle::device,
                     facts.netdev + " has no RDMA device (there are: " + names_of(facts.devices) + ")"});
    out.push_back({Obstacle::gid, gid.error().text()});
    return;
  }
  const RdmaPort* const port = port_of(facts, *gid);
  if (port != nullptr && port->facts.state != "ACTIVE")
    out.push_back(
        {Obstacle::port, gid->device + " port " + std::to_string(gid->port) + " is " + port->facts.state});
  if (!facts.cannot_open.empty()) out.push_back({Obstacle::access, facts.cannot_open});
}

void check_mtu(const Facts& facts, const Workload& workload, std::vector<Finding>& out) {
  if (facts.netdev_mtu == 0) return;
  const std::uint32_t active = roce_mtu(facts.netdev_mtu);
  const std::string here = facts.netdev + "'s MTU of " + std::to_string(facts.netdev_mtu);
  if (active == 0)
    out.push_back({Obstacle::mtu, here + " is too small for any RDMA packet"});
  else if (workload.path_mtu > active)
    out.push_back({Obstacle::mtu, here + " gives an RDMA MTU of " + std::to_string(active) + ", below the " +
                                      std::to_string(workload.path_mtu) + " asked for"});
  else if (workload.path_mtu == 0 && active < 4096)
    out.push_back(
        {Obstacle::mtu, here + " gives an RDMA MTU of " + std::to_string(active) + ", below 4096", false});
  if (workload.service == Service::datagram && active != 0 && workload.bytes > active)
    out.push_back({Obstacle::mtu, "a UD message of " + std::to_string(workload.bytes) +
                                      " bytes does not fit the RDMA MTU of " + std::to_string(active)});
}

void check_way(const Facts& facts, std::vector<Finding>& out) {
  if (facts.peer.empty()) return;
  if (!facts.no_route.empty()) {
    out.push_back(
        {Obstacle::route, "no route from " + facts.netdev + " to " + facts.peer + ": " + facts.no_route});
    return;
  }
  if (!facts.leaves_by.empty() && facts.leaves_by != facts.netdev)
    out.push_back({Obstacle::route,
                   "packets to " + facts.peer + " leave by " + facts.leaves_by + ", not by " + facts.netdev});
  if (facts.neighbour == "failed" || facts.neighbour == "incomplete")
    out.push_back({Obstacle::neighbour, facts.next_hop + " does not answer on " + facts.netdev +
                                            " (neighbor " + facts.neighbour +
                                            "): it is off, or in another VLAN"});
}

}  // namespace

std::vector<Finding> precheck(const Facts& facts, const Workload& workload) {
  std::vector<Finding> out;
  if (auto finding = check_netdev(facts)) out.push_back(*std::move(finding));
  check_device(facts, out);
  if (!facts.netdev.empty()) {
    check_mtu(facts, workload, out);
    check_way(facts, out);
  }
  const std::uint64_t needed = layout_of(workload).bytes();
  if (needed > facts.memlock)
    out.push_back({Obstacle::memlock, "this process may lock " + std::to_string(facts.memlock) +
                                          " bytes of memory (RLIMIT_MEMLOCK), the workload needs " +
                                          std::to_string(needed) +
                                          ": raise the limit, or give CAP_IPC_LOCK"});
  return out;
}

std::uint32_t packet_bytes(std::uint32_t path_mtu, bool v6) {
  return path_mtu + (v6 ? 40 : 20) + udp_bytes + bth_bytes + reth_bytes + icrc_bytes;
}

Result<std::uint32_t> path_mtu_of(std::uint32_t own, std::uint32_t far, const Workload& workload) {
  const std::uint32_t least = std::min(own, far);
  if (workload.path_mtu > least)
    return Error{ErrorKind::unsupported, "the ports' active MTUs are " + std::to_string(own) + " and " +
                                             std::to_string(far) + ", below the path MTU of " +
                                             std::to_string(workload.path_mtu) + " asked for"};
  return workload.path_mtu != 0 ? workload.path_mtu : least;
}

bool blocked(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& one) { return one.blocks; });
}

Json to_json(const std::vector<Finding>& findings, const std::string& end) {
  Json out = Json::array();
  for (const Finding& one : findings)
    out.push_back({{"end", end}, {"what", word(one.what)}, {"text", one.text}, {"blocks", one.blocks}});
  return out;
}

}  // namespace lockstep::bench::verbs
