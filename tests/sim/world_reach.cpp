// Where the program of a World runs, which devices it reaches from there, and by which drivers: a switch may
// have one for its kernel and one for its routing daemons, whose configuration is saved by a separate entry.
// The program may run on one of the hosts, from which it reaches the others over the fabric that it changes.
#include <algorithm>

#include "specs/model/schema_rows.hpp"
#include "tests/said.hpp"
#include "world.hpp"

namespace lockstep::simulation {

void World::draw_reach() {
  const bool split = random_.chance(0.5);
  const bool saves = random_.chance(0.5);
  for (TopologyDevice& device : cluster_.compiled.topology.devices) {
    Place& place = places_.at(device.name);
    if (place.is_host()) continue;
    place.is_split = split;
    if (split) device.drivers.push_back(DriverName::frr);
    if (!saves) continue;
    place.device->saver = Path(row("routing-config/saved"), {});
    place.intent->want.set(*place.device->saver, Value::present());
    place.device->set(*place.device->saver, Value::present());
  }
  if (random_.chance(0.5)) run_on("gpu0");
}

// Reaches each of the others by one of its rails, or by both.
void World::run_on(const std::string& device) {
  Topology& topology = cluster_.compiled.topology;
  self_ = device;
  topology.devices[topology.find_device(device)].set =
      static_cast<std::uint32_t>(cluster_.catalog.device_sets.size());
  DeviceSet& own = cluster_.catalog.device_sets.emplace_back();
  own.metadata.name = said<std::string>("own");
  own.connect.value.local = said(true);
  const std::set<std::string>& rails = places_.at(device).ports;
  for (auto& [name, place] : places_) {
    if (name == self_) continue;
    place.rails = random_.chance(0.3) ? rails : std::set{*std::next(rails.begin(), random_.chance(0.5))};
    place.entered_by = ports_entered(place);
    place.device->undoes_itself = random_.chance(0.5);
  }
}

std::optional<std::uint32_t> World::cable_between(const std::string& one, const std::string& other) const {
  for (const std::string& port : places_.at(one).ports)
    if (wiring_.peer(one, port)->device == other) return wiring_.cable_at(one, port);
  return std::nullopt;
}

std::vector<std::string> World::leaves_of(const Place& host) const {
  std::vector<std::string> out;
  for (const std::string& port : host.ports) out.push_back(wiring_.peer(host.name, port)->device);
  return out;
}

// By the shortest paths, when all cables carry traffic.
std::set<std::string> World::ports_entered(const Place& place) const {
  std::set<std::string> out;
  for (const std::string& rail : place.rails) {
    const std::string& leaf = wiring_.peer(self_, rail)->device;
    const auto enters = [&](const std::string& from) {
      for (const std::string& port : place.ports)
        if (wiring_.peer(place.name, port)->device == from) out.insert(port);
    };
    if (place.name == leaf)
      enters(self_);
    else if (place.role == DeviceRole::spine)
      enters(leaf);
    else if (place.is_host() && cable_between(leaf, place.name))
      enters(leaf);
    else
      for (const std::string& port : place.ports)
        if (const std::string& next = wiring_.peer(place.name, port)->device;
            places_.at(next).role != DeviceRole::host)
          out.insert(port);
  }
  return out;
}

Result<std::vector<std::set<std::string>>> World::first_hops(const std::vector<IpAddress>& addresses) const {
  std::vector<std::set<std::string>> out;
  for (const IpAddress& one : addresses)
    out.push_back(places_.at(cluster_.compiled.topology.devices[one.low - kFirstAddress].name).rails);
  return out;
}

// The cable carries traffic, and no session over it is down because of the program.
bool World::is_up(std::uint32_t cable) const {
  const auto is_down = [this](const PortName& end) {
    const Disturbance& down = places_.at(end.device).down;
    return down.whole || down.ports.contains(end.port);
  };
  return carries(cable) && !is_down(wiring_.cables[cable].a) && !is_down(wiring_.cables[cable].b);
}

// Up and down again, over any of the cables that are up.
bool World::is_reached_by(const Place& place, const std::string& rail) const {
  const auto joined = [this](const std::string& one, const std::string& other) {
    const auto cable = cable_between(one, other);
    return cable && is_up(*cable);
  };
  const std::string& leaf = wiring_.peer(self_, rail)->device;
  if (!is_up(*wiring_.cable_at(self_, rail))) return false;
  if (place.name == leaf) return true;
  if (place.role == DeviceRole::spine) return joined(leaf, place.name);
  const auto reaches_leaf = [&](const std::string& other) {
    return other == leaf || std::ranges::any_of(places_, [&](const auto& one) {
             return one.second.role == DeviceRole::spine && joined(leaf, one.first) &&
                    joined(other, one.first);
           });
  };
  if (!place.is_host()) return reaches_leaf(place.name);
  return std::ranges::any_of(leaves_of(place), [&](const std::string& other) {
    return joined(other, place.name) && reaches_leaf(other);
  });
}

bool World::is_reached(const Place& place) const {
  if (self_.empty() || place.name == self_) return true;
  return !place.is_cut && std::ranges::any_of(place.rails, [&](const std::string& rail) {
    return is_reached_by(place, rail);
  });
}

// The error when the device does not answer; none: it answers.
std::optional<Error> World::why_silent(Place& place, std::size_t part) {
  place.device->keep_time();
  if (place.is_cut && !place.device->is_armed()) {
    place.is_cut = false;
    const bool undid = place.device->boots() == place.boots_before;
    result_.counts.undid += undid ? 1 : 0;
    record(place.name + (undid ? " has undone what cut it off" : " is reached again, as it has booted"));
  }
  if (!place.device->is_armed()) place.armed.clear();
  if (part == 1 && silent_.contains(place.name))
    return Error{ErrorKind::transient, "the routing daemon does not answer"};
  if (is_reached(place)) return std::nullopt;
  ++result_.counts.unheard;
  return Error{ErrorKind::transient, "no route to the device"};
}

// A write that disturbs all ports by which the program reaches a device is allowed only with automatic
// rollback, even in a rollback. It may cut the device off until the device has rolled back.
void World::check_last_way(Place& place, const SimulatedCall& call) {
  if (call.guard->undo_after && place.device->is_armed()) {
    for (const Change& change : *call.changes) place.armed.insert_or_assign(change.path, change.want);
    place.shows_armed = false;
  }
  if (self_.empty() || place.entered_by.empty()) return;
  const bool cuts = std::ranges::all_of(place.entered_by, [&](const std::string& port) {
    return std::ranges::any_of(*call.changes, [&](const Change& change) {
      return schema_row(change.path.row()).disruption >= Disruption::traffic && change.path.key_count() > 0 &&
             change.path.key(0) == port && place.device->truth().value(change.path) == change.want;
    });
  });
  if (!cuts) return;
  if (!call.guard->undo_after)
    return violation("the last way to " + place.name + " was cut, and nothing brings it back");
  ++result_.counts.armed;
  if (!place.device->is_armed() || !random_.chance(cut_chance_)) return;
  place.is_cut = true;
  record(place.name + " is cut off");
}

// Records whether an observation shows the armed values.
void World::note_armed(Place& place, const SimulatedCall& call) {
  place.shows_armed =
      place.shows_armed || std::ranges::all_of(place.armed, [&](const auto& one) {
        return call.scope->wants(one.first.row()) && call.observed->have.value(one.first) == one.second;
      });
}

// Confirmed changes stay. A rollback by the device on request disturbs like a write.
void World::note_settled(Place& place) {
  if (place.armed.empty() || place.device->is_armed()) return;
  ChangeSet undone;
  for (const auto& [path, want] : std::exchange(place.armed, {}))
    if (const Value now = place.device->truth().value(path); place.before_write.value(path) != now)
      undone.push_back({path, place.before_write.value(path), now, 0});
  if (undone.empty() || place.is_host()) return;
  ++result_.counts.told_to_undo;
  place.in_hand = disturbed_by(place, undone);
  if (!place.in_hand.any()) return;
  check_budget(place, true);
  flap(place, place.in_hand);
}

// The device works and waits, still armed, for others to do so too.
bool World::waits_armed(const Place& place) {
  return place.device->is_armed() && !place.down.any() && !place.is_cut && place.shows_armed;
}

bool World::is_disturbed(const Place& place) {
  return (place.in_hand.any() && !waits_armed(place)) || (place.down.any() && !place.shown_up);
}

// A done step has its values, except for later changes by others or a reboot. Devices that may report an old
// state are not checked.
void World::check_done(const Step& step) {
  const Place& place = places_.at(step.device);
  if (changes_.empty() || place.device->faults.stale_read > 0) return;
  const KnownChange& change = changes_.rbegin()->second;
  const auto begun = change.first_ticket.find(step.device);
  if (begun == change.first_ticket.end() || place.moved > begun->second ||
      change.boots.at(step.device) != place.device->boots())
    return;
  std::map<Path, Value> last;
  for (const PlannedChange& one : step.changes)
    if (schema_row(one.path.row()).facet == Facet::config) last.insert_or_assign(one.path, one.want);
  for (const auto& [path, want] : last)
    if (const Value now = place.device->truth().value(path); now != want)
      violation(step.device + " is done, and " + path.text() + " is " + now.to_string());
}

// A kept change is saved, except for later changes by others or a reboot.
void World::check_saved(const ApplyReport& report) {
  const auto change = changes_.find(report.change_id);
  if (report.verdict != ApplyVerdict::kept || change == changes_.end()) return;
  for (const auto& [name, turn] : change->second.first_ticket) {
    const Place& place = places_.at(name);
    if (place.device->saver && place.moved <= turn && place.device->faults.stale_read == 0 &&
        place.device->boots() == change->second.boots.at(name) &&
        !place.device->truth().value(*place.device->saver))
      violation(name + " is kept, and its routing daemons would lose it");
  }
}

// Everything is as desired and stays so when the routing daemons restart.
void World::check_saved() {
  for (auto& [name, place] : places_) {
    if (!place.device->saver) continue;
    place.device->reboot();
    for (const Entry& want : place.intent->want.entries()) {
      const Row& one = schema_row(want.path.row());
      if (!one.is_saved_by(schema_row(place.device->saver->row()).saves) || one.facet != Facet::config)
        continue;
      ++result_.counts.kept;
      if (place.device->truth().value(want.path) != want.value)
        violation(name + " lost " + want.path.text() + " when it started again");
    }
  }
}

}  // namespace lockstep::simulation
