// What a journal remembers of transactions: all that the attempts of one may have left, and which were
// settled: what comes late for those is refused.
#pragma once

#include <chrono>
#include <string>

#include "reconciler/agent/journal.hpp"

namespace lockstep::agent {

// Adds changes that are not in it yet.
void add_changes(ChangeSet& all, const ChangeSet& more);

// Whether an attempt may still come for it. After a restart of the machine, whose time begins anew, no
// connection is left on which one could. `now`: CLOCK_BOOTTIME.
bool may_be_repeated(const SettledTransaction& one, std::chrono::nanoseconds now);
// Forgets those that need not be remembered any more.
void add_settled(JournalState& state, const std::string& transaction, Settlement settlement,
                 std::chrono::nanoseconds now);
// "transaction e3-c1-s2 was kept".
std::string how_settled(const SettledTransaction& one);

}  // namespace lockstep::agent
