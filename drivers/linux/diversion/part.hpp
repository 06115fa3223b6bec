// Diversions: whether the kernel does with the pools' traffic what the specs' routes and rules say, or what
// somebody else's routes, rules, addresses and neighbours say (culprits.hpp). Read for the pools that the
// scope names, on the ports that it names.
//
// Promises: a pool without culprits reads as an empty list, and what only one of two readings shows is none;
// nothing is written but by the remedy, which removes the routes that its effect names, as far as they are of
// the main table, inside the pool and of the protocols boot and static, on switches only (what is transit
// there). Refuses to remove anything else: it is named, and requires manual action.
#pragma once

#include <memory>

#include "drivers/linux/part.hpp"

namespace lockstep {

std::unique_ptr<LinuxPart> make_diversion_part(const LinuxTarget& target);

}  // namespace lockstep
