// Matches and targets of iptables, as iptables-nft puts them into rules of nf_tables.
//
// Promises: pure. A match that is not understood, or of another revision, may match or not. Formats:
// linux/netfilter/xt_*.h, nf_tables_compat.h.
#pragma once

#include "drivers/linux/filters/nft_packet.hpp"
#include "drivers/linux/filters/nft_rules.hpp"

namespace lockstep::nft {

Match matches_of_iptables(const Expression& match, const Packet& packet);
// "REJECT", if the target takes packets away or leads them elsewhere; empty: it goes on.
std::string taken_by_target(const Expression& target);
// CT, which takes a packet out of connection tracking or puts it into a zone.
bool may_untrack(const Expression& target);

}  // namespace lockstep::nft
