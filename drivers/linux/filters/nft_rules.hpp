// The rules of nf_tables in one network namespace, as the kernel dumps them; iptables-nft's are among them.
//
// Promises: only decodes; nft_walk.hpp evaluates the rules. Dormant tables are left out, as are sets that no
// rule looks something up in. Of a set with more than kElementsMax elements only the name is kept. Refuses
// messages with wrong lengths; what is not understood is kept as received. Formats:
// linux/netfilter/nf_tables.h, nfnetlink.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "drivers/linux/netlink_socket.hpp"

namespace lockstep::nft {

// NFPROTO_* of linux/netfilter.h, which can't be included beside netinet/in.h.
inline constexpr std::uint8_t kInet = 1, kIpv4 = 2, kNetdev = 5, kIpv6 = 10;

struct Expression {
  std::string name;  // "payload", "cmp"
  std::vector<std::byte> data;
};
using Rule = std::vector<Expression>;

struct Hook {
  std::uint32_t number = 0;  // NF_INET_*, NF_NETDEV_*
  std::int32_t priority = 0;
  std::vector<std::string> devices;  // of netdev, and of ingress; "rail*" matches by prefix
};

struct Chain {
  std::uint8_t family = 0;  // NFPROTO_*
  std::string table;
  std::string name;
  std::optional<Hook> hook;  // of a base chain
  bool policy_drops = false;
  std::vector<Rule> rules;
};

struct Element {
  std::vector<std::byte> key;
  std::vector<std::byte> key_end;  // inclusive; empty: the key alone
  bool ends_interval = false;      // the key is the first one after an interval
  bool for_all_else = false;
  std::vector<std::byte> data;  // of a map: what NFTA_SET_ELEM_DATA holds
};

struct Set {
  bool has_intervals = false;
  bool whole = true;              // false: it has more elements than are read
  std::vector<Element> elements;  // by key
};

// A family, a table and a name in it.
using Name = std::tuple<std::uint8_t, std::string, std::string>;

struct Ruleset {
  std::map<Name, Chain> chains;
  std::map<Name, Set> sets;
};

// An arbitrary limit: 100,000 addresses are a large blocklist.
inline constexpr std::size_t kElementsMax = 100'000;

// A number that increases with each change of the rules; none: this kernel has no nf_tables.
Result<std::optional<std::uint32_t>> generation(netlink::Socket& socket, const Call& call);
Result<Ruleset> read_ruleset(netlink::Socket& socket, const Call& call);

// Decoders; nullopt: of no interest.
Result<std::optional<Chain>> decode_chain(netlink::Bytes payload);
struct RuleOf {
  Name chain;
  Rule rule;
};
Result<std::optional<RuleOf>> decode_rule(netlink::Bytes payload);
Result<std::vector<Element>> decode_elements(netlink::Bytes payload);

// The kernel's numbers here are big-endian.
template <std::size_t N>
std::optional<std::uint32_t> number_of(netlink::AttributeTable<N>& table, std::size_t type) {
  const auto read = table.template number<std::uint32_t>(type);
  return read ? std::optional(__builtin_bswap32(*read)) : std::nullopt;
}

}  // namespace lockstep::nft
