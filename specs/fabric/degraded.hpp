// Cyclic buffer dependency after failures: whether the lossless paths that BGP falls back to can wait for
// each other in a cycle. A Clos in which every path goes up and then down is safe while everything is up;
// once links are down, paths that go up a second time (through a leaf as transit) can close a cycle (Hu et
// al., Tagger, CoNEXT 2017, section 3; Hu et al., Deadlocks in datacenter networks, HotNets 2016).
//
// Fallback paths: of the paths that a switch's neighbours announce and that do not contain its own AS number
// (RFC 4271 9.1.2), the shortest, all of them (ECMP).
//
// Promises, in this order:
// 1. If no switch has two different neighbours in its own tier or above that could announce each other's
//    routes through it (with a shared AS number they can't), no path ever goes up a second time: proved for
//    any number of failed links and switches, in time linear in the links (`any_failures`).
// 2. Otherwise the whole fabric, each failed cable and each pair of failed cables are tried, up to symmetry:
//    switches of one tier with the same neighbours (and one AS number, or each its own) are interchangeable,
//    and so are pods (every leaf cabled to every spine, all with AS numbers of their own) below the same
//    superspines. Four of each kind stand for all, and one of each set of equivalent failures is tried.
//    Parallel cables between two switches fail together.
// 3. `complete` is false if more than a fixed amount of work would be needed: what was not tried is not
//    proved. A returned cycle always exists in the fabric itself, with the cables that must fail.
// Not covered: three or more failed links and failed switches, unless 1. holds; transient states while BGP
// converges; which of several equally short paths is announced where they contain different shared AS numbers
// (a neighbour counts as reachable by any of them).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "specs/fabric/topology.hpp"

namespace lockstep {

struct DegradedCircle {
  std::vector<DeviceIndex> devices;  // a cycle of switches; empty: none was found
  std::vector<LinkIndex> failed;     // the failed cables
  bool any_failures = false;         // proved for any number of failures
  bool complete = true;              // everything promised was tried
  std::uint64_t tried = 0;           // sets of failures
};

// `shared_asn`: by device, the AS number that it shares with others; 0: it has one of its own.
DegradedCircle find_degraded_circle(const Topology& topology, FabricIndex fabric,
                                    std::span<const std::uint32_t> shared_asn);

}  // namespace lockstep
