// The traffic classes of a switch's port as its root `ets` qdisc, which the switch takes over (offloads):
// 802.1Qaz's ETS on one side, tc-ets(8)'s bands on the other. No I/O.
//
// The band of a class is 7 minus its number (mlxsw/spectrum_qdisc.c: MLXSW_SP_PRIO_BAND_TO_TCLASS). A switch
// computes percentages from quanta, from the first band on, rounding the running sum down (sch_ets.c:
// ets_offload_change).
//
// Promises: ets_of() is the inverse of root_ets_for(), for classes that have priorities; the switch's
// percentages equal the shares. Refuses a class with a share above a strict one: in a qdisc, strict bands
// come first.
#pragma once

#include "drivers/linux/dcb/dcbnl.hpp"
#include "drivers/linux/queueing/class_qdiscs.hpp"
#include "specs/model/result.hpp"

namespace lockstep::dcb {

Result<EtsParameters> root_ets_for(const ieee_ets& ets);
// `have`: from dcbnl, for everything that a qdisc does not express.
ieee_ets ets_of(const EtsParameters& root, const ieee_ets& have);

}  // namespace lockstep::dcb
