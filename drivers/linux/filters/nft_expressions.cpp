#include "drivers/linux/filters/nft_expressions.hpp"

#include <linux/if_ether.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <utility>

#include "drivers/linux/filters/xtables.hpp"

namespace lockstep::nft {
namespace {

using netlink::AttributeTable;
using netlink::Bytes;

constexpr std::size_t kRegisterBytes = 64;  // NFT_REG32_COUNT of four bytes each
constexpr std::size_t kWord = 4;

// The first four registers of nf_tables have 16 bytes; the others overlay them in units of four bytes.
std::size_t place_of(std::uint32_t number) {
  constexpr std::size_t kLarge = 16;
  if (number >= NFT_REG32_00) return std::min<std::size_t>((number - NFT_REG32_00) * kWord, kRegisterBytes);
  return number >= NFT_REG_1 ? std::min<std::size_t>((number - NFT_REG_1) * kLarge, kRegisterBytes) : 0;
}

// Ranges of concatenated fields, as prefixes or as ranges of four-byte units, are compared unit by unit.
Match within_words(const Field& field, Bytes first, Bytes last) {
  Match out = Match::yes;
  for (std::size_t at = 0; at < first.size() && at < last.size(); at += kWord) {
    const std::size_t size = std::min({kWord, first.size() - at, last.size() - at});
    out = std::min(out, is_within(field.part(at, size), first.subspan(at, size), last.subspan(at, size)));
  }
  return out;
}

struct Found {
  Match match = Match::no;
  Bytes data;
};

// Matches an element's key, or a prefix of it: a range ends at the next key.
Match match_of(const Set& set, std::size_t index, const Field& value) {
  const Element& one = set.elements[index];
  const Field part = value.part(0, one.key.size());
  if (!one.key_end.empty()) return within_words(part, one.key, one.key_end);
  if (!set.has_intervals) return is_equal(part, one.key);
  const Match match = is_within(part, one.key, std::vector<std::byte>(one.key.size(), std::byte{0xFF}));
  for (std::size_t next = index + 1; next < set.elements.size(); ++next)
    if (set.elements[next].key != one.key) return std::min(match, is_below(part, set.elements[next].key));
  return match;
}

// The elements that a value may equal; the first certain match ends the list.
std::vector<Found> found_in(const Set& set, const Field& value) {
  std::vector<Found> out;
  const Element* otherwise = nullptr;
  for (std::size_t i = 0; i < set.elements.size(); ++i) {
    const Element& one = set.elements[i];
    if (one.for_all_else) otherwise = &one;
    if (one.for_all_else || one.ends_interval) continue;
    const Match match = match_of(set, i, value);
    if (match != Match::no) out.push_back({match, one.data});
    if (match == Match::yes) return out;
  }
  if (otherwise != nullptr) out.push_back({out.empty() ? Match::yes : Match::maybe, otherwise->data});
  return out;
}

class Machine {
 public:
  Machine(const Ruleset& rules, const Chain& chain, bool sure, Packet& packet)
      : rules_(rules), chain_(chain), sure_(sure), packet_(packet) {}

  std::vector<RuleResult> run(const Rule& rule) {
    RuleResult out;
    for (const Expression& one : rule) {
      if (one.name == "lookup") {
        std::vector<RuleResult> several = look_up(one);
        if (several.size() != 1 || several.front().verdict.code != NFT_CONTINUE) return several;
        match_ = several.front().match;
      } else {
        match_ = std::min(match_, step(one, out));
      }
      if (match_ == Match::no || out.verdict.code != NFT_CONTINUE || !out.taken.empty()) break;
    }
    out.match = match_;
    return {out};
  }

 private:
  Field read(std::uint32_t number, std::size_t size) const { return registers_.part(place_of(number), size); }
  // Registers are written in whole four-byte units.
  void write(std::uint32_t number, Field field) {
    while (field.value.size() % kWord != 0) {
      field.value.push_back(std::byte{0});
      field.known.push_back(std::byte{0xFF});
    }
    registers_.put(place_of(number), field);
  }

  // The match result of an expression; its action is put into `out`.
  Match step(const Expression& one, RuleResult& out);
  Match meta(Bytes data);
  Match payload(Bytes data, RuleResult& out);
  Match ct(Bytes data);
  Match fib(Bytes data);
  Match compare_register(Bytes data) const;
  Match range(Bytes data) const;
  Match bitwise(Bytes data);
  Match byteorder(Bytes data);
  Match immediate(Bytes data, RuleResult& out);
  std::vector<RuleResult> look_up(const Expression& one);
  Field meta_of(std::uint32_t key) const;
  bool is_certain() const { return sure_ && match_ == Match::yes; }

  const Ruleset& rules_;
  const Chain& chain_;
  const bool sure_;
  Packet& packet_;
  Match match_ = Match::yes;  // of the rule so far
  Field registers_ = Field::unknown(kRegisterBytes);
};

std::optional<Verdict> verdict_of(Bytes data) {
  const auto outer = AttributeTable<NFTA_DATA_MAX + 1>::parse(data, "verdict");
  if (!outer || !outer->has(NFTA_DATA_VERDICT)) return std::nullopt;
  auto inner = AttributeTable<NFTA_VERDICT_MAX + 1>::parse(outer->bytes(NFTA_DATA_VERDICT), "verdict");
  if (!inner) return std::nullopt;
  return Verdict{static_cast<std::int32_t>(number_of(*inner, NFTA_VERDICT_CODE).value_or(0)),
                 inner->text(NFTA_VERDICT_CHAIN)};
}

Bytes value_of(Bytes data) {
  const auto table = AttributeTable<NFTA_DATA_MAX + 1>::parse(data, "value");
  return table ? table->bytes(NFTA_DATA_VALUE) : Bytes{};
}

// An interface's name, padded with zeros to the register's size.
Field name_field(const Port& port) {
  constexpr std::size_t kSize = 16;  // IFNAMSIZ, linux/if.h
  std::vector<std::byte> out(kSize);
  for (std::size_t i = 0; i < port.name.size() && i < kSize - 1; ++i)
    out[i] = static_cast<std::byte>(port.name[i]);
  return Field::of(out);
}

Field Machine::meta_of(std::uint32_t key) const {
  constexpr std::uint8_t kToHost = 0;  // PACKET_HOST, linux/if_packet.h
  const auto big = [](std::uint16_t number) { return Field::of_number(__builtin_bswap16(number)); };
  switch (key) {
    case NFT_META_PROTOCOL: return big(static_cast<std::uint16_t>(packet_.v6 ? ETH_P_IPV6 : ETH_P_IP));
    case NFT_META_MARK: return packet_.mark;
    case NFT_META_IIF: return Field::of_number(packet_.in.index);
    case NFT_META_OIF: return Field::of_number(packet_.out.index);
    case NFT_META_IIFNAME: return name_field(packet_.in);
    case NFT_META_OIFNAME: return name_field(packet_.out);
    case NFT_META_NFPROTO: return Field::of_number(packet_.v6 ? kIpv6 : kIpv4);
    case NFT_META_L4PROTO: return Field::of_number(packet_.protocol);
    case NFT_META_PKTTYPE: return Field::of_number(kToHost);
    default: return Field::unknown(kWord);
  }
}

Match Machine::meta(Bytes data) {
  auto table = AttributeTable<NFTA_META_MAX + 1>::parse(data, "meta");
  if (!table) return Match::maybe;
  const std::uint32_t key = number_of(*table, NFTA_META_KEY).value_or(0);
  if (const auto from = number_of(*table, NFTA_META_SREG)) {
    if (key == NFT_META_MARK) packet_.mark = is_certain() ? read(*from, kWord) : Field::unknown(kWord);
    return Match::yes;
  }
  write(number_of(*table, NFTA_META_DREG).value_or(0), meta_of(key));
  return Match::yes;
}

// The bytes before an IP packet without a VLAN tag: the EtherType follows two addresses (IEEE 802.3, 3.1.1).
Field link_header(bool v6) {
  constexpr std::size_t kType = 12;
  Field out = Field::unknown(kType + sizeof(std::uint16_t));
  out.put(kType, Field::of_number(__builtin_bswap16(static_cast<std::uint16_t>(v6 ? ETH_P_IPV6 : ETH_P_IP))));
  return out;
}

Match Machine::payload(Bytes data, RuleResult& out) {
  auto table = AttributeTable<NFTA_PAYLOAD_MAX + 1>::parse(data, "payload");
  if (!table) return Match::maybe;
  const auto to = number_of(*table, NFTA_PAYLOAD_DREG);
  if (!to) {
    out.taken = "rewrite";
    return Match::yes;
  }
  const std::size_t offset = number_of(*table, NFTA_PAYLOAD_OFFSET).value_or(0);
  const std::size_t size =
      std::min<std::size_t>(number_of(*table, NFTA_PAYLOAD_LEN).value_or(0), kRegisterBytes);
  const std::uint32_t base = number_of(*table, NFTA_PAYLOAD_BASE).value_or(NFT_PAYLOAD_LL_HEADER);
  write(*to, base == NFT_PAYLOAD_NETWORK_HEADER     ? packet_.network.part(offset, size)
             : base == NFT_PAYLOAD_TRANSPORT_HEADER ? packet_.transport.part(offset, size)
             : base == NFT_PAYLOAD_LL_HEADER        ? link_header(packet_.v6).part(offset, size)
                                                    : Field::unknown(size));
  return Match::yes;
}

Match Machine::ct(Bytes data) {
  auto table = AttributeTable<NFTA_CT_MAX + 1>::parse(data, "ct");
  if (!table) return Match::maybe;
  const auto to = number_of(*table, NFTA_CT_DREG);
  if (!to) return Match::yes;           // it writes into the connection
  constexpr std::uint32_t kNat = 0x30;  // IPS_NAT_MASK, linux/netfilter/nf_conntrack_common.h
  Field out = Field::unknown(kWord);
  switch (number_of(*table, NFTA_CT_KEY).value_or(NFT_CT_STATE)) {
    case NFT_CT_STATE: out = packet_.state; break;
    case NFT_CT_STATUS:
      out = Field::of_number(std::uint32_t{0});
      out.known = Field::of_number(kNat).value;
      break;
    case NFT_CT_MARK: out = packet_.connection_mark; break;
    default: registers_ = Field::unknown(kRegisterBytes); return Match::yes;
  }
  write(*to, out);
  return Match::yes;
}

// The reverse path leads through the port on which the packet arrived.
Match Machine::fib(Bytes data) {
  auto table = AttributeTable<NFTA_FIB_MAX + 1>::parse(data, "fib");
  if (!table) return Match::maybe;
  const std::uint32_t flags = number_of(*table, NFTA_FIB_FLAGS).value_or(0);
  const std::uint32_t result = number_of(*table, NFTA_FIB_RESULT).value_or(NFT_FIB_RESULT_UNSPEC);
  const bool of_source = (flags & NFTA_FIB_F_SADDR) != 0;
  Field out = Field::unknown(kWord);
  if ((flags & NFTA_FIB_F_PRESENT) != 0)
    out = Field::of_number(std::uint8_t{1});
  else if (result == NFT_FIB_RESULT_ADDRTYPE)
    out = Field::of_number(std::uint32_t{(of_source ? packet_.from_here : packet_.to_here)
                                             ? std::uint32_t{RTN_LOCAL}
                                             : std::uint32_t{RTN_UNICAST}});
  else if (of_source && result == NFT_FIB_RESULT_OIF)
    out = Field::of_number(packet_.in.index);
  else if (of_source && result == NFT_FIB_RESULT_OIFNAME)
    out = name_field(packet_.in);
  write(number_of(*table, NFTA_FIB_DREG).value_or(0), std::move(out));
  return Match::yes;
}

Match Machine::compare_register(Bytes data) const {
  auto table = AttributeTable<NFTA_CMP_MAX + 1>::parse(data, "cmp");
  if (!table) return Match::maybe;
  const Bytes to = value_of(table->bytes(NFTA_CMP_DATA));
  const Field field = read(number_of(*table, NFTA_CMP_SREG).value_or(0), to.size());
  const std::vector<std::byte> least(to.size());
  switch (number_of(*table, NFTA_CMP_OP).value_or(NFT_CMP_EQ)) {
    case NFT_CMP_EQ: return is_equal(field, to);
    case NFT_CMP_NEQ: return negated(is_equal(field, to));
    case NFT_CMP_LT: return is_below(field, to);
    case NFT_CMP_GTE: return negated(is_below(field, to));
    case NFT_CMP_LTE: return is_within(field, least, to);
    case NFT_CMP_GT: return negated(is_within(field, least, to));
    default: return Match::maybe;
  }
}

Match Machine::range(Bytes data) const {
  auto table = AttributeTable<NFTA_RANGE_MAX + 1>::parse(data, "range");
  if (!table) return Match::maybe;
  const Bytes first = value_of(table->bytes(NFTA_RANGE_FROM_DATA));
  const Field field = read(number_of(*table, NFTA_RANGE_SREG).value_or(0), first.size());
  const Match match = is_within(field, first, value_of(table->bytes(NFTA_RANGE_TO_DATA)));
  return number_of(*table, NFTA_RANGE_OP) == std::uint32_t{NFT_RANGE_NEQ} ? negated(match) : match;
}

Match Machine::bitwise(Bytes data) {
  auto table = AttributeTable<NFTA_BITWISE_MAX + 1>::parse(data, "bitwise");
  if (!table) return Match::maybe;
  const std::size_t size =
      std::min<std::size_t>(number_of(*table, NFTA_BITWISE_LEN).value_or(0), kRegisterBytes);
  const std::uint32_t to = number_of(*table, NFTA_BITWISE_DREG).value_or(0);
  const Bytes mask = value_of(table->bytes(NFTA_BITWISE_MASK));
  const Bytes flip = value_of(table->bytes(NFTA_BITWISE_XOR));
  Field field = read(number_of(*table, NFTA_BITWISE_SREG).value_or(0), size);
  if (number_of(*table, NFTA_BITWISE_OP).value_or(0) != 0 || mask.size() != size || flip.size() != size) {
    field = Field::unknown(size);  // a shift, or an operation on two registers
  } else {
    field.mask(mask);
    for (std::size_t i = 0; i < size; ++i) field.value[i] ^= flip[i];
  }
  write(to, std::move(field));
  return Match::yes;
}

Match Machine::byteorder(Bytes data) {
  auto table = AttributeTable<NFTA_BYTEORDER_MAX + 1>::parse(data, "byteorder");
  if (!table) return Match::maybe;
  const std::size_t size =
      std::min<std::size_t>(number_of(*table, NFTA_BYTEORDER_LEN).value_or(0), kRegisterBytes);
  const std::size_t of_one = number_of(*table, NFTA_BYTEORDER_SIZE).value_or(0);
  Field field = read(number_of(*table, NFTA_BYTEORDER_SREG).value_or(0), size);
  for (std::size_t at = 0; of_one > 0 && at + of_one <= size; at += of_one)
    for (std::vector<std::byte>* const bytes : {&field.value, &field.known})
      std::reverse(bytes->begin() + static_cast<std::ptrdiff_t>(at),
                   bytes->begin() + static_cast<std::ptrdiff_t>(at + of_one));
  write(number_of(*table, NFTA_BYTEORDER_DREG).value_or(0), std::move(field));
  return Match::yes;
}

Match Machine::immediate(Bytes data, RuleResult& out) {
  auto table = AttributeTable<NFTA_IMMEDIATE_MAX + 1>::parse(data, "immediate");
  if (!table) return Match::maybe;
  if (auto verdict = verdict_of(table->bytes(NFTA_IMMEDIATE_DATA)))
    out.verdict = *std::move(verdict);
  else
    write(number_of(*table, NFTA_IMMEDIATE_DREG).value_or(0),
          Field::of(value_of(table->bytes(NFTA_IMMEDIATE_DATA))));
  return Match::yes;
}

// Each element that the value may equal is a result of the rule, if a map continues by verdicts.
std::vector<RuleResult> Machine::look_up(const Expression& one) {
  const RuleResult unknown{Match::maybe, {}, {}};
  auto table = AttributeTable<NFTA_LOOKUP_MAX + 1>::parse(one.data, "lookup");
  if (!table) return {unknown};
  const auto set = rules_.sets.find(Name{chain_.family, chain_.table, table->text(NFTA_LOOKUP_SET)});
  const auto to = number_of(*table, NFTA_LOOKUP_DREG);
  if (set == rules_.sets.end() || !set->second.whole) {
    registers_ = Field::unknown(kRegisterBytes);
    return {unknown};
  }
  const Field value = read(number_of(*table, NFTA_LOOKUP_SREG).value_or(0), kRegisterBytes);
  const std::vector<Found> found = found_in(set->second, value);
  if (to == std::uint32_t{NFT_REG_VERDICT}) {
    std::vector<RuleResult> out;
    for (const Found& each : found)
      if (auto verdict = verdict_of(each.data)) out.push_back({std::min(match_, each.match), *verdict, {}});
    return out.empty() ? std::vector<RuleResult>{{Match::no, {}, {}}} : out;
  }
  Match match = Match::no;
  for (const Found& each : found) match = std::max(match, each.match);
  if (to) {
    const Bytes data = found.size() == 1 && match == Match::yes ? value_of(found.front().data) : Bytes{};
    if (data.empty())
      registers_ = Field::unknown(kRegisterBytes);
    else
      write(*to, Field::of(data));
  }
  if ((number_of(*table, NFTA_LOOKUP_FLAGS).value_or(0) & NFT_LOOKUP_F_INV) != 0) match = negated(match);
  return {{std::min(match_, match), {}, {}}};
}

// The expression's name, if it takes packets away by itself; empty: it does not.
std::string_view taken_by(const Expression& one) {
  static constexpr std::pair<std::string_view, std::string_view> kTaking[] = {
      {"fwd", "fwd"},        {"masq", "masquerade"}, {"nat", "nat"},           {"queue", "queue"},
      {"redir", "redirect"}, {"reject", "reject"},   {"synproxy", "synproxy"}, {"tproxy", "tproxy"}};
  const auto found = std::ranges::find(kTaking, std::string_view(one.name),
                                       &std::pair<std::string_view, std::string_view>::first);
  return found == std::end(kTaking) ? std::string_view() : found->second;
}

bool goes_on(const Expression& one) {
  static constexpr std::string_view kPassing[] = {"counter", "dup", "flow_offload", "last", "log"};
  return std::ranges::find(kPassing, std::string_view(one.name)) != std::end(kPassing);
}

// A counter and the like passes all packets; a limit, a quota or a connection limit may be exhausted.
bool passes_all(const Expression& object) {
  auto table = AttributeTable<NFTA_OBJREF_MAX + 1>::parse(object.data, "objref");
  if (!table) return false;
  static constexpr std::uint32_t kPassing[] = {NFT_OBJECT_COUNTER, NFT_OBJECT_CT_HELPER,
                                               NFT_OBJECT_TUNNEL,  NFT_OBJECT_CT_TIMEOUT,
                                               NFT_OBJECT_SECMARK, NFT_OBJECT_CT_EXPECT};
  const auto type = number_of(*table, NFTA_OBJREF_IMM_TYPE);
  return type && std::ranges::find(kPassing, *type) != std::end(kPassing);
}

Match Machine::step(const Expression& one, RuleResult& out) {
  if (one.name == "payload") return payload(one.data, out);
  if (one.name == "cmp") return compare_register(one.data);
  if (one.name == "meta") return meta(one.data);
  if (one.name == "immediate") return immediate(one.data, out);
  if (one.name == "bitwise") return bitwise(one.data);
  if (one.name == "ct") return ct(one.data);
  if (one.name == "range") return range(one.data);
  if (one.name == "byteorder") return byteorder(one.data);
  if (one.name == "fib") return fib(one.data);
  if (one.name == "match") return matches_of_iptables(one, packet_);
  out.taken = one.name == "target" ? taken_by_target(one) : std::string(taken_by(one));
  if (!out.taken.empty() || goes_on(one)) return Match::yes;
  if (one.name == "objref") return passes_all(one) ? Match::yes : Match::maybe;
  if (one.name == "notrack") {
    packet_.state = is_certain() ? Field::of_number(CtState::untracked) : Field::unknown(kWord);
    return Match::yes;
  }
  if (one.name == "target") {
    packet_.mark = Field::unknown(kWord);  // the target may set it
    if (may_untrack(one)) packet_.state = Field::unknown(kWord);
    return Match::yes;
  }
  registers_ = Field::unknown(kRegisterBytes);
  return Match::maybe;
}

}  // namespace

std::vector<RuleResult> results_of(const Rule& rule, const Ruleset& rules, const Chain& chain, bool sure,
                                   Packet& packet) {
  return Machine(rules, chain, sure, packet).run(rule);
}

}  // namespace lockstep::nft
