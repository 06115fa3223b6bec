// What an intent names for drivers to look for (Scope::named).
#pragma once

#include <vector>

#include "specs/model/intent.hpp"

namespace lockstep {

// Rows of which a device has too many entries to read them all: kernel parameters, packages, services,
// offloads.
bool is_read_by_name(RowId row);

// The entries of such rows that the intent names, the ports that it wants something of, as interface[NAME],
// and the routes that it wants, as fib[PREFIX], where what diverts them is looked for.
std::vector<Path> wanted_by_name(const Intent& intent);

// The ports that an entry elsewhere can't be without: those of a route's next hops, that of a kernel
// parameter of one. What is no port may be among them ("all" of net.ipv4.conf.all).
std::vector<Path> ports_needed(Path entry, Value want);

}  // namespace lockstep
