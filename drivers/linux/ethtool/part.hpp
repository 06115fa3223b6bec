// The part of the linux driver for settings made through ethtool: link speed and autonegotiation, FEC, rings,
// channels, coalescing and offloads.
//
// Promises: offloads that the scope names are looked for on every port, in addition to the usual ones; for
// each kind that is in scope all ports are read in one dump, or one by one if a port fails the dump, so that
// the error is reported for that port only; changes of one kind of a port go into one request and are read
// back: a number that the port rounds, or a change that it acknowledged and did not make, is an error with
// the value that it adopted. Entries of one commit unit succeed or fail together. Refuses: what map.hpp
// refuses.
#pragma once

#include <memory>
#include <vector>

#include "drivers/linux/part.hpp"

namespace lockstep {

std::unique_ptr<LinuxPart> make_ethtool_part();

}  // namespace lockstep
