#include "reconciler/session/reach.hpp"

#include <algorithm>
#include <iterator>

namespace lockstep {
namespace {

template <class T>
void move_behind(std::vector<T>& all, std::vector<T> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

void mark_unreached(const AttachedFleet& attached, std::vector<DeviceState>& states) {
  const Fleet& fleet = attached.fleet;
  for (std::size_t i = 0; i < fleet.size() && i < states.size(); ++i) {
    if (!fleet[i].drivers.empty()) continue;
    states[i] = DeviceState{};
    states[i].device = fleet[i].name;
    const auto why = attached.unattached.find(i);
    states[i].errors.push_back(why == attached.unattached.end() ? Error{ErrorKind::refused, kWhyUnreached}
                                                                : why->second);
  }
}

std::vector<NotObserved> not_observed(const std::vector<DeviceState>& states,
                                      const std::vector<std::size_t>& only) {
  std::vector<NotObserved> all;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const DeviceState& state = states[i];
    const bool chosen = only.empty() || std::find(only.begin(), only.end(), i) != only.end();
    if (!chosen || state.complete()) continue;
    std::string why = state.why_incomplete();
    if (why.empty()) why = state.reachable ? "some of it was not read" : "nothing here reaches it";
    auto known =
        std::find_if(all.begin(), all.end(), [&why](const NotObserved& one) { return one.why == why; });
    if (known == all.end()) known = all.insert(all.end(), {std::move(why), {}});
    known->devices.push_back(state.device);
  }
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
    move_behind(all.items, std::move(one.items));
    move_behind(all.unobserved, std::move(one.unobserved));
  }
  return all;
}

}  // namespace lockstep
