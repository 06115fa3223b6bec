// A watch on one network namespace: links, addresses, routes, rules, next hops, permanent neighbours, qdiscs,
// DCB, ethtool and devlink state (if the kernel supports them; ethtool netlink since 5.6) and the interface
// parameters that have notifications, by netlink multicast.
//
// Promises: descriptor() is readable once something may have changed; drain() never blocks, and names the
// device, or returns "all" after an overrun of a socket's buffer. If a namespace is removed, or replaced
// under its name (ip-netns(8) names are mounts), the descriptor becomes readable and drain() an error: the
// watch has to be reopened. Not covered: sysctls other than those of RTNLGRP_IPV4_NETCONF and
// RTNLGRP_IPV6_NETCONF (forwarding, rp_filter, proxy_arp, ignore_routes_with_linkdown), found at the next
// full observation. Neighbour events are reported for permanent entries (NUD_PERMANENT) and for any change
// made by a program: changes made by ARP and ND themselves wake nothing, and are not entries.
#pragma once

#include <memory>
#include <string>

#include "drivers/driver.hpp"

namespace lockstep {

// `device`: the name of the namespace's device.
Result<std::shared_ptr<Watcher>> watch_namespace(const std::string& netns_path, const std::string& device);

}  // namespace lockstep
