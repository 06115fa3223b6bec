// Diversions: whether the kernel treats the pools' traffic as the specs' routes and rules require, or as
// foreign routes, rules, addresses and neighbours do (culprits.hpp). Read for the pools and ports that the
// scope names.
//
// Promises: a pool without culprits reads as an empty list, and a culprit that appears in only one of two
// readings is not reported; nothing is written except by the remedy, which removes the routes that its effect
// names, provided they are in the main table, inside the pool and of the protocols boot and static, and only
// on switches (for transit traffic). Refuses to remove anything else: it is reported, and requires manual
// action.
#pragma once

#include <memory>

#include "drivers/linux/part.hpp"

namespace lockstep {

std::unique_ptr<LinuxPart> make_diversion_part(const LinuxTarget& target);

}  // namespace lockstep
