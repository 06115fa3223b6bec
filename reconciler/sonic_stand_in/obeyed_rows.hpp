// Orders to misbehave, applied to the rows that the stand-in reads: pure.
#pragma once

#include "drivers/sonic/config_db.hpp"
#include "reconciler/twin/sonic_device.hpp"

namespace lockstep::sonic {

// What is to be carried: `now`, but ignored rows as they were in `carried`, and ports of reports_up shut
// down.
ConfigDb obeyed_rows(const ConfigDb& now, const ConfigDb& carried, const SonicOrders& orders);

}  // namespace lockstep::sonic
