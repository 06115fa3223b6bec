// Outages by others in a World, and their ends: unreachable devices, devices without power, unplugged cables,
// shut ports, and the loss of most of the fabric's bandwidth.
#include <algorithm>
#include <array>

#include "specs/model/schema_rows.hpp"
#include "world.hpp"

namespace lockstep::simulation {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr RowId kAdmin = row("interface[*]/admin");
constexpr RowId kSession = row("bgp/neighbor[*]/session");

// The first write of a step comes at most this long after the capacity check: the observation for it takes at
// most 20 s, and no try of a step starts later than 60 s after its first.
constexpr minutes kKnownAfter{2};

}  // namespace

// Half a minute, five minutes, or as long as there are faults.
Time World::draw_end() {
  const std::uint64_t drawn = random_.below(3);
  if (drawn == 2) return Time::max();
  return now() + (drawn == 0 ? Time::duration(seconds(30)) : minutes(5));
}

void World::leave() {
  Place& place = draw_place();
  if (place.is_split && random_.chance(0.5)) {
    if (silent_.emplace(place.name, draw_end()).second) record(place.name + "'s routing daemon is away");
    return;
  }
  if (!away_.emplace(place.name, draw_end()).second) return;
  settle_reach(place.name);
  record(place.name + " is away");
}

void World::settle_reach(const std::string& device) {
  places_.at(device).device->unreachable = away_.contains(device) || off_.contains(device);
}

void World::break_something() {
  switch (random_.below(4)) {
    case 0: return pull_or_shut(false);
    case 1: return pull_or_shut(true);
    case 2: return switch_off();
    default: full_until_ = draw_end(); record("another tenant fills the fabric");
  }
}

void World::pull_or_shut(bool shut) {
  const auto cable = static_cast<std::uint32_t>(random_.below(wiring_.cables.size()));
  const PortName& end = random_.chance(0.5) ? wiring_.cables[cable].a : wiring_.cables[cable].b;
  const Dead dead{.until = draw_end(), .shut_at = shut ? end.device : ""};
  if (!dead_.emplace(cable, dead).second) return;
  record(end.text() + (shut ? " is shut" : " is pulled"));
  if (shut) {
    Place& place = places_.at(end.device);
    place.moved = ++turn_;
    place.device->set(Path(kAdmin, {end.port}), Value::boolean(false));
  }
  refresh_ends(cable);
}

void World::switch_off() {
  const Place& place = draw_place();
  if (!off_.emplace(place.name, Off{now(), draw_end()}).second) return;
  record(place.name + " is off");
  settle_reach(place.name);
  for (const std::string& port : place.ports) refresh_ends(*wiring_.cable_at(place.name, port));
}

// A shut port stays shut until it is reopened.
void World::come_back(Time when) {
  if (when == Time::max()) full_until_ = {};
  std::erase_if(silent_, [&](const auto& one) {
    if (one.second <= when) record(one.first + "'s routing daemon is back");
    return one.second <= when;
  });
  for (auto at = away_.begin(); at != away_.end();) {
    if (at->second > when) {
      ++at;
      continue;
    }
    const std::string device = at->first;
    at = away_.erase(at);
    settle_reach(device);
    record(device + " is back");
  }
  for (auto at = off_.begin(); at != off_.end();) {
    if (at->second.until > when) {
      ++at;
      continue;
    }
    Place& place = places_.at(at->first);
    at = off_.erase(at);
    settle_reach(place.name);
    record(place.name + " is on again");
    place.moved = ++turn_;
    place.device->reboot();
    forget_what_is_gone(place);
    for (const std::string& port : place.ports) refresh_ends(*wiring_.cable_at(place.name, port));
  }
  for (auto at = dead_.begin(); at != dead_.end();) {
    if (!at->second.shut_at.empty() || at->second.until > when) {
      ++at;
      continue;
    }
    const std::uint32_t cable = at->first;
    at = dead_.erase(at);
    record(wiring_.cables[cable].a.text() + " is plugged in again");
    refresh_ends(cable);
  }
}

// Devices that are away now, or for the process since its start.
std::set<std::string> World::all_away(const Process& process) const {
  std::set<std::string> out = process.unattached;
  for (const auto& [device, until] : away_) out.insert(device);
  for (const auto& [device, off] : off_) out.insert(device);
  return out;
}

std::set<std::string> World::all_half_away() const {
  std::set<std::string> out;
  for (const auto& [device, until] : silent_)
    if (!away_.contains(device) && !off_.contains(device)) out.insert(device);
  return out;
}

// Recomputes the effects that follow from the device's entries and from outages.
void World::refresh(const std::string& device) {
  SimulatedDevice& one = *places_.at(device).device;
  one.effects(const_cast<Tree&>(one.truth()));
}

void World::refresh_ends(std::uint32_t cable) {
  refresh(wiring_.cables[cable].a.device);
  refresh(wiring_.cables[cable].b.device);
}

// A port shut by others carries traffic again once it is reopened.
void World::reopen(const Place& place, const Tree& tree) {
  for (auto at = dead_.begin(); at != dead_.end();) {
    const Cable& cable = wiring_.cables[at->first];
    const bool here = cable.a.device == place.name;
    const PortName& own = here ? cable.a : cable.b;
    if (at->second.shut_at != place.name || tree.value(Path(kAdmin, {own.port})) == Value::boolean(false)) {
      ++at;
      continue;
    }
    reopened_.insert(at->first);
    at = dead_.erase(at);
    record(own.text() + " is open again");
    refresh(here ? cable.b.device : cable.a.device);
  }
}

bool World::carries(std::uint32_t cable) const {
  return !dead_.contains(cable) && (off_.empty() || (!off_.contains(wiring_.cables[cable].a.device) &&
                                                     !off_.contains(wiring_.cables[cable].b.device)));
}

bool World::is_blocked(const FlowPath& path) const {
  return !std::ranges::all_of(path.cables, [this](std::uint32_t cable) { return carries(cable); });
}

// The program detects an outage by a shut port or by a session that is down.
void World::note_outages(const Place& place, const Observation& observed, std::size_t part) {
  constexpr std::array kShows{kAdmin, kSession};
  for (auto& [cable, dead] : dead_)
    for (const std::size_t end : {0, 1}) {
      const PortName& port = end == 0 ? wiring_.cables[cable].a : wiring_.cables[cable].b;
      if (port.device != place.name) continue;
      for (std::size_t i = 0; i < kShows.size(); ++i) {
        if (place.part(kShows[i]) != part) continue;
        const Path path(kShows[i], {port.port});
        const Value want = place.intent->want.value(path);
        const bool shown = want && observed.have.value(path) != want && !is_unread(observed.unread, path);
        std::optional<Time>& since = dead.shown[end][i];
        if (!shown)
          since.reset();
        else if (!since)
          since = now();
      }
    }
}

// Outages by others that every observation has shown for long enough to count in budgets.
void World::add_outages(std::set<std::string>& devices, std::set<std::uint32_t>& cables) const {
  const Time latest = now() - kKnownAfter;
  for (const auto& [device, off] : off_)
    if (off.since <= latest && !process_->unattached.contains(device)) devices.insert(device);
  for (const auto& [cable, dead] : dead_)
    for (const auto& end : dead.shown)
      if (std::ranges::any_of(end, [&](const auto& since) { return since && *since <= latest; }))
        cables.insert(cable);
}

}  // namespace lockstep::simulation
