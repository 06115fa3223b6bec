#include "reconciler/session/snapshot.hpp"

#include <utility>

namespace lockstep {

SnapshotBoard::SnapshotBoard(Executor& executor, std::vector<NamedDevice> devices) : executor_(executor) {
  next_.devices.resize(devices.size());
  next_.named = std::make_shared<const std::vector<NamedDevice>>(std::move(devices));
  publish();
}

std::shared_ptr<const Snapshot> SnapshotBoard::read() const {
  const std::scoped_lock lock(mutex_);
  return newest_;
}

void SnapshotBoard::observed(std::size_t device, const DeviceState& state, const std::string& maintenance) {
  DeviceStatus status;
  status.device = state.device;
  status.maintenance = maintenance;
  status.observed = executor_.wall_time();
  status.reachable = state.reachable;
  status.complete = state.complete();
  if (!status.complete) status.why_incomplete = state.why_incomplete();
  status.differences = state.difference.changes.size() + state.difference.effects.size();
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
