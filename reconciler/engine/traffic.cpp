#include "reconciler/engine/traffic.hpp"

#include <algorithm>

namespace lockstep {

Traffic::Traffic(const PlanInput& input, const Columns& columns)
    : input_(input), columns_(columns), told_(input.devices.size()) {
  for (std::uint32_t d = 0; d < input.devices.size(); ++d) index_.emplace(input.devices[d].name, d);
}

// Desired members, and existing ones that are to be removed, by this plan or a later one; or, for a device
// with neither, the existing unmanaged ones.
Traffic::Told Traffic::tell(const DeviceInput& device) const {
  Told traffic;
  if (device.intent == nullptr || device.observation == nullptr) return traffic;
  const auto tell = [&traffic](Path path, bool is_there) {
    traffic.device_told = true;
    if (is_there) traffic.device = true;
    if (path.key_count() == 0) return;
    traffic.ports_told.insert(path.key(0));
    if (is_there) traffic.ports.insert(path.key(0));
  };
  const Tree& there = device.observation->have;
  for (const RowId row : columns_.traffic_collections())
    for (const Entry& want : device.intent->want.of_row(row))
      // What could not be read may well be there.
      tell(want.path, there.value(want.path) || is_unread(device.observation->unread, want.path));
  // A rollback removes unmanaged entries, too.
  for (const Change& change : device.changes)
    if (std::ranges::find(columns_.traffic_collections(), change.path.row()) !=
        columns_.traffic_collections().end())
      tell(change.path, bool{change.was});
  std::vector<Path> unclaimed;
  for (const RowId row : columns_.traffic_collections())
    for (const Entry& have : there.of_row(row)) {
      if (device.intent->want.find(have.path) != nullptr) continue;
      if (claim_of(*device.intent, have.path) != nullptr)
        tell(have.path, true);
      else
        unclaimed.push_back(have.path);
    }
  if (!traffic.device_told)
    for (const Path path : unclaimed) tell(path, true);
  return traffic;
}

const Traffic::Told& Traffic::told(std::uint32_t device) {
  auto& known = told_[device];
  if (!known) known = tell(input_.devices[device]);
  return *known;
}

std::optional<std::uint32_t> Traffic::find(std::string_view device) const {
  const auto found = index_.find(device);
  return found == index_.end() ? std::nullopt : std::optional(found->second);
}

// As the device at that end of a cable reports it. A device that is unknown, or was not observed this time,
// may use its port.
bool Traffic::at_end(const PortName& end) {
  const auto device = find(end.device);
  return !device || input_.devices[*device].observation == nullptr || told(*device).ports.contains(end.port);
}

bool Traffic::at(std::uint32_t device, std::string_view port) {
  const Told& own = told(device);
  if (own.ports_told.contains(port)) return own.ports.contains(port);
  const PortName* const peer =
      input_.wiring != nullptr ? input_.wiring->peer(input_.devices[device].name, port) : nullptr;
  return peer != nullptr && at_end(*peer);
}

bool Traffic::at(std::uint32_t device) {
  const Told& own = told(device);
  if (own.device_told || input_.wiring == nullptr) return own.device;
  if (ends_at_.empty())
    for (const Cable& cable : input_.wiring->cables) {
      ends_at_[cable.a.device].push_back(&cable.b);
      ends_at_[cable.b.device].push_back(&cable.a);
    }
  const auto& ends = ends_at_[input_.devices[device].name];
  return std::any_of(ends.begin(), ends.end(), [this](const PortName* end) { return at_end(*end); });
}

}  // namespace lockstep
