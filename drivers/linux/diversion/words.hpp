// Routes, rules and addresses in the words of ip(8), for people.
#pragma once

#include <string>

#include "drivers/linux/kernel_state.hpp"

namespace lockstep::diversion {

// "blackhole 10.64.0.64/26 proto static", "10.64.0.64/26 via 10.64.1.0 dev swp1 metric 20 table 100".
std::string text_of(const Route& route, const NetworkState& network);
// "rule 50: from all to 10.64.0.0/16 lookup 100".
std::string text_of(const Rule& rule);

}  // namespace lockstep::diversion
