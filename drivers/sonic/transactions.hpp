// A plan's moves as transactions of Redis: as few as the order allows.
#pragma once

#include <vector>

#include "drivers/sonic/config_plan.hpp"
#include "drivers/sonic/row_write.hpp"

namespace lockstep::sonic {

// Subscribers of CONFIG_DB read a row after the transaction that changed it, so that they see only its last
// state there. So a row that moves twice is in two transactions; what needs a port to be down comes after the
// one that shuts it down, and before the one that brings it up; an address comes to an interface after the
// one in which another loses it. `from` is changed along with the moves.
std::vector<std::vector<RowWrite>> transactions_of(const std::vector<ConfigMove>& moves, ConfigDb from);

}  // namespace lockstep::sonic
