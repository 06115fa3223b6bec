// Cyclic buffer dependency after failures: whether lossless paths that BGP falls back to can wait for each
// other in a circle. A Clos whose every path goes up and then down is safe as a whole; once links are down,
// paths that go up a second time (a leaf as transit) close a circle (Hu et al., Tagger, CoNEXT 2017, section
// 3; Hu et al., Deadlocks in datacenter networks, HotNets 2016).
//
// What BGP falls back to: of the paths that a switch's neighbours announce and that do not have its own AS
// number in them (RFC 4271 9.1.2), the shortest, all of them (ECMP).
//
// Promises, in this order:
// 1. Where no switch has two different neighbours in its own tier or above that could announce each other's
//    routes through it (of one AS number they can't), no path ever goes up a second time: proved for any
//    number of failed links and switches, in time of the links (`any_failures`).
// 2. Else the whole fabric, each failed cable and each pair of them are tried, up to symmetry: switches of
//    one tier with the same neighbours (and one AS number, or each its own) can be exchanged without a
//    difference, and so can pods (every leaf cabled to every spine, all with AS numbers of their own) that
//    hang from the same superspines. Of each kind four stand for all, and of failures that differ by such an
//    exchange one is tried. A cable beside others between the same two switches counts only where all of them
//    fail.
// 3. `complete` is false where more than a fixed amount of work would be needed: what was not tried is not
//    proved. A circle that is returned is always one of the fabric itself, with the cables that must fail.
// Not looked at: three or more failed links and failed switches, unless 1. holds; moments while BGP
// converges; which of several equally short paths is announced where they pass different shared AS numbers (a
// neighbour counts as reached by any of them).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "specs/fabric/topology.hpp"

namespace lockstep {

struct DegradedCircle {
  std::vector<DeviceIndex> devices;  // a circle of switches; empty: none was found
  std::vector<LinkIndex> failed;     // the cables that are down then
  bool any_failures = false;         // proved for any number of failures
  bool complete = true;              // all that is promised was tried
  std::uint64_t tried = 0;           // sets of failures
};

// `shared_asn`: by device, the AS number that it shares with others; 0: it has one of its own.
DegradedCircle find_degraded_circle(const Topology& topology, FabricIndex fabric,
                                    std::span<const std::uint32_t> shared_asn);

}  // namespace lockstep
