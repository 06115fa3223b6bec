#include "drivers/linux/filters/xtables.hpp"

#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nf_tables_compat.h>
#include <linux/netfilter/xt_mark.h>
#include <linux/netfilter/xt_tcpudp.h>
#include <netinet/in.h>

#include <algorithm>

namespace lockstep::nft {
namespace {

using netlink::AttributeTable;
using netlink::Bytes;
using netlink::read_as;

// One condition, inverted if its bit is set.
Match inverted_by(std::uint32_t flags, std::uint32_t bit, Match match) {
  return (flags & bit) != 0 ? negated(match) : match;
}

Match both(Match one, Match other) { return std::min(one, other); }

// struct xt_conntrack_mtinfo2 and 3 of linux/netfilter/xt_conntrack.h, which can't be included beside
// netinet/in.h: preceded by 8 addresses, 2 times and 5 numbers.
Match of_conntrack(Bytes info, const Packet& packet) {
  constexpr std::size_t kFlags = 8 * 16 + 2 * 4 + 5 * 2;
  struct Flags {
    std::uint16_t match;
    std::uint16_t invert;
    std::uint16_t state;  // the same bits as in nf_tables (NF_CT_STATE_BIT)
  };
  if (info.size() < kFlags) return Match::maybe;
  const auto read = read_as<Flags>(info.subspan(kFlags));
  constexpr std::uint16_t kState = 1 << 0;   // XT_CONNTRACK_STATE
  constexpr std::uint16_t kAlias = 1 << 13;  // XT_CONNTRACK_STATE_ALIAS: written as "state"
  if (!read || (read->match & ~(kState | kAlias)) != 0) return Match::maybe;
  if ((read->match & kState) == 0) return Match::yes;
  Match match = Match::no;
  for (auto bit = static_cast<std::uint32_t>(CtState::invalid); bit <= read->state; bit <<= 1)
    if ((read->state & bit) != 0)
      match = std::max(match, is_equal(packet.state, Field::of_number(bit).value));
  return inverted_by(read->invert, kState, match);
}

Match of_mark(Bytes info, const Packet& packet) {
  const auto read = read_as<xt_mark_mtinfo1>(info);
  if (!read) return Match::maybe;
  Field mark = packet.mark;
  mark.mask(std::as_bytes(std::span<const std::uint32_t, 1>(&read->mask, 1)));
  const Match match = is_equal(mark, std::as_bytes(std::span<const std::uint32_t, 1>(&read->mark, 1)));
  return read->invert != 0 ? negated(match) : match;
}

Match is_port_within(const Packet& packet, std::size_t offset, const std::uint16_t (&range)[2]) {
  const auto as_sent = [](std::uint16_t port) { return Field::of_number(__builtin_bswap16(port)).value; };
  return is_within(packet.transport.part(offset, sizeof(std::uint16_t)), as_sent(range[0]),
                   as_sent(range[1]));
}

constexpr std::size_t kSourcePort = 0;
constexpr std::size_t kDestinationPort = 2;

Match of_udp(Bytes info, const Packet& packet) {
  const auto read = read_as<xt_udp>(info);
  if (!read) return Match::maybe;
  if (packet.protocol != IPPROTO_UDP) return Match::no;
  return both(
      inverted_by(read->invflags, XT_UDP_INV_SRCPT, is_port_within(packet, kSourcePort, read->spts)),
      inverted_by(read->invflags, XT_UDP_INV_DSTPT, is_port_within(packet, kDestinationPort, read->dpts)));
}

Match of_tcp(Bytes info, const Packet& packet) {
  const auto read = read_as<xt_tcp>(info);
  if (!read) return Match::maybe;
  if (packet.protocol != IPPROTO_TCP) return Match::no;
  constexpr std::size_t kFlags = 13;  // RFC 9293 3.1
  Field flags = packet.transport.part(kFlags, 1);
  const std::byte mask{read->flg_mask};
  flags.mask({&mask, 1});
  const std::byte wanted{read->flg_cmp};
  const Match ports = both(
      inverted_by(read->invflags, XT_TCP_INV_SRCPT, is_port_within(packet, kSourcePort, read->spts)),
      inverted_by(read->invflags, XT_TCP_INV_DSTPT, is_port_within(packet, kDestinationPort, read->dpts)));
  const Match by_flags = inverted_by(read->invflags, XT_TCP_INV_FLAGS, is_equal(flags, {&wanted, 1}));
  return both(both(ports, by_flags), read->option != 0 ? Match::maybe : Match::yes);
}

std::string name_of_target(const Expression& target) {
  const auto table = AttributeTable<NFTA_TARGET_MAX + 1>::parse(target.data, "target");
  return table ? table->text(NFTA_TARGET_NAME) : "";
}

}  // namespace

Match matches_of_iptables(const Expression& match, const Packet& packet) {
  auto table = AttributeTable<NFTA_MATCH_MAX + 1>::parse(match.data, "match");
  if (!table) return Match::maybe;
  const std::string name = table->text(NFTA_MATCH_NAME);
  const std::uint32_t revision = number_of(*table, NFTA_MATCH_REV).value_or(0);
  const Bytes info = table->bytes(NFTA_MATCH_INFO);
  if (name == "comment") return Match::yes;
  if (name == "conntrack" && (revision == 2 || revision == 3)) return of_conntrack(info, packet);
  if (name == "mark" && revision == 1) return of_mark(info, packet);
  if (name == "udp" && revision == 0) return of_udp(info, packet);
  if (name == "tcp" && revision == 0) return of_tcp(info, packet);
  return Match::maybe;
}

std::string taken_by_target(const Expression& target) {
  static constexpr const char* kTaking[] = {
      "DNAT",  "DROP",     "DSCP",   "HL",   "MASQUERADE", "MIRROR", "NETMAP", "NFQUEUE",
      "QUEUE", "REDIRECT", "REJECT", "SNAT", "SYNPROXY",   "TOS",    "TPROXY", "TTL"};
  std::string name = name_of_target(target);
  return std::ranges::find(kTaking, name) != std::end(kTaking) ? name : "";
}

bool may_untrack(const Expression& target) {
  const std::string name = name_of_target(target);
  return name == "CT" || name == "NOTRACK";
}

}  // namespace lockstep::nft
