// A session inside one network namespace: the changes that can be made there, one function each.
//
// Promises: each change is acknowledged by the kernel before the function returns; a change that is already
// in effect succeeds; only the named object is touched (routes and rules of another protocol never are). A
// lost acknowledgement is unknown_outcome. Used in the thread that entered the namespace. Refuses what the
// kernel refuses, with the kernel's message.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/linux/ethtool/ethtool.hpp"
#include "drivers/linux/host_state.hpp"

namespace lockstep {

// The routing protocol number that distinguishes Lockstep's routes and rules from all others. Unassigned in
// linux/rtnetlink.h and in iproute2's rt_protos; 'L'.
inline constexpr std::uint8_t kOwnProtocol = 0x4C;

class Session {
 public:
  static Result<Session> open(const Call& call);

  Result<Done> set_admin(std::string_view port, bool up);
  Result<Done> set_mtu(std::string_view port, std::uint32_t mtu);
  Result<Done> add_address(std::string_view port, const IpPrefix& prefix);
  Result<Done> remove_address(std::string_view port, const IpPrefix& prefix);

  // Writes the same route that the kernel creates with an address.
  Result<Done> add_connected_route(std::string_view port, const IpPrefix& address);

  // A requested next hop, with its port by name.
  struct Hop {
    std::optional<IpAddress> via;
    std::string port;
  };
  // A locked MTU is kept; other attributes from another writer, and routes added beside it under our protocol
  // (with another metric or TOS), are removed.
  Result<Done> set_route(std::uint32_t table, const IpPrefix& destination, const std::vector<Hop>& hops);
  Result<Done> remove_route(std::uint32_t table, const IpPrefix& destination);
  // Locks all of our routes to the pool to this MTU (route_mtu.hpp); none: to the MTU of each route's port.
  // If the kernel refuses one, the previous ones are restored; if its answer is lost, some are locked, and
  // the next observation shows which.
  Result<Done> lock_routes(const IpPrefix& pool, std::optional<std::uint32_t> mtu);
  // The one rule of ours at this priority; none: there must be none.
  struct RuleWanted {
    IpPrefix from;
    std::uint32_t table = 0;
  };
  Result<Done> set_rule(std::uint32_t priority, const std::optional<RuleWanted>& wanted);

  Result<PortScheduler> scheduler(std::string_view port);
  // `tx_queues`: the port's, if mqprio implements its classes.
  Result<Done> set_scheduler(std::string_view port, const PortScheduler& wanted, Carrier carrier,
                             unsigned tx_queues = 0);

  // Bytes; none: no marking. The clsact qdisc that holds the marker is left in place.
  Result<Done> set_ecn_threshold(std::string_view port, std::optional<std::uint64_t> threshold);

  Result<std::uint32_t> index_of(std::string_view port);
  const std::vector<Link>& links() const { return links_; }

 private:
  Session(netlink::Socket socket, const Call& call) : socket_(std::move(socket)), call_(call) {}
  Result<Done> acknowledged(netlink::Request& request, std::string_view what, int harmless);
  Result<std::vector<Route>> routes_to(std::uint32_t table, const IpPrefix& destination);
  Result<Done> replace_route(Route wanted);
  Result<Done> remove_own(const std::vector<Route>& routes);
  Result<PortQueueing> queueing(std::uint32_t index);
  Result<std::uint64_t> port_speed(std::uint32_t index);

  netlink::Socket socket_;
  std::optional<Ethtool> ethtool_;
  std::vector<Link> links_;
  Call call_;
};

}  // namespace lockstep
