#include "reconciler/engine/service.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "specs/compile/cable_entries.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kNamed = 3;  // as many as fit beside the figures in one or two lines

void add_cables(const Wiring& wiring, const DeviceState& state, OutOfService& out) {
  for (const ChangeSet* const differences : {&state.difference.changes, &state.difference.effects})
    for (const Change& one : *differences) {
      if (!tells_of_cable(one.path.row()) || !one.want || one.path.key_count() == 0) continue;
      const auto cable = wiring.cable_at(state.device, one.path.key(0));
      if (!cable) continue;
      out.cables.try_emplace(*cable, fmt::format("{} of {} is {}", one.path.text(), state.device,
                                                 one.was ? one.was.to_string() : "not there"));
    }
}

// Adds what changes wrote that disturb traffic: they may still do so.
void add_open(const Wiring& wiring, const OwedChange& open, OutOfService& out) {
  const std::string why = fmt::format("change {} is not judged yet", open.change);
  for (const LedgerTicket& ticket : open.tickets)
    for (const Change& one : ticket.changes) {
      if (schema_row(one.path.row()).disruption < Disruption::traffic) continue;
      const auto cable =
          one.path.key_count() == 0 ? std::nullopt : wiring.cable_at(ticket.device, one.path.key(0));
      if (cable && out.cables.try_emplace(*cable, why).second)
        out.unjudged_cables.insert(*cable);
      else if (!cable && out.devices.try_emplace(ticket.device, why).second)
        out.unjudged_devices.insert(ticket.device);
    }
}

// The maintenance of the device at the far end of a port.
std::string far_maintenance(const Fleet& fleet, const std::string& device, std::string_view port) {
  const PortName* const far = fleet.wiring().peer(device, port);
  const auto other = far == nullptr ? std::nullopt : fleet.find(far->device);
  if (!other || fleet[*other].maintenance.empty()) return "";
  return fmt::format("of {}, {}", far->device, fleet[*other].maintenance);
}

// For an effect over ports of which some are missing: set if all of those lead to devices in maintenance.
std::string missing_ports(const Fleet& fleet, const std::string& device, const Change& effect) {
  if (effect.want.kind() != Value::Kind::list) return "";
  const auto want = effect.want.as_list();
  const auto have = effect.was ? effect.was.as_list() : decltype(effect.was.as_list()){};
  const auto is_in = [](std::string_view one, const auto& list) {
    return std::find(list.begin(), list.end(), one) != list.end();
  };
  if (std::ranges::any_of(have, [&](std::string_view one) { return !is_in(one, want); })) return "";
  std::string why;
  for (const std::string_view one : want) {
    if (is_in(one, have)) continue;
    why = far_maintenance(fleet, device, one);
    if (why.empty()) return "";
  }
  return why;
}

}  // namespace

bool OutOfService::has(const std::string& device, bool unjudged) const {
  return devices.contains(device) && !unanswered.contains(device) &&
         (unjudged || !unjudged_devices.contains(device));
}

bool OutOfService::has_all(const Outage& outage, const Wiring& wiring, bool unjudged) const {
  return std::ranges::all_of(outage.devices, [&](const auto& one) { return has(one, unjudged); }) &&
         std::ranges::all_of(outage.cables, [&](std::uint32_t one) {
           const Cable& cable = wiring.cables[one];
           return (cables.contains(one) && (unjudged || !unjudged_cables.contains(one))) ||
                  has(cable.a.device, unjudged) || has(cable.b.device, unjudged);
         });
}

bool OutOfService::covers(const Outage& outage, const Wiring& wiring) const {
  return has_all(outage, wiring, false);
}

double OutOfService::capacity_left(const Outage& all, const Outage& own, const Wiring& wiring) const {
  std::set<std::string> may_be_up;
  Outage rest;
  const auto ask = [&](const std::string& device) {
    if (!unanswered.contains(device)) return false;
    may_be_up.insert(device);
    return true;
  };
  for (const std::string& device : own.devices)
    if (!ask(device)) rest.devices.push_back(device);
  for (const std::uint32_t one : own.cables) {
    const Cable& cable = wiring.cables[one];
    const bool at_a = ask(cable.a.device);
    if (!ask(cable.b.device) && !at_a) rest.cables.push_back(one);
  }
  const bool unjudged = !has_all(own, wiring, true);
  const double left = wiring.capacity_left(joined(all, unjudged, may_be_up));
  if (may_be_up.empty() || covers(rest, wiring)) return left;
  return std::min(left, wiring.capacity_left(joined(all, unjudged, {})));
}

Outage OutOfService::with(const Outage& outage) const { return joined(outage, true, {}); }

Outage OutOfService::joined(const Outage& all, bool unjudged, const std::set<std::string>& may_be_up) const {
  Outage out = all;
  out.returning = all.devices;
  for (const auto& [device, why] : devices) {
    if (unanswered.contains(device) ? may_be_up.contains(device) : !has(device, unjudged)) continue;
    out.devices.push_back(device);
    if (unjudged_devices.contains(device)) out.returning.push_back(device);
  }
  std::erase_if(out.returning, [this](const std::string& one) { return has(one, false); });
  for (const auto& [cable, why] : cables)
    if (unjudged || !unjudged_cables.contains(cable)) out.cables.push_back(cable);
  const auto sort_unique = [](auto& list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  };
  sort_unique(out.devices);
  sort_unique(out.returning);
  sort_unique(out.cables);
  return out;
}

std::string OutOfService::text(const Wiring& wiring) const {
  std::vector<std::string> all;
  for (const auto& [device, why] : devices) all.push_back(fmt::format("{} ({})", device, why));
  for (const auto& [number, why] : cables) {
    const Cable& cable = wiring.cables[number];
    if (devices.contains(cable.a.device) || devices.contains(cable.b.device)) continue;  // follows from it
    all.push_back(fmt::format("{} ({})", cable.a.text(), why));
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(kNamed, all.size()); ++i) text += (i == 0 ? "" : ", ") + all[i];
  return all.size() > kNamed ? fmt::format("{} and {} more", text, all.size() - kNamed) : text;
}

OutOfService out_of_service(const Fleet& fleet, const std::vector<DeviceState>& states,
                            const std::vector<OwedChange>& open) {
  OutOfService out;
  for (std::size_t i = 0; i < fleet.size() && i < states.size(); ++i) {
    const FleetDevice& device = fleet[i];
    if (!device.maintenance.empty())
      out.devices.try_emplace(device.name, "maintenance " + device.maintenance);
    else if (const std::string why = why_unread(states[i]);
             !why.empty() && !device.drivers.empty() &&
             out.devices.try_emplace(device.name, "it did not answer: " + why).second)
      out.unanswered.insert(device.name);
    if (states[i].reachable) add_cables(fleet.wiring(), states[i], out);
  }
  for (const OwedChange& one : open) add_open(fleet.wiring(), one, out);
  return out;
}

std::string why_unread(const DeviceState& state) {
  return state.reachable || state.errors.empty() ? "" : state.errors.front().text();
}

std::string maintenance_of(const Fleet& fleet, std::size_t device, const DeviceState& state,
                           const Change& difference) {
  const FleetDevice& one = fleet[device];
  const Row& row = schema_row(difference.path.row());
  if (!one.maintenance.empty() || row.facet != Facet::effect) return one.maintenance;
  if (difference.path.key_count() == 0) return "";
  if (std::string far = far_maintenance(fleet, one.name, difference.path.key(0)); !far.empty()) return far;
  if (std::string ports = missing_ports(fleet, one.name, difference); !ports.empty()) return ports;
  for (const Change& whole : state.difference.effects)  // a figure of an effect that is explained itself
    if (row.is_part_of(schema_row(whole.path.row()).pattern) && whole.path.key_count() > 0 &&
        whole.path.key(0) == difference.path.key(0))
      return missing_ports(fleet, one.name, whole);
  return "";
}

std::string budget_reason(const std::string& device, double left, double least, const OutOfService& already,
                          const Wiring& wiring) {
  const std::string figures = fmt::format("{:.0f}% would be left to the worst pair, the policy wants {:.0f}%",
                                          left * 100, least * 100);
  if (already.empty()) return fmt::format("{} has no redundancy here: {}", device, figures);
  return fmt::format("{}: {}; out of service already: {}", device, figures, already.text(wiring));
}

}  // namespace lockstep
