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
    if (run(base_, true, 0) && base_.policy_drops) out_.insert("policy drop");
    return std::move(out_);
  }

 private:
  // Whether the packet may come out at the chain's end.
  bool run(const Chain& chain, bool sure, int depth) {
    if (depth > kJumpsMax) return true;
    for (const Rule& rule : chain.rules) {
      if (++walked_ > kRulesMax) {
        out_.insert("more rules than are followed");
        return false;
      }
      for (const RuleResult& one : results_of(rule, rules_, chain, sure, packet_)) {
        const std::optional<bool> end = follow(chain, one, sure, depth);
        if (end && one.match == Match::yes) return *end;
      }
    }
    return true;
  }

  // None: the next rule is next; else whether the packet may come out at the chain's end.
  std::optional<bool> follow(const Chain& chain, const RuleResult& one, bool sure, int depth) {
    if (one.match == Match::no) return std::nullopt;
    if (!one.taken.empty()) return take(one.taken, chain);
    switch (one.verdict.code) {
      case NFT_CONTINUE:
      case NFT_BREAK: return std::nullopt;
      case NFT_RETURN: return true;
      case kAccept: return false;
      case NFT_JUMP:
      case NFT_GOTO: {
        const auto to = rules_.chains.find(Name{chain.family, chain.table, one.verdict.chain});
        if (to == rules_.chains.end()) return std::nullopt;
        const bool comes_out = run(to->second, sure && one.match == Match::yes, depth + 1);
        if (one.verdict.code == NFT_JUMP && comes_out) return std::nullopt;
        return comes_out;
      }
      default: return take((one.verdict.code & kVerdict) == kQueue ? "queue" : "drop", chain);
    }
  }

  bool take(const std::string& what, const Chain& in) {
    out_.insert(what + (&in == &base_ ? "" : " in " + in.name));
    return false;
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
