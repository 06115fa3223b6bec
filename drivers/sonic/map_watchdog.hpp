// SONiC's watchdog can't tell a storm sooner than it looks: detection_time and restoration_time of a port are
// not below POLL_INTERVAL of PFC_WD|GLOBAL (sonic-pfcwd.yang). Where that row is missing, the models say
// nothing.
//
// Promises: after refuse_fast_watchdogs() no change of `changes` has broken this rule: those that would have
// are undone, and their outcomes say so. Rows that broke it before, and are not changed, stay.
#pragma once

#include "drivers/sonic/map.hpp"

namespace lockstep::sonic {

void refuse_fast_watchdogs(const ConfigDb& before, const ChangeSet& changes, Edited& edited);

}  // namespace lockstep::sonic
