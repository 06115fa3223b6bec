// Diversions: whether the kernel does with the pools' traffic what the specs' routes and rules say, or what
// somebody else's routes, rules, addresses and neighbours say (culprits.hpp). Read for the pools that the
// scope names, on the ports that it names.
//
// Promises: a pool without culprits reads as an empty list; nothing is written but by the remedy, which
// removes routes of the main table inside a pool that are of the protocols boot and static, on switches only
// (what is transit there). Refuses to remove anything else: it is named, and requires manual action.
#pragma once

#include <memory>

#include "drivers/linux/part.hpp"

namespace lockstep {

std::unique_ptr<LinuxPart> make_diversion_part(const LinuxTarget& target);

}  // namespace lockstep
