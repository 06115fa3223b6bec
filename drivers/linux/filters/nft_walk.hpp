// What the rules of nf_tables make of a packet: a walk of them as the kernel's own
// (net/netfilter/nf_tables_core.c, nft_do_chain).
//
// Promises: pure. What takes the packet away, or leads it elsewhere, for some value of what is not known of
// it is named, each once; what does so for none is not. Rules that may match are followed, and what comes
// behind them as well. Refuses to follow more than kRulesMax rules for one packet, and names that.
#pragma once

#include <set>

#include "drivers/linux/filters/nft_packet.hpp"
#include "drivers/linux/filters/nft_rules.hpp"

namespace lockstep::nft {

// A choice, far above what a packet meets on a node with 10,000 services.
inline constexpr std::size_t kRulesMax = 1'000'000;

// What one base chain does to the packet: "drop", "policy drop", "reject in DOCKER-USER".
std::set<std::string> taken_by(const Ruleset& rules, const Chain& base, Packet& packet);

}  // namespace lockstep::nft
