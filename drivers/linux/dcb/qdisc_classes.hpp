// The traffic classes of a switch's port as its root `ets` qdisc, which the switch takes over (offloads):
// 802.1Qaz's ETS on one side, tc-ets(8)'s bands on the other. No I/O.
//
// The band of a class is 7 - its number (mlxsw/spectrum_qdisc.c: MLXSW_SP_PRIO_BAND_TO_TCLASS). A switch
// makes percent of quanta, from the first band on and rounded down in sum (sch_ets.c: ets_offload_change).
//
// Promises: ets_of() what root_ets_for() makes is that ETS, as far as classes have priorities; the switch's
// percent are the shares. Refuses a class with a share above a strict one: bands are strict from the first
// on.
#pragma once

#include "drivers/linux/dcb/dcbnl.hpp"
#include "drivers/linux/queueing/class_qdiscs.hpp"
#include "specs/model/result.hpp"

namespace lockstep::dcb {

Result<EtsParameters> root_ets_for(const ieee_ets& ets);
// `have`: what dcbnl says, for all that a qdisc does not.
ieee_ets ets_of(const EtsParameters& root, const ieee_ets& have);

}  // namespace lockstep::dcb
