#include "reconciler/session/reach.hpp"

#include <algorithm>
#include <iterator>

#include "reconciler/engine/causes.hpp"

namespace lockstep {
namespace {

template <class T>
void move_behind(std::vector<T>& all, std::vector<T> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

bool is_chosen(std::size_t device, const std::vector<std::size_t>& only) {
  return only.empty() || std::find(only.begin(), only.end(), device) != only.end();
}

// Adds it to the group of its reason.
template <class Group>
void add_device(std::vector<Group>& all, const std::string& why, const std::string& device) {
  auto known = std::find_if(all.begin(), all.end(), [&why](const Group& one) { return one.why == why; });
  if (known == all.end()) known = all.insert(all.end(), {why, {}});
  known->devices.push_back(device);
}

template <class Lacks>
std::vector<NotObserved> grouped(const Fleet& fleet, const std::vector<DeviceState>& states,
                                 const std::vector<std::size_t>& only, const Lacks& lacks) {
  std::vector<NotObserved> all;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const bool excused = i < fleet.size() && !fleet[i].maintenance.empty();
    if (excused || !is_chosen(i, only) || !lacks(states[i])) continue;
    std::string why = states[i].why_incomplete();
    if (why.empty()) why = states[i].reachable ? "a part was not observed" : "unreachable from this machine";
    add_device(all, why, states[i].device);
  }
  return all;
}

}  // namespace

std::vector<NotObserved> not_observed(const Fleet& fleet, const std::vector<DeviceState>& states,
                                      const std::vector<std::size_t>& only) {
  return grouped(fleet, states, only, [](const DeviceState& state) { return !state.complete(); });
}

std::vector<NotObserved> unreached(const Fleet& fleet, const std::vector<DeviceState>& states,
                                   const std::vector<std::size_t>& only) {
  return grouped(fleet, states, only, [](const DeviceState& state) { return !state.reachable; });
}

std::vector<InMaintenance> in_maintenance(const Fleet& fleet, const std::vector<std::size_t>& only) {
  std::vector<InMaintenance> all;
  for (std::size_t i = 0; i < fleet.size(); ++i)
    if (!fleet[i].maintenance.empty() && is_chosen(i, only))
      add_device(all, fleet[i].maintenance, fleet[i].name);
  return all;
}

Result<Done> reaches_any(const Fleet& fleet) {
  const std::vector<FleetDevice>& devices = fleet.devices();
  if (std::any_of(devices.begin(), devices.end(),
                  [](const FleetDevice& one) { return !one.drivers.empty(); }))
    return Done{};
  return Error{ErrorKind::refused,
               "no device of these specs has a driver here; " + std::string(kWhyUnreached)};
}

DriftReport report_of(const Fleet& fleet, const std::vector<DeviceState>& states,
                      const std::vector<std::size_t>& only, const Origins& origins, const Sources& sources,
                      const ReportChoice& choice) {
  if (only.empty()) return drift_report(fleet, states, origins, sources, choice);
  DriftReport all;
  for (const std::size_t index : only) {
    DriftReport one = device_report(fleet, index, states[index], origins, sources, choice);
    all.devices += one.devices;
    all.observed += one.observed;
    all.in_sync += one.in_sync;
    all.drifted += one.drifted;
    all.waiting += one.waiting;
    all.in_maintenance += one.in_maintenance;
    all.excused += one.excused;
    move_behind(all.items, std::move(one.items));
    move_behind(all.unobserved, std::move(one.unobserved));
  }
  all.problems = problems_of(all, fleet.wiring());
  return all;
}

}  // namespace lockstep
