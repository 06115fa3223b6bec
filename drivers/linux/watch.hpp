// A watch on one network namespace: links, addresses, routes, rules, next hops, neighbours that stay, qdiscs,
// DCB, what ethtool and devlink tell (where the kernel has them; ethtool netlink since 5.6) and the interface
// parameters that have notifications, by netlink multicast.
//
// Promises: descriptor() is readable once something may have changed; drain() never blocks, and names the
// device, or says "all" after an overrun of a socket's buffer. A namespace that was removed, or replaced
// under its name (as names of ip-netns(8) are: by a mount), makes it readable, and drain() an error: it is
// to be opened again. What it can't see: sysctls other than those of RTNLGRP_IPV4_NETCONF and
// RTNLGRP_IPV6_NETCONF (forwarding, rp_filter, proxy_arp, ignore_routes_with_linkdown), found at the next
// full observation. Of neighbours it tells what stays (NUD_PERMANENT) and what a program does to any: what
// ARP and ND do by themselves wakes nobody, and no entry is made of it.
#pragma once

#include <memory>
#include <string>

#include "drivers/driver.hpp"

namespace lockstep {

// `device`: the name that the namespace goes by.
Result<std::shared_ptr<Watcher>> watch_namespace(const std::string& netns_path, const std::string& device);

}  // namespace lockstep
