// Matches and targets of iptables, as iptables-nft puts them into rules of nf_tables.
//
// Promises: pure. A match that is not understood, or of another revision, may match or not. Formats:
// linux/netfilter/xt_*.h, nf_tables_compat.h.
#pragma once

#include "drivers/linux/filters/nft_packet.hpp"
#include "drivers/linux/filters/nft_rules.hpp"

namespace lockstep::nft {

Match matches_of_iptables(const Expression& match, const Packet& packet);
// "REJECT", if the target drops or redirects packets; empty: it does not.
std::string taken_by_target(const Expression& target);
// CT, which exempts a packet from connection tracking or assigns it to a zone.
bool may_untrack(const Expression& target);

}  // namespace lockstep::nft
