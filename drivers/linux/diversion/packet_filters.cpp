#include "drivers/linux/diversion/packet_filters.hpp"

#include <linux/netfilter/nf_tables.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "drivers/linux/diversion/questions.hpp"
#include "drivers/linux/filters/nft_walk.hpp"

namespace lockstep::diversion {
namespace {

using nft::CtState;
using nft::Field;
using nft::Packet;
using Texts = std::vector<std::string>;

using nft::kInet, nft::kIpv4, nft::kIpv6, nft::kNetdev;
constexpr std::uint32_t kNone = 99;

// Packets pass conntrack on input and when they are sent (NF_IP_PRI_CONNTRACK, linux/netfilter_ipv4.h).
using Priority = std::numeric_limits<std::int32_t>;
constexpr std::int32_t kConntrack = -200, kBeforeIt = Priority::max(), kBehindIt = Priority::min();

// By NF_INET_* and NF_NETDEV_* of linux/netfilter.h.
struct Stage {
  const char* name;
  std::uint32_t inet;
  std::uint32_t netdev;
  std::int32_t tracked_from;  // tracked from this priority on
};
constexpr Stage kIngress{"ingress", 5, 0, kBeforeIt};
constexpr Stage kPrerouting{"prerouting", 0, kNone, kConntrack};
constexpr Stage kInput{"input", 1, kNone, kBehindIt};
constexpr Stage kForward{"forward", 2, kNone, kBehindIt};
constexpr Stage kOutput{"output", 3, kNone, kConntrack};
constexpr Stage kPostrouting{"postrouting", 4, kNone, kBehindIt};
constexpr Stage kEgress{"egress", kNone, 1, kBehindIt};

std::string family_word(std::uint8_t family) {
  return family == kInet ? "inet" : family == kIpv4 ? "ip" : family == kIpv6 ? "ip6" : "netdev";
}

bool is_of_device(const nft::Hook& hook, const std::string& device) {
  return std::ranges::any_of(hook.devices, [&](const std::string& one) {
    return one.ends_with('*') ? device.starts_with(std::string_view(one).substr(0, one.size() - 1))
                              : one == device;
  });
}

// The base chains that a packet passes at a stage, in order.
std::vector<const nft::Chain*> chains_at(const nft::Ruleset& rules, const Stage& stage, bool v6,
                                         const std::string& device) {
  std::vector<const nft::Chain*> out;
  for (const auto& [name, chain] : rules.chains) {
    if (!chain.hook) continue;
    const bool of_ip = chain.family == kInet || chain.family == (v6 ? kIpv6 : kIpv4);
    const bool of_device = chain.family == kNetdev || (chain.family == kInet && stage.inet == kIngress.inet);
    const std::uint32_t number = chain.family == kNetdev ? stage.netdev : of_ip ? stage.inet : kNone;
    if (number == kNone || chain.hook->number != number) continue;
    if (!of_device || is_of_device(*chain.hook, device)) out.push_back(&chain);
  }
  std::ranges::stable_sort(out, {}, [](const nft::Chain* one) { return one->hook->priority; });
  return out;
}

// An address of which only a prefix is known.
Field field_of(const IpPrefix& prefix) {
  Field out = Field::of(bytes_of(prefix.address));
  for (std::size_t bit = prefix.length; bit < 8 * out.known.size(); ++bit)
    out.known[bit / 8] &= ~std::byte(0x80U >> (bit % 8));
  return out;
}

void put(Field& to, std::size_t offset, std::uint8_t value, std::uint8_t known = 0xFF) {
  to.value[offset] = std::byte{value};
  to.known[offset] = std::byte{known};
}

constexpr std::size_t hops_of(bool v6) { return v6 ? 7 : 8; }

// RFC 791 3.1 and RFC 8200 3: not a fragment, any DSCP and length; with the initial hop limit
// (net/ipv4/route.c, IPDEFTTL).
Field ip_header(bool v6, std::uint8_t protocol, const IpPrefix& from, const IpPrefix& to) {
  constexpr std::uint8_t kHops = 64;
  Field out = Field::unknown(v6 ? 40 : 20);
  put(out, 0, v6 ? 0x60 : 0x45, v6 ? 0xF0 : 0xFF);
  if (!v6) {
    put(out, 6, 0, 0xBF);  // all but "don't fragment"
    put(out, 7, 0);
  }
  put(out, v6 ? 6 : 9, protocol);
  put(out, hops_of(v6), kHops);
  out.put(v6 ? 8 : 12, field_of(from));
  out.put(v6 ? 24 : 16, field_of(to));
  return out;
}

Field transport_header(std::uint8_t protocol, std::uint8_t flags) {
  Field out = Field::unknown(protocol == IPPROTO_UDP ? 8 : 20);
  if (protocol == IPPROTO_UDP) {
    put(out, 0, kRoceSourceBits >> 8, kRoceSourceBits >> 8);
    put(out, 2, kRoce >> 8);
    put(out, 3, kRoce & 0xFF);
  } else {
    for (const std::size_t port : {0U, 2U}) put(out, port, kOwnPortBits >> 8, kOwnPortBits >> 8);
    put(out, 13, flags);
  }
  return out;
}

// A step in a connection's life: RFC 9293 3.1, 3.5 and 3.6.
struct Stroke {
  std::uint8_t protocol;
  CtState state;
  std::uint8_t flags;
};
constexpr std::uint8_t kFin = 0x01, kSyn = 0x02, kPush = 0x08, kAck = 0x10;
constexpr Stroke kStrokes[] = {{IPPROTO_UDP, CtState::fresh, 0},
                               {IPPROTO_UDP, CtState::established, 0},
                               {IPPROTO_TCP, CtState::fresh, kSyn},
                               {IPPROTO_TCP, CtState::established, kSyn | kAck},
                               {IPPROTO_TCP, CtState::established, kAck},
                               {IPPROTO_TCP, CtState::established, kPush | kAck},
                               {IPPROTO_TCP, CtState::established, kFin | kAck}};

// Whether any rule marks connections: then a packet may have any connection mark.
bool mark_connections(const nft::Ruleset& rules) {
  const auto writes = [](const nft::Expression& one) {
    if (one.name == "target") return true;  // CONNMARK, among others
    if (one.name != "ct") return false;
    auto table = netlink::AttributeTable<NFTA_CT_MAX + 1>::parse(one.data, "ct");
    return !table ||
           (table->has(NFTA_CT_SREG) && nft::number_of(*table, NFTA_CT_KEY) == std::uint32_t{NFT_CT_MARK});
  };
  return std::ranges::any_of(rules.chains, [&](const auto& chain) {
    return std::ranges::any_of(chain.second.rules,
                               [&](const nft::Rule& rule) { return std::ranges::any_of(rule, writes); });
  });
}

// Packets of the pool on their way through one device.
class Journeys {
 public:
  Journeys(const nft::Ruleset& rules, const IpPrefix& pool)
      : rules_(rules), pool_(pool), marks_connections_(mark_connections(rules)), passing_(ways(pool, pool)) {}

  // Forwarded from port to port.
  void pass(const nft::Port& in, const nft::Port& out) {
    for (Way way : passing_) {
      Packet& packet = way.packet;
      packet.in = in;
      meet(kIngress, way, in.name);
      meet(kPrerouting, way);
      put(packet.network, hops_of(packet.v6), kHopsLeft, kHopsKnown);
      packet.out = out;
      meet(kForward, way);
      meet(kPostrouting, way);
      meet(kEgress, way, out.name);
    }
  }
  void arrive(const nft::Port& in, const IpPrefix& here) {
    for (Way way : ways(pool_, here)) {
      Packet& packet = way.packet;
      packet.in = in;
      packet.to_here = true;
      put(packet.network, hops_of(packet.v6), kHopsLeft, kHopsKnown);
      meet(kIngress, way, in.name);
      meet(kPrerouting, way);
      meet(kInput, way);
    }
  }
  void leave(const nft::Port& out, const IpPrefix& here) {
    for (Way way : ways(here, pool_)) {
      way.packet.out = out;
      way.packet.from_here = true;
      meet(kOutput, way);
      meet(kPostrouting, way);
      meet(kEgress, way, out.name);
    }
  }
  Texts found() const { return {found_.begin(), found_.end()}; }

 private:
  // After one to four switches, starting from 64 hops.
  static constexpr std::uint8_t kHopsLeft = 60, kHopsKnown = 0xFC;

  struct Way {
    Packet packet;
    CtState found;  // by conntrack
  };
  std::vector<Way> ways(const IpPrefix& from, const IpPrefix& to) const {
    std::vector<Way> out;
    for (const Stroke& stroke : kStrokes) {
      Packet& one = out.emplace_back(Way{{}, stroke.state}).packet;
      one.v6 = pool_.address.v6;
      one.protocol = stroke.protocol;
      one.network = ip_header(one.v6, stroke.protocol, from, to);
      one.transport = transport_header(stroke.protocol, stroke.flags);
      one.state = Field::of_number(CtState::invalid);
      if (marks_connections_) one.connection_mark = Field::unknown(sizeof(std::uint32_t));
    }
    return out;
  }

  void meet(const Stage& stage, Way& way, const std::string& device = {}) {
    for (const nft::Chain* const chain : chains_of(stage, device)) {
      if (chain->hook->priority >= stage.tracked_from) track(way);
      for (const std::string& what : nft::taken_by(rules_, *chain, way.packet))
        found_.insert("nft " + family_word(chain->family) + " " + chain->table + " " + chain->name + " (" +
                      stage.name + (device.empty() ? "" : " of " + device) + "): " + what);
    }
  }

  // Cached, as each port is looked up many times.
  const std::vector<const nft::Chain*>& chains_of(const Stage& stage, const std::string& device) {
    const auto [found, is_new] = chains_.try_emplace({&stage, device});
    if (is_new) found->second = chains_at(rules_, stage, pool_.address.v6, device);
    return found->second;
  }

  // Except for packets that were exempted from tracking before.
  static void track(Way& way) {
    const auto invalid = Field::of_number(CtState::invalid);
    if (nft::is_equal(way.packet.state, invalid.value) == nft::Match::yes)
      way.packet.state = Field::of_number(way.found);
  }

  const nft::Ruleset& rules_;
  const IpPrefix pool_;
  const bool marks_connections_;
  const std::vector<Way> passing_;
  std::map<std::pair<const Stage*, std::string>, std::vector<const nft::Chain*>> chains_;
  std::set<std::string> found_;
};

struct OwnAddress {
  nft::Port port;
  IpPrefix address;  // a single address
};

std::vector<OwnAddress> own_addresses(const Ground& ground, const IpPrefix& pool) {
  std::vector<OwnAddress> out;
  for (const InterfaceAddress& one : ground.network.addresses) {
    const Link* const link = ground.network.link(one.index);
    if (link == nullptr || link->loopback || !ground.ports.contains(one.index)) continue;
    if (!pool.contains(one.prefix.address)) continue;
    out.push_back({{link->index, link->name}, alone(one.prefix.address)});
  }
  return out;
}

std::vector<nft::Port> wanted_ports(const Ground& ground) {
  std::vector<nft::Port> out;
  for (const Link& link : ground.network.links)
    if (ground.ports.contains(link.index) && !link.loopback) out.push_back({link.index, link.name});
  return out;
}

// The number of other ports that each port is paired with, as some rules may apply to a single pair.
std::size_t others_tried(std::size_t ports, const nft::Ruleset& rules) {
  if (rules.chains.empty()) return 0;
  std::size_t count = 1;
  for (const auto& [name, chain] : rules.chains) count += chain.rules.size();
  return ports > 1 && ports * ports * count <= kPairRulesMax ? ports - 1 : 1;
}

// Identifies this thread's namespace, as a recreated one restarts its rules' generation.
std::string namespace_number() {
  struct stat seen {};
  return ::stat("/proc/thread-self/ns/net", &seen) == 0 ? std::to_string(seen.st_ino) : "";
}

// Everything that the result depends on.
std::string question_of(std::uint32_t generation, const std::vector<nft::Port>& ports,
                        const std::vector<OwnAddress>& addresses) {
  std::string out = std::to_string(generation) + " " + namespace_number();
  for (const nft::Port& one : ports) out += " " + std::to_string(one.index) + " " + one.name;
  for (const OwnAddress& one : addresses) out += " " + one.port.name + " " + one.address.text();
  return out;
}

}  // namespace

Result<Texts> RuleFilters::of(const Ground& ground, const IpPrefix& pool, bool transit, const Call& call) {
  auto socket = netlink::Socket::open(NETLINK_NETFILTER);
  if (!socket && socket.error().kind == ErrorKind::unsupported) return Texts{};
  if (!socket) return socket.error();
  TRY(const std::optional<std::uint32_t> generation, nft::generation(*socket, call));
  if (!generation) return Texts{};
  const std::vector<nft::Port> ports = transit ? wanted_ports(ground) : std::vector<nft::Port>();
  const std::vector<OwnAddress> addresses = transit ? std::vector<OwnAddress>() : own_addresses(ground, pool);
  Known& known = known_[pool.text()];
  std::string question = question_of(*generation, ports, addresses);
  if (known.question == question) return known.found;
  TRY(const nft::Ruleset rules, nft::read_ruleset(*socket, call));
  Journeys journeys(rules, pool);
  const std::size_t others = others_tried(ports.size(), rules);
  for (std::size_t i = 0; i < ports.size(); ++i)
    for (std::size_t k = 1; k <= others; ++k) journeys.pass(ports[i], ports[(i + k) % ports.size()]);
  for (const OwnAddress& one : addresses) {
    journeys.arrive(one.port, one.address);
    journeys.leave(one.port, one.address);
  }
  known = {std::move(question), journeys.found()};
  return known.found;
}

}  // namespace lockstep::diversion
