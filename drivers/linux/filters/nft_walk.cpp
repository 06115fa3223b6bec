#include "drivers/linux/filters/nft_walk.hpp"

#include <linux/netfilter/nf_tables.h>

#include "drivers/linux/filters/nft_expressions.hpp"

namespace lockstep::nft {
namespace {

constexpr int kJumpsMax = 16;  // NFT_JUMP_STACK_SIZE, net/netfilter/nf_tables_core.c
// linux/netfilter.h, which can't be included beside netinet/in.h.
constexpr std::int32_t kAccept = 1;      // NF_ACCEPT
constexpr std::int32_t kQueue = 3;       // NF_QUEUE
constexpr std::int32_t kVerdict = 0xFF;  // NF_VERDICT_MASK

class Walk {
 public:
  Walk(const Ruleset& rules, const Chain& base, Packet& packet)
      : rules_(rules), base_(base), packet_(packet) {}

  std::set<std::string> run() {
    if (run(base_, true, 0).comes_out && base_.policy_drops) out_.insert("policy drop");
    return std::move(out_);
  }

 private:
  // What may happen to a packet in a chain, over all values of its unknown bits.
  struct Ways {
    bool comes_out = false;  // reaches the chain's end
    bool ends = false;       // ends in the chain: accepted, or taken
    bool goes_on = false;    // returns to the next rule of the calling chain
  };

  Ways run(const Chain& chain, bool sure, int depth) {
    if (depth > kJumpsMax) return {.comes_out = true};
    Ways out;
    for (const Rule& rule : chain.rules) {
      if (++walked_ > kRulesMax) {
        out_.insert("more rules than are followed");
        return out;
      }
      for (const RuleResult& one : results_of(rule, rules_, chain, sure, packet_)) {
        const Ways ways = follow(chain, one, sure, depth);
        out.ends = out.ends || ways.ends;
        out.comes_out = out.comes_out || ways.comes_out;
        if (!ways.goes_on && one.match == Match::yes) return out;
        sure = sure && !ways.ends && !ways.comes_out;  // else only some packets get to the next rule
      }
    }
    out.comes_out = true;
    return out;
  }

  Ways follow(const Chain& chain, const RuleResult& one, bool sure, int depth) {
    constexpr Ways kNext{.goes_on = true};
    if (one.match == Match::no) return kNext;
    if (!one.taken.empty()) return take(one.taken, chain);
    switch (one.verdict.code) {
      case NFT_CONTINUE:
      case NFT_BREAK: return kNext;
      case NFT_RETURN: return {.comes_out = true};
      case kAccept: return {.ends = true};
      case NFT_JUMP:
      case NFT_GOTO: {
        const auto to = rules_.chains.find(Name{chain.family, chain.table, one.verdict.chain});
        if (to == rules_.chains.end()) return kNext;
        Ways ways = run(to->second, sure && one.match == Match::yes, depth + 1);
        if (one.verdict.code == NFT_JUMP) {
          ways.goes_on = ways.comes_out;
          ways.comes_out = false;
        }
        return ways;
      }
      default: return take((one.verdict.code & kVerdict) == kQueue ? "queue" : "drop", chain);
    }
  }

  Ways take(const std::string& what, const Chain& in) {
    out_.insert(what + (&in == &base_ ? "" : " in " + in.name));
    return {.ends = true};
  }

  const Ruleset& rules_;
  const Chain& base_;
  Packet& packet_;
  std::set<std::string> out_;
  std::size_t walked_ = 0;
};

}  // namespace

std::set<std::string> taken_by(const Ruleset& rules, const Chain& base, Packet& packet) {
  return Walk(rules, base, packet).run();
}

}  // namespace lockstep::nft
