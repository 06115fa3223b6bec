#include "drivers/linux/map.hpp"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>

#include <algorithm>

#include "drivers/linux/sysctl.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep::linux_map {
namespace {

constexpr RowId kPort = row("interface[*]");
constexpr RowId kAddress = row("interface[*]/address[*]");
constexpr RowId kAdmin = row("interface[*]/admin");
constexpr RowId kCarrier = row("interface[*]/carrier");
constexpr RowId kMtu = row("interface[*]/mtu");
constexpr RowId kRate = row("interface[*]/rate");
constexpr RowId kClass = row("interface[*]/class[*]");
constexpr RowId kClassDscp = row("interface[*]/class[*]/dscp");
constexpr RowId kClassEcnMax = row("interface[*]/class[*]/ecn-max");
constexpr RowId kClassEcnMin = row("interface[*]/class[*]/ecn-min");
constexpr RowId kClassEcnProbability = row("interface[*]/class[*]/ecn-probability");
constexpr RowId kClassMaxRate = row("interface[*]/class[*]/max-rate");
constexpr RowId kClassPriority = row("interface[*]/class[*]/priority");
constexpr RowId kClassShare = row("interface[*]/class[*]/share");
constexpr RowId kClassStrict = row("interface[*]/class[*]/strict");
constexpr RowId kEcnThreshold = row("interface[*]/ecn-threshold");
constexpr RowId kFib = row("fib[*]");
constexpr RowId kFibPaths = row("fib[*]/paths");
constexpr RowId kRoute = row("route[*]");
constexpr RowId kRule = row("rule[*]");

constexpr RowId kWritten[] = {kAddress,      kAdmin,         kMtu,
                              kRate,         kClass,         kClassDscp,
                              kClassEcnMax,  kClassEcnMin,   kClassEcnProbability,
                              kClassMaxRate, kClassPriority, kClassShare,
                              kClassStrict,  kEcnThreshold,  kRoute,
                              kRule,         kSysctl};
constexpr RowId kReadOnly[] = {kPort, kCarrier, kFib, kFibPaths};
constexpr RowId kScheduler[] = {
    kRate,         kClass,         kClassDscp,  kClassEcnMax, kClassEcnMin, kClassEcnProbability,
    kClassMaxRate, kClassPriority, kClassShare, kClassStrict};

bool any_wanted(const Scope& scope, std::span<const RowId> rows) {
  return std::any_of(rows.begin(), rows.end(), [&](RowId one) { return scope.wants(one); });
}

void port_entries(const Link& link, const HostState& state, const Scope& scope, TreeBuilder& tree) {
  if (scope.wants(kPort)) tree.add(Path(kPort, {link.name}), Value::present());
  if (scope.wants(kAdmin)) tree.add(Path(kAdmin, {link.name}), Value::boolean(link.admin_up));
  if (scope.wants(kMtu)) tree.add(Path(kMtu, {link.name}), Value::integer(link.mtu));
  if (scope.wants(kCarrier)) tree.add(Path(kCarrier, {link.name}), Value::boolean(link.carrier));
  const auto ecn = state.ecn_thresholds.find(link.index);
  if (scope.wants(kEcnThreshold) && ecn != state.ecn_thresholds.end())
    tree.add(Path(kEcnThreshold, {link.name}), Value::integer(ecn->second));
}

void scheduler_entries(const Link& link, const PortScheduler& scheduler, const Scope& scope,
                       TreeBuilder& tree) {
  if (scope.wants(kRate) && scheduler.rate)
    tree.add(Path(kRate, {link.name}), Value::integer(*scheduler.rate));
  for (const auto& [number, one] : scheduler.classes) {
    const std::string key = std::to_string(number);
    if (scope.wants(kClass)) tree.add(Path(kClass, {link.name, key}), Value::present());
    if (scope.wants(kClassStrict)) tree.add(Path(kClassStrict, {link.name, key}), Value::boolean(one.strict));
    const std::pair<RowId, std::optional<std::uint64_t>> numbers[] = {
        {kClassEcnMax, one.ecn.max},
        {kClassEcnMin, one.ecn.min},
        {kClassEcnProbability, one.ecn.probability},
        {kClassMaxRate, one.max_rate},
        {kClassShare, one.share}};
    for (const auto& [entry, value] : numbers)
      if (scope.wants(entry) && value) tree.add(Path(entry, {link.name, key}), Value::integer(*value));
    for (const auto& [entry, set] :
         {std::pair(kClassDscp, one.dscp), std::pair(kClassPriority, one.priority)}) {
      if (!scope.wants(entry) || set.empty()) continue;
      std::vector<std::string> texts;
      for (const std::uint8_t each : set) texts.push_back(std::to_string(each));
      tree.add(Path(entry, {link.name, key}), Value::set(std::move(texts)));
    }
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
  return hop.gateway ? "via " + hop.gateway->text() + " dev " + port : "dev " + port;
}

void route_entries(const NetworkState& network, TreeBuilder& tree) {
  for (const Route& route : network.routes) {
    if (route.protocol != kOwnProtocol) continue;
    std::vector<std::string> hops;
    for (const NextHop& hop : route.hops) hops.push_back(hop_text(hop, network));
    tree.add(Path(kRoute, {table_text(route.table) + ":" + route.destination.text()}),
             Value::set(std::move(hops)));
  }
}

// The best routes of the main table: lowest metric; IPv6 may list equal ones one by one.
void fib_entries(const NetworkState& network, const Scope& scope, TreeBuilder& tree) {
  struct Best {
    std::uint32_t metric = 0;
    std::vector<std::string> ports;
  };
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
  for (auto& [prefix, one] : best) {
    const std::string key = prefix.text();
    if (scope.wants(kFibPaths)) tree.add(Path(kFibPaths, {key}), Value::integer(one.ports.size()));
    if (scope.wants(kFib)) tree.add(Path(kFib, {key}), Value::set(std::move(one.ports)));
  }
}

void rule_entries(const NetworkState& network, TreeBuilder& tree) {
  // Two rules of ours at one priority are a state to be seen, not hidden: their texts are joined.
  std::map<std::uint32_t, std::set<std::string>> by_priority;
  for (const Rule& rule : network.rules) {
    if (rule.protocol != kOwnProtocol) continue;
    std::string text = "from " + rule.from.value_or(everything(rule.family)).text() + " lookup " +
                       (rule.action == FR_ACT_TO_TBL ? table_text(rule.table) : "nothing");
    if (!rule.plain) text += " under further conditions";
    by_priority[rule.priority].insert(std::move(text));
  }
  for (const auto& [priority, texts] : by_priority) {
    std::string joined;
    for (const std::string& one : texts) joined += (joined.empty() ? "" : " and ") + one;
    tree.add(Path(kRule, {std::to_string(priority)}), Value::text(joined));
  }
}

void sysctl_entries(const HostState& state, const std::set<std::string>& named, TreeBuilder& tree,
                    std::vector<Unread>& unread) {
  for (const auto& [name, value] : state.sysctls) {
    if (value)
      tree.add(Path(kSysctl, {name}), Value::text(*value));
    else if (named.contains(name) &&
             value.error().kind != ErrorKind::unsupported)  // which is a lack: observe()
      unread.push_back(Unread{kSysctl, {name}, value.error()});
  }
}

Result<bool> wanted_boolean(const Change& change) {
  if (change.want.kind() == Value::Kind::boolean) return change.want.as_boolean();
  return Error{ErrorKind::invalid_spec, change.path.text() + " takes true or false, and can't be unset"};
}

Result<std::uint64_t> wanted_integer(const Change& change, std::int64_t max) {
  if (change.want.kind() == Value::Kind::integer && change.want.as_integer() >= 0 &&
      change.want.as_integer() <= max)
    return static_cast<std::uint64_t>(change.want.as_integer());
  return Error{ErrorKind::invalid_spec, change.path.text() + " takes a number from 0 to " +
                                            std::to_string(max) + ", and can't be unset"};
}

Result<std::optional<std::uint64_t>> integer_or_none(const Change& change, std::int64_t max) {
  if (!change.want) return std::optional<std::uint64_t>();
  TRY(const std::uint64_t number, wanted_integer(change, max));
  return std::optional(number);
}

constexpr std::int64_t kRateMax = std::int64_t{1} << 50;  // a petabit a second: no port has it

Result<Done> overlay_class(const Change& change, SchedulerClass& one) {
  constexpr std::int64_t kBytesMax = 0xFFFFFFFF;
  constexpr std::int64_t kPercentMax = 100;
  const auto set = [&](std::optional<std::uint64_t>& field, std::int64_t max) -> Result<Done> {
    TRY(field, integer_or_none(change, max));
    return Done{};
  };
  switch (change.path.row()) {
    case kClassEcnMax: return set(one.ecn.max, kBytesMax);
    case kClassEcnMin: return set(one.ecn.min, kBytesMax);
    case kClassEcnProbability: return set(one.ecn.probability, kPercentMax);
    case kClassMaxRate: return set(one.max_rate, kRateMax);
    case kClassShare: return set(one.share, kPercentMax);
    default: one.strict = change.want && change.want.as_boolean(); return Done{};
  }
}

// A DSCP or priority is in one class: given to this one, it leaves the others.
Result<Done> overlay_set(const Change& change, unsigned number,
                         std::set<std::uint8_t> SchedulerClass::*numbers, std::uint64_t max,
                         PortScheduler& scheduler) {
  std::set<std::uint8_t>& own = scheduler.classes[number].*numbers;
  own.clear();
  if (!change.want) return Done{};
  for (const std::string_view text : change.want.as_list()) {
    TRY(const std::uint64_t each, parse_number(text, max));
    for (auto& [other, its] : scheduler.classes) (its.*numbers).erase(static_cast<std::uint8_t>(each));
    own.insert(static_cast<std::uint8_t>(each));
  }
  return Done{};
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
  return out;
}

Result<Done> change_route(Session& session, const Change& change) {
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

Result<Done> change_rule(Session& session, const Change& change) {
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

Result<Done> change_address(Session& session, const Change& change) {
  TRY(const IpPrefix prefix, parse_prefix(change.path.key(1)));
  if (!change.want) return session.remove_address(change.path.key(0), prefix);
  return session.add_address(change.path.key(0), prefix);
}

Result<Done> change_sysctl(const Change& change) {
  if (!change.want)
    return Error{ErrorKind::refused, change.path.text() + ": a kernel parameter always has a value"};
  return write_sysctl(change.path.key(0), change.want.as_text());
}

}  // namespace

std::vector<RowId> rows_written() { return {std::begin(kWritten), std::end(kWritten)}; }

std::vector<RowId> rows_read() {
  std::vector<RowId> out = rows_written();
  out.insert(out.end(), std::begin(kReadOnly), std::end(kReadOnly));
  return out;
}

HostWanted wanted_for(const Scope& scope) {
  HostWanted out;
  out.network.addresses = scope.wants(kAddress);
  out.network.routes = scope.wants(kRoute) || scope.wants(kFib) || scope.wants(kFibPaths);
  out.network.rules = scope.wants(kRule);
  out.queueing = any_wanted(scope, kScheduler) || scope.wants(kEcnThreshold);
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
  for (const Link& link : state.network.links) {
    port_entries(link, state, scope, tree);
    const auto queueing = state.queueing.find(link.index);
    if (queueing != state.queueing.end())
      scheduler_entries(link, scheduler_of(queueing->second), scope, tree);
  }
  if (scope.wants(kAddress))
    for (const InterfaceAddress& one : state.network.addresses) {
      const Link* link = state.network.link(one.index);
      if (link == nullptr || is_link_local(one.prefix.address) || is_loopback(one.prefix.address)) continue;
      tree.add(Path(kAddress, {link->name, one.prefix.text()}), Value::present());
    }
  if (scope.wants(kRoute)) route_entries(state.network, tree);
  if (scope.wants(kFib) || scope.wants(kFibPaths)) fib_entries(state.network, scope, tree);
  if (scope.wants(kRule)) rule_entries(state.network, tree);
  if (scope.wants(kSysctl)) sysctl_entries(state, named_sysctls, tree, unread);
  if (state.queueing_unread && scope.wants(kEcnThreshold))
    unread.push_back(Unread{kEcnThreshold, {}, *state.queueing_unread});
  if (state.queueing_unread)
    for (const RowId one : kScheduler)
      if (scope.wants(one)) unread.push_back(Unread{one, {}, *state.queueing_unread});
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

void lldp_entries(const LldpdAnswer& answer, const NetworkState& network, const Scope& scope,
                  TreeBuilder& tree, std::vector<Unread>& unread) {
  using Agent = LldpdAnswer::Agent;
  if (scope.wants(kLldpAgent)) {
    switch (answer.agent) {
      case Agent::answers: tree.add(Path(kLldpAgent, {}), Value::text("running")); break;
      case Agent::absent: tree.add(Path(kLldpAgent, {}), Value::text("lldpd does not run")); break;
      case Agent::silent: tree.add(Path(kLldpAgent, {}), Value::text("lldpd does not answer")); break;
      case Agent::unclear: unread.push_back(Unread{kLldpAgent, {}, *answer.why}); break;
    }
  }
  if (!scope.wants(kPeer)) return;
  if (answer.why) {
    unread.push_back(Unread{kPeer, {}, *answer.why});
    return;
  }
  for (const auto& [port, neighbour] : answer.heard)
    if (const Link* const link = network.link(port); link != nullptr && link->carrier)
      tree.add(Path(kPeer, {port}), Value::text(neighbour.text()));
}

bool is_scheduler_row(RowId id) {
  return std::find(std::begin(kScheduler), std::end(kScheduler), id) != std::end(kScheduler);
}

bool is_class_row(RowId id) { return id != kRate && is_scheduler_row(id); }

void classes_unread(const std::string& port, const Error& why, const Scope& scope,
                    std::vector<Unread>& unread) {
  for (const RowId one : kScheduler)
    if (is_class_row(one) && scope.wants(one)) unread.push_back(Unread{one, {port}, why});
}

Result<Done> overlay(const Change& change, PortScheduler& scheduler) {
  if (change.path.row() == kRate) {
    TRY(scheduler.rate, integer_or_none(change, kRateMax));
    return Done{};
  }
  TRY(const std::uint64_t number, parse_number(change.path.key(1), 7));
  const auto at = static_cast<unsigned>(number);
  if (change.path.row() == kClass) {
    if (!change.want)
      scheduler.classes.erase(at);
    else
      scheduler.classes.try_emplace(at);
    return Done{};
  }
  if (!change.want && !scheduler.classes.contains(at)) return Done{};  // gone with its class
  if (change.path.row() == kClassDscp) return overlay_set(change, at, &SchedulerClass::dscp, 63, scheduler);
  if (change.path.row() == kClassPriority)
    return overlay_set(change, at, &SchedulerClass::priority, 7, scheduler);
  return overlay_class(change, scheduler.classes[at]);
}

std::optional<std::string> sysctl_of(const Change& change) {
  if (change.path.row() != kSysctl) return std::nullopt;
  return std::string(change.path.key(0));
}

Result<Done> change(Session& session, const Change& change) {
  switch (change.path.row()) {
    case kAdmin: {
      TRY(const bool up, wanted_boolean(change));
      return session.set_admin(change.path.key(0), up);
    }
    case kMtu: {
      TRY(const std::uint64_t mtu, wanted_integer(change, 0x7FFFFFFF));
      return session.set_mtu(change.path.key(0), static_cast<std::uint32_t>(mtu));
    }
    case kEcnThreshold: {
      std::optional<std::uint64_t> threshold;
      if (change.want) {
        TRY(threshold, wanted_integer(change, 0xFFFFFFFF));
      }
      return session.set_ecn_threshold(change.path.key(0), threshold);
    }
    case kAddress: return change_address(session, change);
    case kRoute: return change_route(session, change);
    case kRule: return change_rule(session, change);
    case kSysctl: return change_sysctl(change);
    default: return Error{ErrorKind::unsupported, "the linux driver does not set " + change.path.text()};
  }
}

}  // namespace lockstep::linux_map
