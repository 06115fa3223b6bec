// What the rules of nf_tables do to a packet, evaluated like the kernel does (net/netfilter/nf_tables_core.c,
// nft_do_chain).
//
// Promises: pure. Whatever drops or redirects the packet for some value of its unknown bits is named, each
// once; what does so for no value is not. Rules that may match are followed, and so are the rules after them.
// Refuses to follow more than kRulesMax rules for one packet, and reports that.
#pragma once

#include <set>

#include "drivers/linux/filters/nft_packet.hpp"
#include "drivers/linux/filters/nft_rules.hpp"

namespace lockstep::nft {

// An arbitrary limit, far above what a packet passes on a node with 10,000 services.
inline constexpr std::size_t kRulesMax = 1'000'000;

// What one base chain does to the packet: "drop", "policy drop", "reject in DOCKER-USER".
std::set<std::string> taken_by(const Ruleset& rules, const Chain& base, Packet& packet);

}  // namespace lockstep::nft
