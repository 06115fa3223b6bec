// roll_back: makes a transaction's undo on the device, as far as it is to be made. Part of dead_man.cpp.
//
// Contract: the changes are made in their order, each only where its `was` holds right before it; a number
// that a device rounds (Compare::quantised) still holds when rounded. Only neighbours that are never split (a
// commit unit), or are of one row, are given to the driver together: a driver may reorder within an apply,
// and the order of the rest was planned. What is restored already is not touched again: a guard (a port shut
// down for a change) is set only if something is still to be restored. An entry that can't be read, or does
// not show the change afterwards, is left. A row that shows a write only after a restart is written wherever
// no other value than the transaction's shows. A driver that orders changes itself (Traits::orders_itself)
// gets all that are due together, and else as the others do.
#pragma once

#include <set>
#include <string>

#include "drivers/driver.hpp"
#include "reconciler/agent/journal.hpp"

namespace lockstep::agent {

struct RolledBack {
  ChangeSet left;   // could not be rolled back; none: all is as it was
  std::string why;  // of the first of them
};

// What an apply that ended half-way may have left on its way, and then the undo.
ChangeSet all_undone(const ArmedTransaction& armed);

// `doubtful`: entries of which an earlier try left neither value, by a write that failed; they are this
// transaction's still. Kept between tries.
RolledBack roll_back(Driver& driver, const ChangeSet& undo, const Guard& guard, const Call& call,
                     std::set<Path>& doubtful);

}  // namespace lockstep::agent
