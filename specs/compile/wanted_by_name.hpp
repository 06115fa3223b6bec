// The names in an intent that drivers look up (Scope::named).
#pragma once

#include <vector>

#include "specs/model/intent.hpp"

namespace lockstep {

// Rows of which a device has too many entries to read all of them: kernel parameters, packages,
// services, offloads and others.
bool is_read_by_name(RowId row);

// The entries of such rows that the intent contains; the ports for which it sets anything, as
// interface[NAME]; and its routes, as fib[PREFIX], for which drivers look for diversions.
std::vector<Path> wanted_by_name(const Intent& intent);

// The ports that an entry outside the port rows needs: the ports of a route's next hops, the port of a kernel
// parameter. Names that are no ports may be among them ("all" of net.ipv4.conf.all).
std::vector<Path> ports_needed(Path entry, Value want);

}  // namespace lockstep
