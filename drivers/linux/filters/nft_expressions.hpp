// Evaluates the expressions of one rule in order, over the registers of nf_tables.
//
// Promises: an expression on something unknown here (a rate, a random number, a socket's user) may match or
// not, and so may anything that is not understood, such as a message with wrong lengths; in a set, each
// element that a value may equal is considered separately. Formats: linux/netfilter/nf_tables.h; meaning:
// net/netfilter/nft_*.c.
#pragma once

#include "drivers/linux/filters/nft_packet.hpp"
#include "drivers/linux/filters/nft_rules.hpp"

namespace lockstep::nft {

struct Verdict {
  std::int32_t code = -1;  // NFT_CONTINUE; NF_* and NFT_*
  std::string chain;       // of a jump
};

// One possible result of a rule.
struct RuleResult {
  Match match = Match::yes;
  Verdict verdict{};
  std::string taken{};  // "reject": if the expression is a verdict itself
};

// `sure`: the packet arrives at this rule for all values of its unknown bits. Marks that the rule sets are
// kept in the packet.
std::vector<RuleResult> results_of(const Rule& rule, const Ruleset& rules, const Chain& chain, bool sure,
                                   Packet& packet);

}  // namespace lockstep::nft
