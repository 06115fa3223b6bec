// The network state of ports that are about to be recreated: MTU, whether they are up, addresses, and
// lockstep's own routes over them; the kernel drops all of it with the port.
//
// Promises: read in the calling thread's namespace; restored by port name, each item regardless of the
// others. Addresses that the kernel assigns itself (link-local ones) are left to it, those with a lifetime to
// the source that renews them (router advertisements, DHCP), and foreign routes to their owners. Not kept:
// queueing, offloads, membership of bonds and bridges; where those are desired they differ afterwards, and
// the next apply restores them. Refuses what the kernel refuses, with the kernel's message.
#pragma once

#include <string>
#include <vector>

#include "drivers/linux/session.hpp"

namespace lockstep::devlink_map {

class PortNetwork {
 public:
  static Result<PortNetwork> of(const std::vector<std::string>& ports, const Call& call);
  Result<Done> put_back(const Call& call) const;

 private:
  struct Port {
    std::string name;
    std::uint32_t mtu = 0;
    bool up = false;
    std::vector<IpPrefix> addresses;
  };
  struct OwnRoute {
    std::uint32_t table = 0;
    IpPrefix destination;
    std::vector<Session::Hop> hops;
  };
  std::vector<Port> ports_;
  std::vector<OwnRoute> routes_;
};

}  // namespace lockstep::devlink_map
