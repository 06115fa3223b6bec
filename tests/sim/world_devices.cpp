// The devices of a World, and the faults of devices and of the programs and operators that change them.
#include <algorithm>
#include <iterator>

#include "specs/model/schema_rows.hpp"
#include "world.hpp"

namespace lockstep::simulation {
namespace {

using std::chrono::milliseconds;

Path entry(const std::string& text) { return *Path::parse(text); }

// The redundancy group, derived from the name alone.
std::string group_of(const TopologyDevice& device) {
  if (device.role == DeviceRole::host) return "";
  if (device.role == DeviceRole::spine) return "spines";
  return "pair" + std::to_string(std::stoul(device.name.substr(4)) / 2);
}

}  // namespace

void World::build() {
  wall_epoch_ = WallTime(std::chrono::minutes(random_.below(365 * 24 * 60)));
  const std::optional<Window> window = draw_window();
  cluster_ = make_cluster(options_.devices, window, directory_.path());
  on_violation_ = draw_on_violation();
  cluster_.catalog.validation_suites.front().on_change.value.on_violation.value = on_violation_;
  windows_ = policy_of(cluster_.catalog.rollout_policies.front()).windows;
  const Topology& topology = cluster_.compiled.topology;
  for (DeviceIndex i = 0; i < topology.devices.size(); ++i)
    add(topology.devices[i], cluster_.compiled.intents[i]);
  for (const TopologyLink& link : topology.links) {
    const TopologyPort& a = topology.ports[link.a];
    const TopologyPort& b = topology.ports[link.b];
    wiring_.cables.push_back({{topology.device_of(link.a), std::string(a.name)},
                              {topology.device_of(link.b), std::string(b.name)}});
    places_.at(topology.device_of(link.a)).ports.emplace(a.name);
    places_.at(topology.device_of(link.b)).ports.emplace(b.name);
  }
  wiring_.index();
  if (options_.others) draw_reach();
  build_paths();
  build_data_plane();
  drivers_[DriverName::sim].attach = [this](const DriverTarget& target) { return attach(target, 0); };
  drivers_[DriverName::frr].attach = [this](const DriverTarget& target) { return attach(target, 1); };
}

void World::add(const TopologyDevice& device, Intent& intent) {
  Place& place = places_[device.name];
  place.name = device.name;
  place.role = device.role;
  place.group = group_of(device);
  place.intent = &intent;
  if (place.is_host() && random_.chance(0.05)) intent.conduct = Conduct::observe;
  place.device = std::make_unique<SimulatedDevice>(device.name, random_.next());
  place.device->seen = [this](const SimulatedCall& call) { seen(call); };
  place.device->clock = [this] { return now(); };
  // A foreign entry: no intent mentions it, and no claim covers it.
  place.device->set(entry("service[theirs]"), Value::text("running"));
  place.device->set(entry("vlan[666]"), Value::present());
  // Sessions follow the configuration at once, except during flaps.
  place.device->effects = [this, &place](Tree& tree) {
    reopen(place, tree);
    for (const Entry& want : place.intent->want.of_row(row("bgp/neighbor[*]/session"))) {
      const std::string port(want.path.key(0));
      const bool is_there = bool(tree.value(Path(row("bgp/neighbor[*]"), {port})));
      if (!is_there) place.stuck.erase(port);  // a new session is independent of the old one
      const bool down = place.down.whole || place.down.ports.contains(port) || place.stuck.contains(port) ||
                        (is_any_out() && !carries(*wiring_.cable_at(place.name, port)));
      tree.set(want.path, Value::text(is_there && !down ? "Established" : "Idle"));
    }
    changed(place);
  };
}

// `part`: the driver of a device with two drivers.
Result<std::optional<Attached>> World::attach(const DriverTarget& target, std::size_t part) {
  Attached attached;
  Place& place = places_.at(target.device);
  if (place.device->unreachable && random_.chance(0.5)) {
    unattached_.insert(place.name);
    return Error{ErrorKind::transient, "no route to the device"};
  }
  auto line = std::make_unique<Line>(
      *place.device, part == 0 ? "sim" : "sim-routing", place.is_split ? rows_of(part) : std::vector<RowId>(),
      Line::Hooks{.why_silent = [this, &place, part] { return why_silent(place, part); },
                  .writes =
                      [this, &place] {
                        place.before_write = place.device->truth();
                        place.boots_before = place.device->boots();
                      },
                  .cure = [this, &place](const ChangeSet& effects) { return cure(place, effects); }});
  if (options_.others && part == place.part(ResetSession::kSession)) attached.remedy = &line->remedy;
  if (!self_.empty() && place.name != self_) attached.address = IpAddress::v4(kFirstAddress + place.index);
  attached.driver = std::move(line);
  attached.watch = [this]() -> Result<std::shared_ptr<Watcher>> {
    std::shared_ptr<Events> events = events_.lock();
    if (!events) events_ = events = std::make_shared<Events>();
    return std::shared_ptr<Watcher>(std::move(events));
  };
  return std::optional<Attached>(std::move(attached));
}

// An event may be lost, and all events when the watcher is overrun.
void World::changed(const Place& place) {
  const std::shared_ptr<Events> events = events_.lock();
  if (!events || random_.chance(0.1)) return;
  if (random_.chance(0.01))
    events->overrun();
  else
    events->happened(place.name);
}

// Sets devices as their specs want, except for later changes by others.
void World::put_in_service() {
  for (auto& [name, place] : places_)
    for (const Entry& want : place.intent->want.entries())
      if (schema_row(want.path.row()).facet == Facet::config) place.device->set(want.path, want.value);
  for (auto& [name, place] : places_)
    if (place.device->saver) place.device->set(*place.device->saver, Value::present());
  for (std::uint64_t left = random_.below(places_.size()); left > 0; --left) drift();
}

void World::arm_faults() {
  // First draws which kinds of faults are armed, then how often each occurs.
  const auto draw = [this](double most) { return random_.chance(0.4) ? random_.unit() * most : 0.0; };
  delays_.lost_request = draw(0.05);
  delays_.lost_reply = draw(0.05);
  delays_.slow = draw(0.05);
  SimulatedFaults faults;
  faults.transient = draw(0.1);
  faults.refused = draw(0.05);
  faults.lost_reply = draw(0.1);
  faults.reboot_in_apply = draw(0.05);
  faults.stale_read = draw(0.05);
  faults.unread = draw(0.05);
  faults.conflict = draw(0.05);
  drift_chance_ = draw(0.02);
  kill_chance_ = draw(0.02);
  away_chance_ = draw(0.002);
  outage_chance_ = draw(0.002);
  full_disk_chance_ = draw(0.01);
  clock_chance_ = draw(0.002);
  stuck_chance_ = draw(0.5);
  if (options_.others) cut_chance_ = draw(1);
  if (!options_.others) outage_chance_ = full_disk_chance_ = clock_chance_ = stuck_chance_ = 0;
  for (auto& [name, place] : places_) place.device->faults = faults;
}

void World::stop_faults() {
  delays_ = SimulatedDelays{};
  drift_chance_ = kill_chance_ = away_chance_ = outage_chance_ = 0;
  full_disk_chance_ = clock_chance_ = stuck_chance_ = cut_chance_ = 0;
  self_.clear();  // the program runs elsewhere, where no path can be cut
  come_back(Time::max());
  for (auto& [name, place] : places_) place.device->faults = SimulatedFaults{};
}

void World::may_be_killed(double chance) {
  if (chance > 0 && random_.chance(chance)) throw Killed{};
}

World::Place& World::draw_place() {
  auto at = places_.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(random_.below(places_.size())));
  return at->second;
}

// A change by another operator, at any time.
void World::drift() {
  Place& place = draw_place();
  const auto wanted = place.intent->want.entries();
  const Entry& victim = wanted[random_.below(wanted.size())];
  if (schema_row(victim.path.row()).facet != Facet::config) return;
  record("drift " + place.name + " " + victim.path.text());
  place.moved = ++turn_;
  if (random_.chance(0.3)) {
    if (place.is_host() && random_.chance(0.5))
      place.device->set(Path(row("route-mtu[*]"), {"10.0.0.0/8"}), Value::text("mtu lock 1280"));
    else
      place.device->set(Path(row("rule[*]"), {std::to_string(random_.below(3))}), Value::text("theirs"));
  } else if (random_.chance(0.5)) {
    // Every port has an admin state. Others shut some ports (world_outages.cpp).
    if (victim.path.row() != row("interface[*]/admin")) place.device->set(victim.path, Value{});
  } else if (random_.chance(0.2)) {
    place.device->reboot();
  } else if (victim.value.kind() == Value::Kind::integer) {
    place.device->set(victim.path, Value::integer(1500));
  }
  forget_what_is_gone(place);
}

// A change that disturbs traffic takes sessions down for a while: of the whole device, or of the ports in the
// change. A session that was not up both before and after the write is not lost, and its return could not be
// observed. The same applies to ports that this run reopened and has not yet observed to carry traffic.
void World::flap(Place& place, const Disturbance& disturbed) {
  if (place.down.any() || random_.chance(0.5)) return;
  const auto is_up = [this, &place](const std::string& port) {
    if (reopened_.contains(*wiring_.cable_at(place.name, port))) return false;
    const Path session(row("bgp/neighbor[*]/session"), {port});
    const Value up = Value::text("Established");
    return place.before_write.value(session) == up && place.device->truth().value(session) == up;
  };
  place.shown_up = false;
  place.down.whole = disturbed.whole && std::ranges::any_of(place.ports, is_up);
  std::ranges::copy_if(disturbed.ports, std::inserter(place.down.ports, place.down.ports.end()), is_up);
  if (!place.down.any()) return;
  refresh(place.name);
  process_->executor->at(now() + milliseconds(500 + random_.below(4000)), [this, &place] { lift(place); });
}

// Some sessions stay down until they are reset.
void World::lift(Place& place) {
  if (!place.down.any()) return;
  if (stuck_chance_ > 0 && random_.chance(stuck_chance_))
    std::ranges::copy_if(
        place.ports, std::inserter(place.stuck, place.stuck.end()),
        [&place](const auto& port) { return place.down.whole || place.down.ports.contains(port); });
  place.down = {};
  refresh(place.name);
}

Result<Done> World::cure(Place& place, const ChangeSet& effects) {
  follow_journal();
  check_cure(place, effects);
  place.is_observed.fill(false);
  if (place.device->unreachable) return Error{ErrorKind::transient, "no route to the device"};
  if (random_.chance(place.device->faults.refused)) return Error{ErrorKind::refused, "the device said no"};
  count_cure(place);
  for (const Change& effect : effects) place.stuck.erase(std::string(effect.path.key(0)));
  refresh(place.name);
  record(place.name + " sessions reset");
  may_be_killed(kill_chance_);
  if (random_.chance(place.device->faults.lost_reply))
    return Error{ErrorKind::unknown_outcome, "the reply was lost"};
  return Done{};
}

// A write of a killed leader that was still on the wire arrives after its successor has written there.
void World::arrive_late() {
  if (!late_ || places_.at(late_->device).writer <= late_->guard.epoch) return;
  const Write write = *std::exchange(late_, {});
  SimulatedDevice& device = *places_.at(write.device).device;
  const std::string before = device.truth().to_string();
  arriving_late_ = true;
  const Result<Receipt> answer = device.apply(write.changes, write.guard, Call{});
  arriving_late_ = false;
  ++result_.counts.late;
  if (answer || answer.error().kind != ErrorKind::denied || device.truth().to_string() != before)
    violation(write.device + " took a write of an older leader");
}

}  // namespace lockstep::simulation
