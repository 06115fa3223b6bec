#include <chrono>

#include "specs/compile/compilation.hpp"
#include "specs/language/hostlist.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

void add_ports(const Compilation& c, const DeviceSet& set, ClaimantId who, ClassEntries& out) {
  if (!set.interfaces.empty() || c.twin) return;  // veth has neither FEC nor autonegotiation to set
  for (const TopologyPort& port : c.topology.ports_of(out.example)) {
    if (port.entry == kNone) continue;
    const Port& said = set.ports[port.entry];
    if (said.autoneg.said)
      out.list.add(Path(row("interface[*]/autoneg"), {port.name}), *said.autoneg,
                   c.origins.of(who, said.autoneg, "ports.autoneg"));
    if (said.breakout.said)
      out.list.add(Path(row("interface[*]/breakout"), {port.name}), format(*said.breakout),
                   c.origins.of(who, said.breakout, "ports.breakout"));
    if (said.fec.said)
      out.list.add(Path(row("interface[*]/fec"), {port.name}), to_string(*said.fec),
                   c.origins.of(who, said.fec, "ports.fec"));
    if (said.speed.said && port.link == kNone)
      out.list.add(Path(row("interface[*]/speed"), {port.name}), said.speed->bits_per_second / 1'000'000,
                   c.origins.of(who, said.speed, "ports.speed"));
  }
}

void add_counters(const Compilation& c, const DeviceSet& set, ClaimantId who, ClassEntries& out) {
  for (const Counted& one : set.counters) {
    const std::string_view group = to_string(*one.group);
    out.list.add(Path(row("counter-group[*]"), {group}), Value::present(),
                 c.origins.of(who, one.group, "counters.group"));
    if (one.interval.said)
      out.list.add(Path(row("counter-group[*]/interval"), {group}),
                   static_cast<std::uint64_t>(
                       std::chrono::duration_cast<std::chrono::milliseconds>(*one.interval).count()),
                   c.origins.of(who, one.interval, "counters.interval"));
  }
}

void add_bond(const Compilation& c, const Bond& bond, ClaimantId who, ClassEntries& out) {
  const std::string& name = *bond.name;
  out.list.add(Path(row("bond[*]"), {name}), Value::present(), c.origins.of(who, bond.name, "bonds.name"));
  if (bond.lacp_rate.said)
    out.list.add(Path(row("bond[*]/lacp-rate"), {name}), to_string(*bond.lacp_rate),
                 c.origins.of(who, bond.lacp_rate, "bonds.lacpRate"));
  if (auto members = expand_hostlist(*bond.members))
    out.list.add(Path(row("bond[*]/members"), {name}), Value::set(*std::move(members)),
                 c.origins.of(who, bond.members, "bonds.members"));
  if (bond.min_links.said)
    out.list.add(Path(row("bond[*]/min-links"), {name}), std::uint64_t{*bond.min_links},
                 c.origins.of(who, bond.min_links, "bonds.minLinks"));
  out.list.add(Path(row("bond[*]/mode"), {name}), to_string(*bond.mode),
               c.origins.of(who, bond.mode, "bonds.mode"));
  if (bond.multihoming->segment.said)
    out.list.add(Path(row("bond[*]/segment"), {name}), std::uint64_t{*bond.multihoming->segment},
                 c.origins.of(who, bond.multihoming->segment, "bonds.multihoming.segment"));
  if (bond.multihoming->system_mac.said)
    out.list.add(Path(row("bond[*]/system-mac"), {name}), format(*bond.multihoming->system_mac),
                 c.origins.of(who, bond.multihoming->system_mac, "bonds.multihoming.systemMac"));
}

}  // namespace

void add_device_set_entries(Compilation& c, ClassEntries& out) {
  const std::uint32_t index = c.topology.devices[out.example].set;
  const DeviceSet& set = c.catalog.device_sets[index];
  const ClaimantId who = c.device_sets[index];
  add_ports(c, set, who, out);
  add_counters(c, set, who, out);
  for (const Bond& bond : set.bonds) add_bond(c, bond, who, out);
}

}  // namespace lockstep
