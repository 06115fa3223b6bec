// Cables: veth pairs made straight into two namespaces, many in one send (rtnetlink).
//
// Promises: both ends are DOWN, with the default MTU, no address, the port's name (or its short form with the
// full name as altname), segmentation offload as the cable says. Refuses nothing that validate() passed; a
// failure names the cable.
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

// `done` is called with the number of cables made so far; false from it cancels.
Result<Done> wire(std::span<const CableEnds> wirings, const std::function<bool(std::size_t)>& done);

// Takes away what is at both ends, if anything is.
Result<Done> unwire(const std::string& cluster, const TwinCable& cable);

// What is there of a twin that is up: without the devices that can't be entered, and without the cables that
// have lost an end, and with it the other (veth(4)).
TwinLayout standing(const TwinLayout& layout);
// The cables that this lacks ("cable gpu1:rail0 -- leaf0:swp1").
std::vector<std::string> lost_cables(const TwinLayout& layout);

// TSO, GSO and GRO of one interface, by the ethtool ioctl (SIOCETHTOOL, linux/ethtool.h). `socket`: any of
// the interface's namespace.
Result<Done> set_segmentation_offload(int socket, const std::string& interface, bool on);
// True if any of the three is on.
Result<bool> segmentation_offload(int socket, const std::string& interface);

}  // namespace lockstep
