// The part of map.hpp that is about what is so: daemons' states, what they compute, what the ASIC can't do.
#include <algorithm>
#include <array>

#include "drivers/sonic/counter_gates.hpp"
#include "drivers/sonic/map.hpp"
#include "drivers/sonic/map_fields.hpp"
#include "drivers/sonic/map_qos.hpp"
#include "specs/model/counter_groups.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep::sonic {
namespace {

constexpr RowId kCarrier = row("interface[*]/carrier");
constexpr RowId kPeer = row("interface[*]/peer");
constexpr RowId kSession = row("bgp/neighbor[*]/session");
constexpr RowId kHashSeed = row("load-balancing/seed");
constexpr std::array kCounterRows{row("counter-group[*]"), row("counter-group[*]/interval")};

bool wants_any(const Scope& scope, std::span<const RowId> rows) {
  return std::ranges::any_of(rows, [&scope](RowId id) { return scope.wants(id); });
}

// What APPL_DB PORT_TABLE is read for.
std::vector<RowId> port_effects() { return {kCarrier, kPeer, taken_over_row()}; }

std::vector<RowId> buffer_number_rows() {
  std::vector<RowId> out;
  for (const QosLine& line : buffer_number_lines()) out.push_back(line.row);
  return out;
}

// One line of each row where it is so of all ports, else of a port, else of a priority.
void add_computed_rows(const ConfigDb& config, const Scope& scope, std::vector<Incapable>& out) {
  const auto add = [&](const std::vector<std::string>& keys) {
    for (const RowId id : buffer_number_rows())
      if (scope.wants(id))
        out.push_back({id, keys, "SONiC's buffermgrd computes it from speed and cable length"});
  };
  const auto ports = config.tables.find("PORT");
  if (ports == config.tables.end()) return;
  std::vector<std::pair<std::string, std::set<int>>> computed;
  for (const auto& [port, row] : ports->second)
    computed.emplace_back(port, buffers_of(config, port).computed);
  const auto is_all = [](const auto& one) { return one.second.size() == kQueues; };
  if (!computed.empty() && std::ranges::all_of(computed, is_all)) return add({});
  for (const auto& one : computed) {
    if (is_all(one)) {
      add({one.first});
      continue;
    }
    for (const int priority : one.second) add({one.first, std::to_string(priority)});
  }
}

// Groups of which STATE_DB says that the ASIC counts nothing.
void add_uncounted(const SwitchState& state, const Scope& scope, std::vector<Incapable>& out) {
  StoredGates gates;
  gates.capabilities = state.capabilities;
  for (const CounterGroup& group : counter_groups_of(gates))
    if (group.state == CounterGroup::State::unsupported && find_counted_group(group.name) != nullptr)
      for (const RowId id : kCounterRows)
        if (scope.wants(id)) out.push_back({id, {group.name}, group.why});
}

}  // namespace

std::vector<RowId> effect_rows() { return {kCarrier, kPeer, kSession, kHashSeed, taken_over_row()}; }

std::vector<Unread> unread_rows(std::span<const RowId> rows, const Scope& scope, const Error& why) {
  std::vector<Unread> out;
  for (const RowId one : rows)
    if (scope.wants(one)) out.push_back({one, {}, why});
  return out;
}

void add_effects(const SwitchState& state, const Scope& scope, TreeBuilder& tree) {
  for (const auto& [port, seen] : state.ports) {
    if (scope.wants(kCarrier) && seen.is_up) tree.add(Path(kCarrier, {port}), Value::boolean(*seen.is_up));
    if (scope.wants(kPeer) && !seen.peer.empty()) tree.add(Path(kPeer, {port}), Value::text(seen.peer));
  }
  if (scope.wants(kHashSeed) && state.hash_seed)
    tree.add(Path(kHashSeed, {}), Value::integer(*state.hash_seed));
  if (!scope.wants(kSession)) return;
  for (const auto& [neighbor, session] : state.sessions)
    tree.add(Path(kSession, {neighbor}), Value::text(session));
}

bool wants_ports(const Scope& scope) { return wants_any(scope, port_effects()); }
bool wants_sessions(const Scope& scope) { return scope.wants(kSession); }
bool wants_hash_seed(const Scope& scope) { return scope.wants(kHashSeed); }

void add_computed(const ConfigDb& config, const SwitchState& state, const Scope& scope, TreeBuilder& tree) {
  for (const auto& [port, groups] : state.groups) {
    PortQos qos;
    qos.buffers.sized = computed_buffers(config, port, groups);
    for (const auto& [priority, settings] : qos.buffers.sized)
      for (const QosLine& line : buffer_number_lines())
        if (const Value value = line.read(qos, priority); value && scope.wants(line.row))
          tree.add(Path(line.row, {port, std::to_string(priority)}), value);
  }
}

bool wants_computed(const Scope& scope) { return wants_any(scope, buffer_number_rows()); }
bool wants_capabilities(const Scope& scope) { return wants_any(scope, kCounterRows); }

std::vector<Unread> unread_ports(const Scope& scope, const Error& why) {
  return unread_rows(port_effects(), scope, why);
}
std::vector<Unread> unread_sessions(const Scope& scope, const Error& why) {
  return unread_rows(std::array{kSession}, scope, why);
}
std::vector<Unread> unread_hash_seed(const Scope& scope, const Error& why) {
  return unread_rows(std::array{kHashSeed}, scope, why);
}
std::vector<Unread> unread_computed(const Scope& scope, const Error& why) {
  return unread_rows(buffer_number_rows(), scope, why);
}
std::vector<Unread> unread_counters(const Scope& scope, const Error& why) {
  return unread_rows(kCounterRows, scope, why);
}

std::vector<Incapable> incapable_of(const ConfigDb& config, const SwitchState& state, const Scope& scope) {
  std::vector<Incapable> out;
  // frrcfgd reads these tables only then; else bgpcfgd renders templates from others.
  const ConfigRow* const metadata = config.find("DEVICE_METADATA", "localhost");
  const bool managed = metadata != nullptr && metadata->contains("frr_mgmt_framework_config") &&
                       metadata->at("frr_mgmt_framework_config") == ConfigField("true");
  if (!managed)
    for (const FieldLine& line : field_lines())
      if (scope.wants(line.row) && is_routing(line))
        out.push_back(
            {line.row, {}, "this SONiC's BGP comes from templates (frr_mgmt_framework_config is not true)"});
  for (const FieldLine& line : field_lines())
    if (scope.wants(line.row) && !line.by_hand.empty())
      out.push_back({line.row, {}, std::string(line.by_hand), true});
  if (scope.wants(kHashSeed))
    out.push_back({kHashSeed,
                   {},
                   "SONiC has no field for it: an image renders it at boot from DEVICE_METADATA's type, and "
                   "gives SpineRouter, FabricSpineRouter and UpperSpineRouter the same",
                   true});
  add_computed_rows(config, scope, out);
  add_uncounted(state, scope, out);
  return out;
}

}  // namespace lockstep::sonic
