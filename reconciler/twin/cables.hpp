// Cables: veth pairs created directly in two namespaces, many in one send (rtnetlink).
//
// Promises: both ends are DOWN, with the default MTU, no address, the port's name (or its short form with the
// full name as altname), segmentation offload as the cable requires. Accepts everything that validate()
// passed; an error names the cable.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "reconciler/twin/layout.hpp"
#include "reconciler/twin/namespace.hpp"

namespace lockstep {

struct CableEnds {
  const TwinCable* cable = nullptr;
  const MadeNetns* a = nullptr;
  const MadeNetns* b = nullptr;
};

// `done` is called with the number of cables made so far; if it returns false, wire() is cancelled.
Result<Done> wire(std::span<const CableEnds> wirings, const std::function<bool(std::size_t)>& done);

// Deletes the interfaces at both ends, if any.
Result<Done> unwire(const std::string& cluster, const TwinCable& cable);

// The existing part of a running twin: without devices that can't be entered, and without cables that have
// lost an end, and with it the other (veth(4)).
TwinLayout standing(const TwinLayout& layout);
// The cables of the layout that are missing ("cable gpu1:rail0 -- leaf0:swp1").
std::vector<std::string> lost_cables(const TwinLayout& layout);

// TSO, GSO and GRO of one interface, by the ethtool ioctl (SIOCETHTOOL, linux/ethtool.h). `socket`: any
// socket in the interface's namespace.
Result<Done> set_segmentation_offload(int socket, const std::string& interface, bool on);
// True if any of the three is on.
Result<bool> segmentation_offload(int socket, const std::string& interface);

}  // namespace lockstep
