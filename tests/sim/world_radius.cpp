// Compares what the program reports as touched by its changes with the model of the data plane.
#include <algorithm>

#include "world.hpp"

namespace lockstep::simulation {

void World::build_data_plane() {
  const Topology& topology = cluster_.compiled.topology;
  data_plane_.emplace(topology);
  for (DeviceIndex i = 0; i < topology.devices.size(); ++i) {
    places_.at(topology.devices[i].name).index = i;
    truths_.push_back(&places_.at(topology.devices[i].name).device->truth());
  }
}

// Records the paths whose figure this write changed. A device that rebooted meanwhile lost more than that.
void World::note_moved(const Place& place, std::uint64_t change) {
  if (place.device->boots() != place.boots_before) return;
  std::vector<const Tree*> before = truths_;
  before[place.index] = &place.before_write;
  for (const std::size_t way : data_plane_->ways_over(place.index)) {
    const DataPlane::Way& one = data_plane_->ways()[way];
    if (DataPlane::figure(one, before) == DataPlane::figure(one, truths_)) continue;
    moved_[change].insert(way);
    unmeasured_[change].insert(way);
    ++result_.counts.moved;
  }
}

bool World::is_within(const DataPlane::Way& way, const BlastRadius& blast) const {
  const auto& devices = cluster_.compiled.topology.devices;
  return std::ranges::any_of(way.devices,
                             [&](DeviceIndex one) {
                               return std::ranges::find(blast.devices, devices[one].name) !=
                                      blast.devices.end();
                             }) ||
         std::ranges::any_of(way.cables, [&](LinkIndex one) {
           return std::ranges::find(blast.cables, one) != blast.cables.end();
         });
}

void World::check_radius(std::uint64_t change, const BlastRadius& blast, const char* of) {
  for (const std::size_t way : moved_[change])
    if (const DataPlane::Way& one = data_plane_->ways()[way]; !is_within(one, blast))
      return violation("change " + std::to_string(change) + " changed " + data_plane_->name(one) +
                       ", which is not in " + of);
}

// A gate asks about everything that its change has moved since the last measurement, now or with a later
// wave. Healings are not measured.
void World::check_question(const GateQuestion& question) {
  if (question.when == GateQuestion::When::before || changes_.empty()) return;
  // The rollback of one cable end belongs to the change that it rolls back.
  const auto last = std::ranges::find_if(changes_.rbegin(), changes_.rend(),
                                         [](const auto& one) { return !one.second.evens; });
  const auto& [id, change] = *last;
  const bool again = question.when == GateQuestion::When::again;
  if (change.healing || change.undoes.has_value() != again) return;
  if (!again) check_radius(id, question.whole, "what the run may write");
  std::erase_if(unmeasured_[id], [&](std::size_t way) {
    const DataPlane::Way& one = data_plane_->ways()[way];
    const bool waits = is_within(one, question.pending);
    const bool asked = is_within(one, question.affected);
    if (!waits && !asked)
      violation("change " + std::to_string(id) + " changed " + data_plane_->name(one) +
                ", and its gate does not ask about it");
    result_.counts.asked += asked ? 1 : 0;
    return asked && !waits;
  });
}

}  // namespace lockstep::simulation
