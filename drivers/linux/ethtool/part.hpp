// The part of the linux driver for what ethtool sets of a port: link speed and autonegotiation, FEC, rings,
// channels, coalescing and offloads.
//
// Promises: offloads that the scope names are looked for in every port, beside the usual ones; of each kind
// that is wanted all ports are read in one dump, or one by one where a port fails the dump, which is then
// told of that port alone; what is set of one kind of a port goes in one request, and is read back: a number
// that the port rounds, or a change that it acknowledged and did not make, is an error that says what it
// took. Entries of one commit unit fare alike. Refuses: what map.hpp does.
#pragma once

#include <memory>
#include <vector>

#include "drivers/linux/part.hpp"

namespace lockstep {

std::unique_ptr<LinuxPart> make_ethtool_part();

}  // namespace lockstep
