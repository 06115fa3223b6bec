// What ports that are about to be made anew have of the network: MTU, whether they are up, addresses, and our
// own routes over them; the kernel drops all of it with the port.
//
// Promises: read in the calling thread's namespace; put back by name, each thing that can be whatever became
// of the others. Addresses that the kernel makes itself (link-local ones) are left to it, those with a
// lifetime to whoever renews it (a router's advertisements, DHCP); routes of others are theirs. Not kept:
// queueing, offloads, membership of bonds and bridges; what of it is wanted differs from then on, and the
// next apply sees to it. Refuses what the kernel refuses, with its words.
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
