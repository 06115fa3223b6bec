// The expressions of one rule, one after the other, over the registers of nf_tables.
//
// Promises: what is asked for and not known here (a rate, a random number, a socket's user) may match or not,
// and so may what is not understood, such as a message that lies about its lengths; of a set each element
// that a value may be counts for itself. Formats: linux/netfilter/nf_tables.h; meaning:
// net/netfilter/nft_*.c.
#pragma once

#include "drivers/linux/filters/nft_packet.hpp"
#include "drivers/linux/filters/nft_rules.hpp"

namespace lockstep::nft {

struct Verdict {
  std::int32_t code = -1;  // NFT_CONTINUE; NF_* and NFT_*
  std::string chain;       // of a jump
};

// One thing that a rule may do.
struct RuleResult {
  Match match = Match::yes;
  Verdict verdict{};
  std::string taken{};  // "reject": by an expression that is a verdict itself
};

// `sure`: the packet is at this rule whatever is not known of it. Marks that the rule sets stay with it.
std::vector<RuleResult> results_of(const Rule& rule, const Ruleset& rules, const Chain& chain, bool sure,
                                   Packet& packet);

}  // namespace lockstep::nft
