// SONiC's watchdog can't tell a storm sooner than it looks: detection_time and restoration_time of a port are
// not below POLL_INTERVAL of PFC_WD|GLOBAL (sonic-pfcwd.yang), and each has its range. Where that row is
// missing, the models say nothing.
//
// Promises: after refuse_watchdog_times() no change of `changes` has broken these rules: those that would
// have are undone, and their outcomes say so. Rows that broke them before, and are not changed, stay.
#pragma once

#include "drivers/sonic/map.hpp"

namespace lockstep::sonic {

// Where nothing is set, the interval is orchagent's own (sonic-swss e6b0c5b5, orchagent/orchdaemon.cpp,
// PFC_WD_POLL_MSECS): so undoing the first change writes that, and takes nothing away.
void add_usual_interval(const ConfigDb& config, const Scope& scope, TreeBuilder& tree);

void refuse_watchdog_times(const ConfigDb& before, const ChangeSet& changes, Edited& edited);

}  // namespace lockstep::sonic
