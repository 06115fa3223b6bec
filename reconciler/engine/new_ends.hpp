// New ends: ports of hosts that a change brings into being. No pair could end there before it, so that
// nothing that was right is broken there, and what is broken there is no reason to take the others back.
//
// Promises: pure; a port is new where the change gives it all addresses that are wanted of it, and none of
// them was written by an earlier change: what was there once and is mended is not new. A figure that holds is
// never forgotten, nor one of traffic that flowed: as where a port gets the addresses of another pool.
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

// Whether an effect of a device may be there by those ends alone: it is one of such a host, or at a port at
// the other end of its cable (of a route, by that port and no other).
bool comes_with(const NewEnds& ends, const Fleet& fleet, const std::string& device, Path effect);

// Of pairs that are not there without those ends: SloState::none.
void forget_pairs(std::vector<GateFigure>& figures, const NewEnds& ends, const Measurer& measurer);

// Hosts at which all of `broken` end: those with the most of them, and of these the ones at which the fewest
// others of `judged` hold, until all are covered. What ends at none of them is left out.
std::set<std::string> hosts_to_blame(const std::set<std::string>& broken,
                                     const std::map<std::string, Judged>& judged, const NewEnds& ends,
                                     const Measurer& measurer);

}  // namespace lockstep
