// Routes, rules and lookups as text in ip(8) syntax, for messages.
#pragma once

#include <string>

#include "drivers/linux/diversion/lookup.hpp"

namespace lockstep::diversion {

// "blackhole 10.64.0.64/26 proto static", "10.64.0.64/26 via 10.64.1.0 dev swp1 metric 20 table 100".
std::string text_of(const Route& route, const NetworkState& network);
// "rule 50: from all to 10.64.0.0/16 lookup 100".
std::string text_of(const Rule& rule);
// "10.64.0.129 from 10.64.0.1 iif swp1".
std::string text_of(const Question& question, const NetworkState& network);
// For an errno that a lookup returned: "the kernel has no route".
std::string text_of_refusal(int code);

}  // namespace lockstep::diversion
