// Pre-check: why RDMA can't run between two endpoints, before traffic is tried.
//
// Facts are what one end reads about itself: devices and GIDs (sysfs, which may be a recorded tree), its
// interface, route, neighbour (rtnetlink) and memlock limit. precheck() derives findings from facts and the
// workload; one that `blocks` is a reason why traffic could not run, the others are for information. Each end
// checks itself; check_between() compares both.
//
// Promises: nothing is changed; the most significant reason comes first; a fact that can't be read is not
// reported as an obstacle. A neighbour that was never resolved is not judged: the path probe (path_probe.hpp)
// does that.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "bench/verbs/gid_choice.hpp"
#include "bench/verbs/workload.hpp"
#include "drivers/posix/call.hpp"

namespace lockstep::bench::verbs {

enum class Obstacle : std::uint8_t {
  netdev,
  device,
  gid,
  port,
  mtu,
  route,
  neighbour,
  memlock,
  access,
  path
};
constexpr auto words(Obstacle) {
  return std::to_array<std::string_view>(
      {"netdev", "device", "gid", "port-state", "mtu", "route", "neighbor", "memlock", "access", "path"});
}

struct Finding {
  Obstacle what = Obstacle::device;
  std::string text;
  bool blocks = true;
};

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

struct Facts {
  std::string address;
  std::string wanted_device;  // empty: any
  std::string netdev;         // that has the address; empty: none here
  bool up = true;
  bool carrier = true;
  std::uint32_t netdev_mtu = 0;  // 0: not known
  std::vector<RdmaDevice> devices;
  std::string cannot_open;            // why the device's /dev/infiniband/uverbs* can't be opened
  std::uint64_t memlock = unlimited;  // bytes that may be locked
  // Route to the other end, for a packet of the netdev.
  std::string peer;
  std::string no_route;   // the kernel's error; empty: there is a route
  std::string leaves_by;  // netdev
  std::string next_hop;   // the gateway, or the peer itself
  std::string neighbour;  // "reachable", "failed", ...; empty: never resolved
};
// `files`: for sysfs; everything else is read from this machine's kernel.
Facts read_facts(const HostFiles& files, const std::string& address, const std::string& wanted_device,
                 const std::string& peer, const Call& call);

std::vector<Finding> precheck(const Facts& facts, const Workload& workload);

// An IP packet of RoCE v2 with `path_mtu` bytes of payload: 40 of IPv6 or 20 of IPv4, 8 of UDP, 12 of BTH, 16
// of RETH, 4 of ICRC (IBA volume 1, chapter 9; annex A17).
std::uint32_t packet_bytes(std::uint32_t path_mtu, bool v6);
// From both ends' active MTUs and the one that the workload requests (0: none).
Result<std::uint32_t> path_mtu_of(std::uint32_t own, std::uint32_t far, const Workload& workload);

bool blocked(const std::vector<Finding>& findings);
Json to_json(const std::vector<Finding>& findings, const std::string& end);

}  // namespace lockstep::bench::verbs
