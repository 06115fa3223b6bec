// New ends: ports of hosts that a change brings into service. No pair could end there before, so the change
// can't have broken one there, and a broken pair there is no reason to roll back the others.
//
// Promises: pure; a port is new if the change gives it all its desired addresses, and no earlier change wrote
// any of them: a repaired port is not new. A figure that holds is never forgotten, nor one of traffic that
// flowed, for example at a port that gets the addresses of another pool.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "reconciler/engine/apply.hpp"

namespace lockstep {

// By host: the cables at those ports.
using NewEnds = std::map<std::string, BlastRadius>;
NewEnds new_ends(const std::vector<Step>& steps, const Fleet& fleet, const WasWritten& was_written = {});

// Whether an effect of a device may exist only because of those ends: it belongs to such a host, or to a port
// at the other end of its cable (a route: through that port and no other).
bool comes_with(const NewEnds& ends, const Fleet& fleet, const std::string& device, Path effect);

// Sets figures of pairs that don't exist without those ends to SloState::none.
void forget_pairs(std::vector<GateFigure>& figures, const NewEnds& ends, const Measurer& measurer);

// Hosts at which all of `broken` end: the hosts with most of them, and among these the ones at which the
// fewest subjects of `judged` hold, until all are covered. Subjects that end at none of the hosts are left
// out.
std::set<std::string> hosts_to_blame(const std::set<std::string>& broken,
                                     const std::map<std::string, Judged>& judged, const NewEnds& ends,
                                     const Measurer& measurer);

}  // namespace lockstep
