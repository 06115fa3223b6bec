// The leaves that an intent names of kinds of which a device has too many to read them all: kernel
// parameters, packages, services, offloads. A driver is told of them when it is made.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "specs/model/intent.hpp"

namespace lockstep {

std::vector<Path> wanted_by_name(const Intent& intent);

// The ports that it wants something of, each with what it wants elsewhere that can't be without the port: a
// route by it, a kernel parameter of it.
std::map<std::string, std::vector<Path>> wanted_ports(const Intent& intent);

}  // namespace lockstep
