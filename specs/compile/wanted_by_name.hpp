// The leaves that an intent names of kinds of which a device has too many to read them all: kernel
// parameters, packages, services, offloads. A driver is told of them when it is made.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "specs/model/intent.hpp"

namespace lockstep {

std::vector<Path> wanted_by_name(const Intent& intent);

// The ports that it wants something of.
std::set<std::string> wanted_ports(const Intent& intent);

}  // namespace lockstep
