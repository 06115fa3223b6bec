#include "reconciler/session/snapshot.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace lockstep {
namespace {

void add_items(const DriftReport& report, DeviceStatus& status) {
  std::map<std::string, ObjectDrift> objects;
  for (const DriftEntry& item : report.items) {
    const auto state = static_cast<std::size_t>(item.state);
    const bool is_manual = item.state == DriftState::not_applied && item.by_hand;
    ++status.counts[state];
    status.manual += is_manual ? 1 : 0;
    if (item.origin.object.empty()) continue;
    ObjectDrift& object = objects[item.origin.object];
    ++object.counts[state];
    object.manual += is_manual ? 1 : 0;
  }
  // What differs must not be lost behind what the device does not support.
  for (const bool differs : {true, false})
    for (const DriftEntry& item : report.items)
      if (item.differs() == differs && status.items.size() < kItemsKept) status.items.push_back(item);
  for (auto& [name, object] : objects) {
    object.object = name;
    status.objects.push_back(std::move(object));
  }
}

}  // namespace

DeviceNames devices_of(const Plan& plan) {
  std::set<std::string> out;
  for (const Step& step : plan.steps)
    if (!step.stands_by() && step.holds.empty()) out.insert(step.device);
  return std::make_shared<const std::set<std::string>>(std::move(out));
}

SnapshotBoard::SnapshotBoard(Executor& executor, std::vector<NamedDevice> devices) : executor_(executor) {
  next_.devices.resize(devices.size());
  next_.named = std::make_shared<const std::vector<NamedDevice>>(std::move(devices));
  publish();
}

std::shared_ptr<const Snapshot> SnapshotBoard::read() const {
  const std::scoped_lock lock(mutex_);
  return newest_;
}

void SnapshotBoard::observed(std::size_t device, const DeviceState& state, const DriftReport& report,
                             const std::string& maintenance) {
  DeviceStatus status;
  status.device = state.device;
  status.maintenance = maintenance;
  status.observed = executor_.wall_time();
  status.reachable = state.reachable;
  status.complete = state.complete();
  if (!status.complete) status.why_incomplete = state.why_incomplete();
  status.differences = static_cast<std::size_t>(std::ranges::count_if(report.items, &DriftEntry::differs));
  status.boot_id = state.observation.boot_id;
  status.facts = state.observation.facts;
  add_items(report, status);
  next_.devices[device] = std::make_shared<const DeviceStatus>(std::move(status));
  publish_soon();
}

void SnapshotBoard::happened(const WatchEvent& event) {
  next_.events.push_back(std::make_shared<const WatchEvent>(event));
  if (next_.events.size() > kEventsKept) next_.events.pop_front();
  publish_soon();
}

void SnapshotBoard::change(std::optional<ChangeUnderWay> change) {
  next_.change = std::move(change);
  publish_soon();
}

// Publishes at the end of the turn: however much changes in it, readers see one step.
void SnapshotBoard::publish_soon() {
  if (!std::exchange(publishes_, true)) executor_.defer(callbacks_.bind([this] { publish(); }));
}

void SnapshotBoard::publish() {
  publishes_ = false;
  ++next_.generation;
  auto newest = std::make_shared<const Snapshot>(next_);
  const std::scoped_lock lock(mutex_);
  newest_.swap(newest);
}

}  // namespace lockstep
