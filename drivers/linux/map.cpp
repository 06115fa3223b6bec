#include "drivers/linux/map.hpp"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>

#include <algorithm>

#include "drivers/linux/host/setting.hpp"
#include "drivers/linux/map_words.hpp"
#include "drivers/linux/route_extras.hpp"
#include "drivers/linux/route_mtu.hpp"
#include "drivers/linux/sysctl.hpp"
#include "drivers/mapped/map_table.hpp"
#include "specs/model/mtu_lock.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep::linux_map {
namespace {

constexpr RowId kRouteMtu = row("route-mtu[*]");

// The source and destination of a row's reading.
struct Reading {
  const HostState& state;
  const std::set<std::string>& named_sysctls;
  const std::set<std::string>& pools;  // prefixes
  TreeBuilder& tree;
  std::vector<Unread>& unread;
};

template <Value (*value)(const Link&)>
void of_ports(RowId id, Reading& out) {
  for (const Link& link : out.state.network.links) out.tree.add(Path(id, {link.name}), value(link));
}

Value there(const Link&) { return Value::present(); }
Value admin(const Link& link) { return Value::boolean(link.admin_up); }
Value carrier(const Link& link) { return Value::boolean(link.carrier); }
Value mtu(const Link& link) { return Value::integer(link.mtu); }

void read_ecn_threshold(RowId id, Reading& out) {
  for (const Link& link : out.state.network.links)
    if (const auto ecn = out.state.ecn_thresholds.find(link.index); ecn != out.state.ecn_thresholds.end())
      out.tree.add(Path(id, {link.name}), Value::integer(ecn->second));
  if (out.state.queueing_unread) out.unread.push_back(Unread{id, {}, *out.state.queueing_unread});
}

void read_addresses(RowId id, Reading& out) {
  for (const InterfaceAddress& one : out.state.network.addresses) {
    const Link* link = out.state.network.link(one.index);
    if (link == nullptr || is_link_local(one.prefix.address) || is_loopback(one.prefix.address)) continue;
    out.tree.add(Path(id, {link->name, one.prefix.text()}), Value::present());
  }
}

std::string table_text(std::uint32_t table) {
  if (table == RT_TABLE_MAIN) return "main";
  if (table == RT_TABLE_DEFAULT) return "default";
  return std::to_string(table);
}

Result<std::uint32_t> table_number(std::string_view text) {
  if (text == "main") return std::uint32_t{RT_TABLE_MAIN};
  if (text == "default") return std::uint32_t{RT_TABLE_DEFAULT};
  TRY(const std::uint64_t number, parse_number(text, 0xFFFFFFFF));
  if (number == 0 || number == RT_TABLE_LOCAL)
    return Error{ErrorKind::invalid_spec, "routing table '" + std::string(text) + "' is the kernel's own"};
  return static_cast<std::uint32_t>(number);
}

std::string hop_text(const NextHop& hop, const NetworkState& network) {
  const Link* link = network.link(hop.index);
  const std::string port = link != nullptr ? link->name : "#" + std::to_string(hop.index);
  return (hop.gateway ? "via " + hop.gateway->text() + " dev " : "dev ") + port + extras(hop);
}

// Several routes to one destination, with different metrics or TOS, must be visible: their next hops are
// joined.
void read_routes(RowId id, Reading& out) {
  std::map<std::string, std::vector<std::string>> hops;
  for (const Route& route : out.state.network.routes) {
    if (route.protocol != kOwnProtocol) continue;
    std::vector<std::string>& those = hops[table_text(route.table) + ":" + route.destination.text()];
    const std::string more = extras(route);
    if (route.hops.empty()) those.push_back("nowhere" + more);
    for (const NextHop& hop : route.hops) those.push_back(hop_text(hop, out.state.network) + more);
  }
  for (auto& [key, those] : hops) out.tree.add(Path(id, {key}), Value::set(std::move(those)));
}

void read_route_mtus(RowId id, Reading& out) {
  for (const std::string& text : out.pools)
    if (const auto pool = IpPrefix::parse(text))
      if (const Value mtu = route_mtu(*pool, out.state.network)) out.tree.add(Path(id, {text}), mtu);
}

// The best routes of the main table: lowest metric; IPv6 may list equal ones one by one.
struct Best {
  std::uint32_t metric = 0;
  std::vector<std::string> ports;
};
std::map<IpPrefix, Best> best_routes(const NetworkState& network) {
  std::map<IpPrefix, Best> best;
  for (const Route& route : network.routes) {
    if (route.table != RT_TABLE_MAIN || route.type != RTN_UNICAST) continue;
    if (is_link_local(route.destination.address)) continue;
    const auto [at, fresh] = best.try_emplace(route.destination, Best{route.metric, {}});
    if (!fresh && route.metric > at->second.metric) continue;
    if (!fresh && route.metric < at->second.metric) at->second = Best{route.metric, {}};
    for (const NextHop& hop : route.hops) {
      if ((hop.flags & RTNH_F_DEAD) != 0) continue;
      if (const Link* link = network.link(hop.index)) at->second.ports.push_back(link->name);
    }
  }
  return best;
}

void read_fib(RowId id, Reading& out) {
  for (auto& [prefix, one] : best_routes(out.state.network))
    out.tree.add(Path(id, {prefix.text()}), Value::set(std::move(one.ports)));
}

void read_fib_paths(RowId id, Reading& out) {
  for (const auto& [prefix, one] : best_routes(out.state.network))
    out.tree.add(Path(id, {prefix.text()}), Value::integer(one.ports.size()));
}

void read_rules(RowId id, Reading& out) {
  // Two rules of ours at one priority must be visible: their texts are joined.
  std::map<std::uint32_t, std::set<std::string>> by_priority;
  for (const Rule& rule : out.state.network.rules) {
    if (rule.protocol != kOwnProtocol) continue;
    std::string text = "from " + rule.from.value_or(everything(rule.family)).text() + " lookup " +
                       (rule.action == FR_ACT_TO_TBL ? table_text(rule.table) : "nothing");
    if (!rule.plain) text += " under further conditions";
    by_priority[rule.priority].insert(std::move(text));
  }
  for (const auto& [priority, texts] : by_priority) {
    std::string joined;
    for (const std::string& one : texts) joined += (joined.empty() ? "" : " and ") + one;
    out.tree.add(Path(id, {std::to_string(priority)}), Value::text(joined));
  }
}

void read_sysctls(RowId id, Reading& out) {
  for (const auto& [name, value] : out.state.sysctls) {
    if (value)
      out.tree.add(Path(id, {name}), Value::text(*value));
    else if (out.named_sysctls.contains(name) &&
             value.error().kind != ErrorKind::unsupported)  // observe() reports it
      out.unread.push_back(Unread{id, {name}, value.error()});
  }
}

Result<Done> write_admin(Session& session, const Change& change) {
  TRY(const bool up, wanted_boolean(change));
  return session.set_admin(change.path.key(0), up);
}

std::string first_key(const Change& change) { return std::string(change.path.key(0)); }

std::string admin_words(const Change& change) {
  return "ip link set dev " + first_key(change) + (change.want.as_boolean() ? " up" : " down");
}

Result<Done> write_mtu(Session& session, const Change& change) {
  TRY(const std::uint64_t mtu, wanted_integer(change, 0x7FFFFFFF));
  return session.set_mtu(change.path.key(0), static_cast<std::uint32_t>(mtu));
}

std::string mtu_words(const Change& change) {
  return "ip link set dev " + first_key(change) + " mtu " + change.want.to_string();
}

Result<Done> write_ecn_threshold(Session& session, const Change& change) {
  std::optional<std::uint64_t> threshold;
  if (change.want) {
    TRY(threshold, wanted_integer(change, 0xFFFFFFFF));
  }
  return session.set_ecn_threshold(change.path.key(0), threshold);
}

std::string ecn_threshold_words(const Change& change) {
  return "tc filter " + std::string(change.want ? "replace" : "del") + " dev " + first_key(change) +
         " egress pref 76 bpf direct-action object ecn_marker.bpf.o" +
         (change.want ? "  # marks above " + change.want.to_string() + " B of backlog" : "");
}

Result<Session::Hop> parse_hop(std::string_view text) {
  Session::Hop out;
  constexpr std::string_view kVia = "via ";
  constexpr std::string_view kDev = "dev ";
  if (text.starts_with(kVia)) {
    const std::size_t end = text.find(' ', kVia.size());
    TRY(out.via, parse_address(text.substr(kVia.size(), end - kVia.size())));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  if (!text.starts_with(kDev) || text.size() == kDev.size())
    return Error{ErrorKind::invalid_spec, "a next hop is written 'via ADDRESS dev PORT' or 'dev PORT'"};
  out.port = text.substr(kDev.size());
  if (out.port.find(' ') != std::string::npos)
    return Error{ErrorKind::invalid_spec,
                 "a next hop with more than a port is another hand's: '" + std::string(text) + "'"};
  return out;
}

Result<Done> write_route(Session& session, const Change& change) {
  const std::string_view key = change.path.key(0);
  const std::size_t colon = key.find(':');
  if (colon == std::string_view::npos)
    return Error{ErrorKind::invalid_spec, "a route's key is table:prefix, not '" + std::string(key) + "'"};
  TRY(const std::uint32_t table, table_number(key.substr(0, colon)));
  TRY(const IpPrefix destination, parse_prefix(key.substr(colon + 1)));
  if (!change.want) return session.remove_route(table, destination);
  std::vector<Session::Hop> hops;
  for (const std::string_view text : change.want.as_list()) {
    TRY(auto hop, parse_hop(text));
    hops.push_back(std::move(hop));
  }
  return session.set_route(table, destination, hops);
}

std::string route_words(const Change& change) {
  const std::string_view key = change.path.key(0);
  const std::size_t colon = std::min(key.find(':'), key.size());
  const std::string table(key.substr(0, colon));
  const std::string prefix(key.substr(std::min(colon + 1, key.size())));
  const std::string tail = " table " + table + " proto " + std::to_string(kOwnProtocol);
  if (!change.want) return "ip route del " + prefix + tail;
  const auto hops = change.want.as_list();
  return "ip route replace " + prefix + (hops.size() == 1 ? join(hops, " ") : join(hops, " nexthop ")) + tail;
}

Result<Done> write_route_mtu(Session& session, const Change& change) {
  TRY(const IpPrefix pool, parse_prefix(change.path.key(0)));
  if (!change.want) return session.lock_routes(pool, std::nullopt);
  const auto mtu = mtu_locked_to(change.want);
  if (!mtu || *mtu == 0)
    return Error{ErrorKind::invalid_spec, "what routes are locked to is written 'mtu lock BYTES'"};
  return session.lock_routes(pool, mtu);
}

std::string route_mtu_words(const Change& change) {
  return "ip route change ROUTE" + (change.want ? " " + std::string(change.want.as_text()) : "") +
         "  # each of proto " + std::to_string(kOwnProtocol) + " to " + first_key(change) +
         ", and in the tables of rules from there";
}

Result<Done> write_rule(Session& session, const Change& change) {
  TRY(const std::uint64_t priority, parse_number(change.path.key(0), 0xFFFFFFFF));
  if (!change.want) return session.set_rule(static_cast<std::uint32_t>(priority), std::nullopt);
  const std::string_view text = change.want.as_text();
  constexpr std::string_view kFrom = "from ";
  constexpr std::string_view kLookup = " lookup ";
  const std::size_t lookup = text.find(kLookup);
  if (!text.starts_with(kFrom) || lookup == std::string_view::npos)
    return Error{ErrorKind::invalid_spec, "a rule is written 'from PREFIX lookup TABLE'"};
  Session::RuleWanted rule;
  TRY(rule.from, parse_prefix(text.substr(kFrom.size(), lookup - kFrom.size())));
  TRY(rule.table, table_number(text.substr(lookup + kLookup.size())));
  return session.set_rule(static_cast<std::uint32_t>(priority), rule);
}

std::string rule_words(const Change& change) {
  return "ip rule " +
         (change.want ? "add " + std::string(change.want.as_text()) + " priority " + first_key(change)
                      : "del priority " + first_key(change)) +
         " protocol " + std::to_string(kOwnProtocol);
}

Result<Done> write_address(Session& session, const Change& change) {
  TRY(const IpPrefix prefix, parse_prefix(change.path.key(1)));
  if (!change.want) return session.remove_address(change.path.key(0), prefix);
  return session.add_address(change.path.key(0), prefix);
}

std::string address_words(const Change& change) {
  return "ip address " + std::string(change.want ? "add " : "del ") + std::string(change.path.key(1)) +
         " dev " + first_key(change);
}

Result<Done> write_sysctl_row(Session&, const Change& change) {
  if (!change.want)
    return Error{ErrorKind::refused, change.path.text() + ": a kernel parameter always has a value"};
  return write_sysctl(change.path.key(0), change.want.as_text());
}

std::string sysctl_words(const Change& change) {
  return "sysctl -w " + first_key(change) + "='" + change.want.to_string() + "'";
}

// What has to be read for a row, in addition to the links, which are always read.
enum class Needs : std::uint8_t { links, addresses, routes, rules, routes_and_rules, queueing };

struct MapRow {
  RowId row;
  Needs needs;
  void (*read)(RowId, Reading&);
  Result<Done> (*write)(Session&, const Change&) = nullptr;
  std::string (*native)(const Change&) = nullptr;
  Given given = Given::always;
};
constexpr MapRow kRows[] = {
    {kPort, Needs::links, of_ports<there>},
    {kAddress, Needs::addresses, read_addresses, write_address, address_words},
    {kAdmin, Needs::links, of_ports<admin>, write_admin, admin_words},
    {row("interface[*]/carrier"), Needs::links, of_ports<carrier>},
    {row("interface[*]/ecn-threshold"), Needs::queueing, read_ecn_threshold, write_ecn_threshold,
     ecn_threshold_words, Given::by_marker},
    {kMtu, Needs::links, of_ports<mtu>, write_mtu, mtu_words},
    {kFib, Needs::routes, read_fib},
    {row("fib[*]/paths"), Needs::routes, read_fib_paths},
    {kRouteMtu, Needs::routes_and_rules, read_route_mtus, write_route_mtu, route_mtu_words},
    {row("route[*]"), Needs::routes, read_routes, write_route, route_words},
    {row("rule[*]"), Needs::rules, read_rules, write_rule, rule_words},
    {kSysctl, Needs::links, read_sysctls, write_sysctl_row, sysctl_words},
};
static_assert(has_each_row_once(kRows));

// The rows of lldpd, which are read if its socket is named.
struct LldpRow {
  RowId row;
  void (*read)(RowId, const LldpdAnswer&, const NetworkState&, TreeBuilder&, std::vector<Unread>&);
};

void read_agent(RowId id, const LldpdAnswer& answer, const NetworkState&, TreeBuilder& tree,
                std::vector<Unread>& unread) {
  using Agent = LldpdAnswer::Agent;
  switch (answer.agent) {
    case Agent::answers: tree.add(Path(id, {}), Value::text("running")); break;
    case Agent::absent: tree.add(Path(id, {}), Value::text("lldpd does not run")); break;
    case Agent::silent: tree.add(Path(id, {}), Value::text("lldpd does not answer")); break;
    case Agent::unclear: unread.push_back(Unread{id, {}, *answer.why}); break;
  }
}

void read_peers(RowId id, const LldpdAnswer& answer, const NetworkState& network, TreeBuilder& tree,
                std::vector<Unread>& unread) {
  if (answer.why) {
    unread.push_back(Unread{id, {}, *answer.why});
    return;
  }
  for (const auto& [port, neighbour] : answer.heard)
    if (const Link* const link = network.link(port); link != nullptr && link->carrier)
      tree.add(Path(id, {port}), Value::text(neighbour.text()));
}

constexpr LldpRow kLldpRows[] = {{kLldpAgent, read_agent}, {row("interface[*]/peer"), read_peers}};

void append(std::vector<RowId>& to, const std::vector<RowId>& rows) {
  to.insert(to.end(), rows.begin(), rows.end());
}

}  // namespace

std::string join(const std::vector<std::string_view>& parts, std::string_view before) {
  std::string out;
  for (const std::string_view one : parts) out += std::string(before) + std::string(one);
  return out;
}

Result<std::uint64_t> wanted_integer(const Change& change, std::int64_t max) {
  if (change.want.kind() == Value::Kind::integer && change.want.as_integer() >= 0 &&
      change.want.as_integer() <= max)
    return static_cast<std::uint64_t>(change.want.as_integer());
  return Error{ErrorKind::invalid_spec, change.path.text() + " takes a number from 0 to " +
                                            std::to_string(max) + ", and can't be unset"};
}

std::vector<RowId> rows_written() {
  std::vector<RowId> out = written_rows_of(kRows);
  append(out, scheduler_rows());
  return out;
}

std::vector<RowId> rows_read() {
  std::vector<RowId> out = rows_of(kRows);
  append(out, scheduler_rows());
  return out;
}

Given given_of(RowId id) {
  const MapRow* const one = find_row(kRows, id);
  return one == nullptr ? scheduler_row_given(id) : one->given;
}

HostWanted wanted_for(const Scope& scope) {
  const auto wants = [&](Needs needs) {
    return std::ranges::any_of(kRows,
                               [&](const MapRow& one) { return one.needs == needs && scope.wants(one.row); });
  };
  HostWanted out;
  out.network.addresses = wants(Needs::addresses);
  out.network.routes = wants(Needs::routes) || wants(Needs::routes_and_rules);
  out.network.rules = wants(Needs::rules) || wants(Needs::routes_and_rules);
  out.queueing = wants(Needs::queueing) || wants_scheduler(scope);
  return out;
}

std::vector<std::string> sysctl_names(const NetworkState& network, const std::set<std::string>& named) {
  static constexpr std::string_view kGlobal[] = {
      "net.ipv4.ip_forward",
      "net.ipv4.fib_multipath_hash_fields",
      "net.ipv4.fib_multipath_hash_policy",
      "net.ipv4.fib_multipath_use_neigh",
      "net.ipv4.tcp_congestion_control",
      "net.ipv4.tcp_ecn",
      "net.ipv6.conf.all.forwarding",
      "net.ipv6.fib_multipath_hash_policy",
  };
  static constexpr std::string_view kPerPort[] = {"arp_announce", "arp_filter", "arp_ignore", "rp_filter"};
  std::set<std::string> out(named);
  for (const std::string_view name : kGlobal) out.emplace(name);
  const auto add_port = [&](std::string port) {
    std::replace(port.begin(), port.end(), '.', '/');
    for (const std::string_view entry : kPerPort)
      out.insert("net.ipv4.conf." + port + "." + std::string(entry));
  };
  add_port("all");
  for (const Link& link : network.links)
    if (!link.loopback) add_port(link.name);
  return {out.begin(), out.end()};
}

void entries(const HostState& state, const Scope& scope, const std::set<std::string>& named_sysctls,
             TreeBuilder& tree, std::vector<Unread>& unread) {
  const std::set<std::string> pools = scope.names(kRouteMtu);
  Reading out{state, named_sysctls, pools, tree, unread};
  for (const MapRow& one : kRows)
    if (scope.wants(one.row)) one.read(one.row, out);
  scheduler_entries(state, scope, tree, unread);
}

std::vector<std::string> marker_notes(const HostState& state) {
  const auto marks = [](const auto& port) {
    const auto& classes = scheduler_of(port.second).classes;
    return std::any_of(classes.begin(), classes.end(), [](const auto& one) { return one.second.ecn.max; });
  };
  std::vector<std::string> out;
  if (std::any_of(state.queueing.begin(), state.queueing.end(), marks))
    out.emplace_back("ECN is marked by RED, class by class");
  if (!state.ecn_thresholds.empty()) out.emplace_back("ECN is marked by an eBPF program, port by port");
  return out;
}

std::vector<RowId> lldp_rows() { return rows_of(kLldpRows); }
bool wants_lldp(const Scope& scope) { return wants_any(scope, kLldpRows); }

void lldp_entries(const LldpdAnswer& answer, const NetworkState& network, const Scope& scope,
                  TreeBuilder& tree, std::vector<Unread>& unread) {
  for (const LldpRow& one : kLldpRows)
    if (scope.wants(one.row)) one.read(one.row, answer, network, tree, unread);
}

std::optional<std::string> sysctl_of(const Change& change) {
  if (change.path.row() != kSysctl) return std::nullopt;
  return std::string(change.path.key(0));
}

Result<Done> change(Session& session, const Change& change) {
  const MapRow* const one = find_row(kRows, change.path.row());
  if (one == nullptr || one->write == nullptr)
    return Error{ErrorKind::unsupported, "the linux driver does not set " + change.path.text()};
  return one->write(session, change);
}

std::string native(const Change& change, Carrier carrier) {
  if (is_scheduler_row(change.path.row())) return scheduler_words(change, carrier);
  const MapRow* const one = find_row(kRows, change.path.row());
  return one == nullptr || one->native == nullptr ? std::string() : one->native(change);
}

}  // namespace lockstep::linux_map
