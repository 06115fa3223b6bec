// What others take away from a World, and give back: devices that cannot be reached.
#include "world.hpp"

namespace lockstep::simulation {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

}  // namespace

// For half a minute, for some minutes, or as long as there are faults.
Time World::draw_end() {
  const std::uint64_t drawn = random_.below(3);
  if (drawn == 2) return Time::max();
  return now() + (drawn == 0 ? Time::duration(seconds(30)) : minutes(5));
}

void World::leave() {
  Place& place = draw_place();
  if (!away_.emplace(place.name, draw_end()).second) return;
  place.device->unreachable = true;
  record(place.name + " is away");
}

void World::come_back(Time when) {
  std::erase_if(away_, [&](const auto& one) {
    if (one.second > when) return false;
    places_.at(one.first).device->unreachable = false;
    record(one.first + " is back");
    return true;
  });
}

// Now, or for the process from its beginning.
std::set<std::string> World::all_away(const Process& process) const {
  std::set<std::string> out = process.unattached;
  for (const auto& [device, until] : away_) out.insert(device);
  return out;
}

}  // namespace lockstep::simulation
