#include "drivers/linux/filters/nft_rules.hpp"

#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <set>

namespace lockstep::nft {
namespace {

using netlink::Attribute;
using netlink::AttributeTable;
using netlink::AttributeWalk;
using netlink::Bytes;
using netlink::read_all;
using netlink::Request;
using netlink::Socket;

static_assert(std::endian::native == std::endian::little, "number_of turns bytes");

constexpr std::uint16_t type_of(unsigned message) {
  return static_cast<std::uint16_t>((NFNL_SUBSYS_NFTABLES << 8) | message);
}

nfgenmsg header_of(std::uint8_t family) { return {family, NFNETLINK_V0, 0}; }

std::vector<std::byte> copy_of(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

// NFTA_DEVICE_PREFIX of Linux 6.16, which older headers lack.
constexpr std::uint16_t kDevicePrefix = 2;

Result<std::vector<std::string>> devices_of(AttributeTable<NFTA_HOOK_MAX + 1>& hook) {
  std::vector<std::string> out;
  if (hook.has(NFTA_HOOK_DEV)) out.push_back(hook.text(NFTA_HOOK_DEV));
  AttributeWalk walk(hook.bytes(NFTA_HOOK_DEVS));
  for (Attribute one; walk.next(one);)
    out.push_back(netlink::text_of(one.payload) + (one.type == kDevicePrefix ? "*" : ""));
  TRY_DONE(walk.finish("chain's devices"));
  return out;
}

// The content of lists: NFTA_LIST_ELEM.
Result<Rule> expressions_of(Bytes list) {
  Rule out;
  AttributeWalk walk(list);
  for (Attribute one; walk.next(one);) {
    TRY(const auto expression, AttributeTable<NFTA_EXPR_MAX + 1>::parse(one.payload, "expression"));
    out.push_back({expression.text(NFTA_EXPR_NAME), copy_of(expression.bytes(NFTA_EXPR_DATA))});
  }
  TRY_DONE(walk.finish("rule"));
  return out;
}

struct TableFlags {
  std::uint8_t family = 0;
  std::string name;
  std::uint32_t flags = 0;
};
Result<std::optional<TableFlags>> decode_table(Bytes payload) {
  TRY(const auto frame, netlink::framed<nfgenmsg>(payload, "table"));
  TRY(auto table, AttributeTable<NFTA_TABLE_MAX + 1>::parse(frame.attributes, "table"));
  TableFlags out{frame.header.nfgen_family, table.text(NFTA_TABLE_NAME),
                 number_of(table, NFTA_TABLE_FLAGS).value_or(0)};
  TRY_DONE(table.sound("table"));
  return std::optional(std::move(out));
}

struct SetOf {
  Name name;
  Set set;
};
Result<std::optional<SetOf>> decode_set(Bytes payload) {
  TRY(const auto frame, netlink::framed<nfgenmsg>(payload, "set"));
  TRY(auto table, AttributeTable<NFTA_SET_MAX + 1>::parse(frame.attributes, "set"));
  SetOf out{{frame.header.nfgen_family, table.text(NFTA_SET_TABLE), table.text(NFTA_SET_NAME)}, {}};
  // In a set of concatenated fields each element has an end of its own.
  const std::uint32_t flags = number_of(table, NFTA_SET_FLAGS).value_or(0);
  out.set.has_intervals = (flags & (NFT_SET_INTERVAL | NFT_SET_CONCAT)) == NFT_SET_INTERVAL;
  TRY_DONE(table.sound("set"));
  return std::optional(std::move(out));
}

Result<Done> read_elements(Socket& socket, const Name& name, const Call& call, Set& out) {
  const auto& [family, table, set] = name;
  Request request(type_of(NFT_MSG_GETSETELEM), NLM_F_DUMP);
  request.header(header_of(family))
      .put_text(NFTA_SET_ELEM_LIST_TABLE, table)
      .put_text(NFTA_SET_ELEM_LIST_SET, set);
  return socket.dump(
      request, call,
      [&](const netlink::Message& message) -> Result<Done> {
        if (message.type != type_of(NFT_MSG_NEWSETELEM) || !out.whole) return Done{};
        TRY(auto some, decode_elements(message.payload));
        std::move(some.begin(), some.end(), std::back_inserter(out.elements));
        out.whole = out.elements.size() <= kElementsMax;
        if (!out.whole) out.elements.clear();
        return Done{};
      },
      [&] { out.elements.clear(); });
}

// Collects the sets that rules of `chain` look something up in.
Result<Done> note_lookups(const Chain& chain, std::set<Name>& out) {
  for (const Rule& rule : chain.rules)
    for (const Expression& one : rule) {
      if (one.name != "lookup") continue;
      TRY(const auto lookup, AttributeTable<NFTA_LOOKUP_MAX + 1>::parse(one.data, "lookup"));
      out.emplace(chain.family, chain.table, lookup.text(NFTA_LOOKUP_SET));
    }
  return Done{};
}

Result<Done> read_sets(Socket& socket, const Call& call, Ruleset& out) {
  std::set<Name> wanted;
  for (const auto& [name, chain] : out.chains) TRY_DONE(note_lookups(chain, wanted));
  if (wanted.empty()) return Done{};
  std::vector<SetOf> sets;
  TRY_DONE(read_all(socket, type_of(NFT_MSG_GETSET), type_of(NFT_MSG_NEWSET), header_of(AF_UNSPEC),
                    &decode_set, call, sets));
  for (SetOf& one : sets) {
    if (!wanted.contains(one.name)) continue;
    TRY_DONE(read_elements(socket, one.name, call, one.set));
    std::ranges::sort(one.set.elements, {}, &Element::key);
    out.sets.emplace(std::move(one.name), std::move(one.set));
  }
  return Done{};
}

}  // namespace

Result<std::optional<Chain>> decode_chain(Bytes payload) {
  TRY(const auto frame, netlink::framed<nfgenmsg>(payload, "chain"));
  TRY(auto table, AttributeTable<NFTA_CHAIN_MAX + 1>::parse(frame.attributes, "chain"));
  Chain out;
  out.family = frame.header.nfgen_family;
  out.table = table.text(NFTA_CHAIN_TABLE);
  out.name = table.text(NFTA_CHAIN_NAME);
  constexpr std::uint32_t kDrop = 0;  // NF_DROP, linux/netfilter.h
  out.policy_drops = number_of(table, NFTA_CHAIN_POLICY) == kDrop;
  TRY_DONE(table.sound("chain"));
  if (!table.has(NFTA_CHAIN_HOOK)) return std::optional(std::move(out));
  TRY(auto hook, AttributeTable<NFTA_HOOK_MAX + 1>::parse(table.bytes(NFTA_CHAIN_HOOK), "chain's hook"));
  out.hook.emplace();
  out.hook->number = number_of(hook, NFTA_HOOK_HOOKNUM).value_or(0);
  out.hook->priority = static_cast<std::int32_t>(number_of(hook, NFTA_HOOK_PRIORITY).value_or(0));
  TRY(out.hook->devices, devices_of(hook));
  TRY_DONE(hook.sound("chain's hook"));
  return std::optional(std::move(out));
}

Result<std::optional<RuleOf>> decode_rule(Bytes payload) {
  TRY(const auto frame, netlink::framed<nfgenmsg>(payload, "rule"));
  TRY(const auto table, AttributeTable<NFTA_RULE_MAX + 1>::parse(frame.attributes, "rule"));
  RuleOf out{{frame.header.nfgen_family, table.text(NFTA_RULE_TABLE), table.text(NFTA_RULE_CHAIN)}, {}};
  TRY(out.rule, expressions_of(table.bytes(NFTA_RULE_EXPRESSIONS)));
  return std::optional(std::move(out));
}

Result<std::vector<Element>> decode_elements(Bytes payload) {
  TRY(const auto frame, netlink::framed<nfgenmsg>(payload, "set's elements"));
  TRY(const auto table,
      AttributeTable<NFTA_SET_ELEM_LIST_MAX + 1>::parse(frame.attributes, "set's elements"));
  std::vector<Element> out;
  AttributeWalk walk(table.bytes(NFTA_SET_ELEM_LIST_ELEMENTS));
  for (Attribute one; walk.next(one);) {
    TRY(auto element, AttributeTable<NFTA_SET_ELEM_MAX + 1>::parse(one.payload, "set's element"));
    const auto value_of = [&](std::size_t type) -> Result<std::vector<std::byte>> {
      TRY(const auto data, AttributeTable<NFTA_DATA_MAX + 1>::parse(element.bytes(type), "set's element"));
      return copy_of(data.bytes(NFTA_DATA_VALUE));
    };
    Element& to = out.emplace_back();
    TRY(to.key, value_of(NFTA_SET_ELEM_KEY));
    TRY(to.key_end, value_of(NFTA_SET_ELEM_KEY_END));
    to.data = copy_of(element.bytes(NFTA_SET_ELEM_DATA));
    const std::uint32_t flags = number_of(element, NFTA_SET_ELEM_FLAGS).value_or(0);
    to.ends_interval = (flags & NFT_SET_ELEM_INTERVAL_END) != 0;
    to.for_all_else = (flags & NFT_SET_ELEM_CATCHALL) != 0;
    TRY_DONE(element.sound("set's element"));
  }
  TRY_DONE(walk.finish("set's elements"));
  return out;
}

Result<std::optional<std::uint32_t>> generation(Socket& socket, const Call& call) {
  Request request(type_of(NFT_MSG_GETGEN), NLM_F_ACK);
  request.header(header_of(AF_UNSPEC));
  std::optional<std::uint32_t> out;
  TRY(const netlink::Answer answer,
      socket.ask(request, call, [&](const netlink::Message& message) -> Result<Done> {
        TRY(const auto frame, netlink::framed<nfgenmsg>(message.payload, "generation"));
        TRY(auto table, AttributeTable<NFTA_GEN_MAX + 1>::parse(frame.attributes, "generation"));
        out = number_of(table, NFTA_GEN_ID);
        return table.sound("generation");
      }));
  // The error of nfnetlink.c, nfnetlink_rcv_msg, for a missing subsystem.
  if (answer.code == EINVAL) return std::optional<std::uint32_t>();
  if (answer.code != 0) return netlink::to_error(answer, "the generation of nf_tables");
  return out;
}

Result<Ruleset> read_ruleset(Socket& socket, const Call& call) {
  std::vector<TableFlags> tables;
  std::vector<Chain> chains;
  std::vector<RuleOf> rules;
  const nfgenmsg all = header_of(AF_UNSPEC);
  TRY_DONE(read_all(socket, type_of(NFT_MSG_GETTABLE), type_of(NFT_MSG_NEWTABLE), all, &decode_table, call,
                    tables));
  TRY_DONE(read_all(socket, type_of(NFT_MSG_GETCHAIN), type_of(NFT_MSG_NEWCHAIN), all, &decode_chain, call,
                    chains));
  TRY_DONE(
      read_all(socket, type_of(NFT_MSG_GETRULE), type_of(NFT_MSG_NEWRULE), all, &decode_rule, call, rules));
  const auto is_dormant = [&](const Chain& chain) {
    return std::ranges::any_of(tables, [&](const TableFlags& one) {
      return one.family == chain.family && one.name == chain.table && (one.flags & NFT_TABLE_F_DORMANT) != 0;
    });
  };
  Ruleset out;
  for (Chain& one : chains)
    if (!is_dormant(one)) out.chains.emplace(Name{one.family, one.table, one.name}, std::move(one));
  for (RuleOf& one : rules)
    if (const auto chain = out.chains.find(one.chain); chain != out.chains.end())
      chain->second.rules.push_back(std::move(one.rule));
  TRY_DONE(read_sets(socket, call, out));
  return out;
}

}  // namespace lockstep::nft
