#include "specs/compile/numbered_entries.hpp"

#include <algorithm>
#include <unordered_map>

#include "specs/compile/rules.hpp"
#include "specs/fabric/codes.hpp"

namespace lockstep {
namespace {

bool by_path(const Entry& a, const Entry& b) { return a.path < b.path; }

std::string everything(bool v6) { return v6 ? "::/0" : "0.0.0.0/0"; }

void prepare_routes(const Compilation& c, FabricIndex index, FabricNumbers& out) {
  const FabricRoutes& routes = c.routes[index];
  bool reported = false;
  for (const std::vector<PortIndex>& group : routes.groups) {
    std::vector<std::string> names;
    for (const PortIndex port : group) names.emplace_back(c.topology.ports[port].name);
    // With more equal paths than allowed, the BGP speaker chooses which ones it uses (RFC 4271 9.1.2.2,
    // finally by router id); their number is fixed.
    const bool too_many = group.size() > out.max_paths;
    out.group_ports.push_back(too_many ? Value{} : Value::set(std::move(names)));
    if (!too_many || std::exchange(reported, true)) continue;
    const Said<std::uint32_t>& paths = c.catalog.fabrics[index].routing->ecmp->max_paths;
    c.warn(fabric_code::too_few_paths, paths.said ? paths.at : c.catalog.fabrics[index].routing.at,
           "up to " + std::to_string(out.max_paths) + " equal paths are used, and " +
               c.topology.device_of(group.front()) + " has " + std::to_string(group.size()),
           "raise routing.ecmp.maxPaths: which of them are used is the switch's own choice, only their "
           "number is checked");
  }
  for (std::uint32_t i = 0; i < routes.destinations.size(); ++i) {
    const auto& block = c.allocation.block[index][routes.destinations[i]];
    if (!block) continue;
    const std::string key = block->text();
    out.destinations.push_back(
        {i, Path(row("fib[*]"), {key}), reported ? Path(row("fib[*]/paths"), {key}) : Path{}});
  }
  std::sort(out.destinations.begin(), out.destinations.end(),
            [](const auto& a, const auto& b) { return a.ports < b.ports; });
  out.switch_number.assign(c.topology.devices.size(), kNone);
  for (std::uint32_t i = 0; i < routes.switches.size(); ++i) out.switch_number[routes.switches[i]] = i;
}

void prepare_rails(const Compilation& c, FabricIndex index, FabricNumbers& out) {
  const Said<IpPrefix>& pool = c.catalog.fabrics[index].addressing->hosts;
  std::uint32_t most = 0;
  std::uint32_t run = 0;
  DeviceIndex last = kNone;
  for (const Endpoint& endpoint : c.topology.fabrics[index].endpoints) {
    run = endpoint.device == last ? run + 1 : 1;
    last = endpoint.device;
    most = std::max(most, run);
  }
  for (std::uint32_t i = 0; i < most; ++i) {
    const std::string table = std::to_string(rail_table_number(index, i));
    out.table_default.emplace_back(
        row("route[*]"), std::initializer_list<std::string_view>{table + ":" + everything(pool->address.v6)});
    out.table_rule.emplace_back(row("rule[*]"), std::initializer_list<std::string_view>{table});
  }
  if (pool.said) out.pool_route = Path(row("route[*]"), {"main:" + pool->network().text()});
}

}  // namespace

std::vector<FabricNumbers> prepare_numbers(Compilation& c) {
  std::vector<FabricNumbers> all(c.catalog.fabrics.size());
  for (FabricIndex i = 0; i < all.size(); ++i) {
    FabricNumbers& out = all[i];
    const Fabric& said = c.catalog.fabrics[i];
    const ClaimantId who = c.fabrics[i];
    const Addressing& addressing = *said.addressing;
    const Asns& asn = *said.routing->asn;
    out.routed = said.routing.said && *said.routing->protocol == Protocol::bgp_unnumbered;
    for (const Cabling& law : said.cabling)
      out.law_peer.push_back(c.origins.add(who, law.from.said ? law.from.at : law.at, rule::lldp_peer));
    out.address = c.origins.of(who, addressing.hosts, rule::host_link_address);
    out.connected = c.origins.of(who, addressing.hosts, rule::connected_route);
    out.loopback = c.origins.of(who, addressing.loopbacks, rule::loopback);
    out.aggregate = c.origins.of(who, addressing.hosts, rule::aggregate);
    out.ecmp = c.origins.of(who, said.routing, rule::ecmp_routes);
    const Said<std::uint32_t>& max_paths = said.routing->ecmp->max_paths;
    out.paths = c.origins.of(who, max_paths, rule::ecmp_paths);
    out.router_id = c.origins.of(who, addressing.loopbacks, rule::router_id);
    const Said<AsnRange>* const ranges[] = {&asn.host, &asn.leaf, &asn.spine, &asn.superspine};
    for (std::size_t tier = 0; tier < 4; ++tier) out.asn[tier] = c.origins.of(who, *ranges[tier], rule::asn);
    out.rail_table = c.origins.of(who, addressing.hosts, rule::rail_table);
    out.rail_rule = c.origins.of(who, addressing.hosts, rule::rail_rule);
    out.rail_routes = c.origins.of(who, addressing.hosts, rule::rail_routes);
    out.max_paths = max_paths.or_else(kPathsDefault);
    prepare_routes(c, i, out);
    prepare_rails(c, i, out);
  }
  return all;
}

std::vector<Entry>& NumberedEntries::rows(RowId id) {
  for (std::size_t i = 0; i < kNumberedRows.size(); ++i)
    if (kNumberedRows[i] == id) return out_[i];
  return out_.front();
}

void NumberedEntries::add_ports(DeviceIndex device) {
  std::vector<Entry>& addresses = rows(row("interface[*]/address[*]"));
  std::vector<Entry>& peers = rows(row("interface[*]/peer"));
  const TopologyDevice& self = c_.topology.devices[device];
  for (PortIndex index = self.first_port; index < self.first_port + self.port_count; ++index) {
    const TopologyPort& port = c_.topology.ports[index];
    if (port.link == kNone) continue;
    const TopologyLink& link = c_.topology.links[port.link];
    const FabricNumbers& numbers = fabrics_[link.fabric];
    if (const auto& address = c_.allocation.port[index]) {
      addresses.push_back({Path(row("interface[*]/address[*]"), {port.name, address->text()}),
                           numbers.address, Value::present()});
      connected_.push_back({Path(row("fib[*]"), {address->network().text()}), numbers.connected,
                            Value::set({std::string(port.name)})});
    }
    peers.push_back({Path(row("interface[*]/peer"), {port.name}), numbers.law_peer[link.law],
                     Value::text(c_.topology.port_text(c_.topology.peer(index)))});
  }
}

void NumberedEntries::add_routes(DeviceIndex device, FabricIndex index) {
  const FabricNumbers& numbers = fabrics_[index];
  const std::uint32_t number = numbers.switch_number[device];
  if (number == kNone) return;
  std::vector<Entry>& fib = rows(row("fib[*]"));
  std::vector<Entry>& paths = rows(row("fib[*]/paths"));
  const FabricRoutes& routes = c_.routes[index];
  fib.reserve(fib.size() + numbers.destinations.size());
  for (const FabricNumbers::Destination& one : numbers.destinations) {
    const std::uint32_t group = routes.group_of(number, one.number);
    if (group == kNone) continue;
    if (const Value ports = numbers.group_ports[group])
      fib.push_back({one.ports, numbers.ecmp, ports});
    else
      paths.push_back({one.paths, numbers.paths, Value::integer(numbers.max_paths)});
  }
}

// Entries that a switch has once, whichever fabrics share it.
void NumberedEntries::add_speaker(DeviceIndex device) {
  const Allocation& given = c_.allocation;
  if (given.loopback[device])
    rows(row("interface[*]/address[*]"))
        .push_back({Path(row("interface[*]/address[*]"), {"lo", given.loopback[device]->text()}),
                    fabrics_[given.loopback_by[device]].loopback, Value::present()});
  if (given.asn_by[device] == kNone) return;
  rows(row("bgp/asn"))
      .push_back({Path(row("bgp/asn"), {}),
                  fabrics_[given.asn_by[device]].asn[c_.topology.devices[device].tier()],
                  Value::integer(given.asn[device])});
  if (!given.router_id[device].empty())
    rows(row("bgp/router-id"))
        .push_back({Path(row("bgp/router-id"), {}), fabrics_[given.loopback_by[device]].router_id,
                    Value::text(given.router_id[device])});
}

void NumberedEntries::add_switch(DeviceIndex device) {
  add_speaker(device);
  for (FabricIndex i = 0; i < fabrics_.size(); ++i) {
    const FabricNumbers& numbers = fabrics_[i];
    if (numbers.switch_number[device] == kNone || !numbers.routed) continue;
    if (const auto& block = c_.allocation.block[i][device])
      rows(row("bgp/aggregate[*]"))
          .push_back({Path(row("bgp/aggregate[*]"), {block->text()}), numbers.aggregate, Value::present()});
    add_routes(device, i);
  }
}

// A host's rails: traffic from a rail's address leaves through that rail. Traffic without a source address
// stays off the spines if possible, and is otherwise spread over all rails.
void NumberedEntries::add_rails(DeviceIndex device, FabricIndex index) {
  const FabricNumbers& numbers = fabrics_[index];
  const std::vector<Endpoint>& all = c_.topology.fabrics[index].endpoints;
  const auto first =
      std::lower_bound(all.begin(), all.end(), device,
                       [](const Endpoint& one, DeviceIndex wanted) { return one.device < wanted; });
  std::vector<Entry>& routes = rows(row("route[*]"));
  std::vector<Entry>& rules = rows(row("rule[*]"));
  std::vector<std::string> hops;
  for (auto at = first; at != all.end() && at->device == device; ++at) {
    const auto number = static_cast<std::size_t>(at - first);
    const auto& own = c_.allocation.port[at->port];
    const auto& leaf = c_.allocation.port[at->leaf_port];
    if (!own || !leaf) continue;
    hops.push_back("via " + leaf->address.text() + " dev " + std::string(c_.topology.ports[at->port].name));
    const Value hop = Value::set({hops.back()});
    const std::uint32_t table = rail_table_number(index, static_cast<std::uint32_t>(number));
    routes.push_back({numbers.table_default[number], numbers.rail_table, hop});
    const std::string host = own->address.text() + "/" + std::to_string(own->address.width());
    rules.push_back({numbers.table_rule[number], numbers.rail_rule,
                     Value::text("from " + host + " lookup " + std::to_string(table))});
    const auto& block = c_.allocation.block[index][at->leaf];
    if (!block) continue;
    const Path route(row("route[*]"), {"main:" + block->text()});
    // Two rails on one leaf share the block's route.
    const auto known =
        std::find_if(routes.begin(), routes.end(), [&](const Entry& there) { return there.path == route; });
    if (known == routes.end()) {
      routes.push_back({route, numbers.rail_routes, hop});
    } else {
      std::vector<std::string> both(1, hops.back());
      for (const std::string_view one : known->value.as_list()) both.emplace_back(one);
      known->value = Value::set(std::move(both));
    }
  }
  const bool reaches_others = *c_.catalog.fabrics[index].topology != TopologyKind::rail_only ||
                              !c_.topology.fabrics[index].spines.empty();
  const auto is_pool = [&](const Entry& route) { return route.path == numbers.pool_route; };
  if (!hops.empty() && reaches_others && std::none_of(routes.begin(), routes.end(), is_pool))
    routes.push_back({numbers.pool_route, numbers.rail_routes, Value::set(std::move(hops))});
}

const std::array<std::vector<Entry>, kNumberedRows.size()>& NumberedEntries::of(DeviceIndex device) {
  for (std::vector<Entry>& one : out_) one.clear();
  connected_.clear();
  add_ports(device);
  if (c_.topology.devices[device].is_switch()) {
    add_switch(device);
  } else {
    for (FabricIndex i = 0; i < fabrics_.size(); ++i) add_rails(device, i);
  }
  // One fabric's destinations are already in path order, and there may be thousands.
  std::vector<Entry>& fib = rows(row("fib[*]"));
  const bool ordered = fabrics_.size() == 1;
  if (ordered) {
    std::sort(connected_.begin(), connected_.end(), by_path);
    const auto middle = static_cast<std::ptrdiff_t>(fib.size());
    fib.insert(fib.end(), connected_.begin(), connected_.end());
    std::inplace_merge(fib.begin(), fib.begin() + middle, fib.end(), by_path);
  } else {
    fib.insert(fib.end(), connected_.begin(), connected_.end());
  }
  for (std::vector<Entry>& one : out_) {
    if (one.size() < 2) continue;
    if (&one != &fib || !ordered) std::sort(one.begin(), one.end(), by_path);
    // allocate() reports overlapping pools; a tree must still contain each path only once.
    one.erase(
        std::unique(one.begin(), one.end(), [](const Entry& a, const Entry& b) { return a.path == b.path; }),
        one.end());
  }
  return out_;
}

}  // namespace lockstep
