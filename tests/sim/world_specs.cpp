// The generations of a World's specs: edits of any kind, in the whole fabric or a part of it. Some have a
// value that breaks the benchmarks wherever a device or port has it.
#include <algorithm>

#include "specs/model/schema_rows.hpp"
#include "world.hpp"

namespace lockstep::simulation {
namespace {

constexpr RowId kMtu = row("interface[*]/mtu");
constexpr RowId kLossless = row("interface[*]/pfc");
constexpr RowId kAddress = row("interface[*]/address[*]");

Path path_of(const std::string& text) { return *Path::parse(text); }

// For a cable between two switches and for the switch's end of a host cable. The host's end is smaller by the
// encapsulation for which a fabric leaves room.
constexpr std::int64_t kMtus[] = {9216, 8300, 4200};
constexpr std::int64_t kMtuOfHost = -216;
constexpr std::int64_t kBad = 6000;  // plus the generation: never a good value of an integer

}  // namespace

// Sets the desired value of one entry of a device; none: the specs no longer mention it.
void World::edit(Place& place, Edit kind, Path path, Value value) {
  if (place.intent->want.value(path) == value) return;
  if (value)
    place.intent->want.set(path, value);
  else
    place.intent->want.erase(path);
  place.edited.insert_or_assign(path, kind);
}

// All cables, or those at one switch.
std::vector<std::uint32_t> World::draw_cables() {
  std::vector<std::uint32_t> out;
  std::vector<std::string> switches;
  for (const auto& [name, place] : places_)
    if (!place.is_host()) switches.push_back(name);
  const std::string at = random_.chance(0.5) ? switches[random_.below(switches.size())] : std::string();
  for (std::uint32_t i = 0; i < wiring_.cables.size(); ++i)
    if (at.empty() || wiring_.cables[i].a.device == at || wiring_.cables[i].b.device == at) out.push_back(i);
  return out;
}

// All hosts or all switches, or some of them, at least one.
std::vector<World::Place*> World::draw_devices(bool hosts) {
  std::vector<Place*> all;
  for (auto& [name, place] : places_)
    if (place.is_host() == hosts) all.push_back(&place);
  if (random_.chance(0.5)) return all;
  std::vector<Place*> out{all[random_.below(all.size())]};
  for (Place* const place : all)
    if (place != out.front() && random_.chance(0.5)) out.push_back(place);
  return out;
}

void World::edit_spread(int generation, bool bad) {
  const Path path = path_of("bgp/max-paths");
  const Value value = Value::integer(bad ? kBad + generation : 64 + generation);
  for (Place* const place : draw_devices(false)) edit(*place, Edit::spread, path, value);
  if (bad) bad_ = {path, value, false};
}

// Entries that must match at both ends of a cable change at both.
void World::edit_mtu(int generation, bool bad) {
  const std::int64_t fabric = bad ? kBad + generation : kMtus[random_.below(std::size(kMtus))];
  for (const std::uint32_t cable : draw_cables())
    for (const PortName* const end : {&wiring_.cables[cable].a, &wiring_.cables[cable].b}) {
      Place& place = places_.at(end->device);
      edit(place, Edit::mtu, Path(kMtu, {end->port}),
           Value::integer(fabric + (place.is_host() ? kMtuOfHost : 0)));
    }
  if (bad) bad_ = {Path(kMtu, {""}), Value::integer(fabric), true};
}

void World::edit_lossless(int generation, bool bad) {
  const std::vector<std::string> good[] = {{"3"}, {"4"}, {"3", "4"}};
  const Value value =
      Value::set(bad ? std::vector{std::to_string(5 + generation)} : good[random_.below(std::size(good))]);
  for (const std::uint32_t cable : draw_cables())
    for (const PortName* const end : {&wiring_.cables[cable].a, &wiring_.cables[cable].b})
      edit(places_.at(end->device), Edit::lossless, Path(kLossless, {end->port}), value);
  if (bad) bad_ = {Path(kLossless, {""}), value, true};
}

void World::edit_sysctl(int generation, bool bad) {
  const Path path = path_of("sysctl[net.ipv4.conf.all.arp_ignore]");
  const Value value = Value::text(std::to_string((bad ? kBad : 2) + generation));
  for (Place* const place : draw_devices(true)) edit(*place, Edit::sysctl, path, value);
  if (bad) bad_ = {path, value, false};
}

// A new address on each rail, and the route by its neighbour.
void World::edit_addresses(int generation) {
  const std::string pool = "10." + std::to_string(1 + generation) + ".0.";
  for (Place* const place : draw_devices(true))
    for (const std::string& port : place->ports) {
      std::vector<Path> former;
      for (const Entry& one : place->intent->want.of_row(kAddress))
        if (one.path.key(0) == port) former.push_back(one.path);
      for (const Path one : former) edit(*place, Edit::address, one, {});
      edit(*place, Edit::address, Path(kAddress, {port, pool + "1/31"}), Value::present());
      edit(*place, Edit::address, Path(row("route[*]"), {port + ":10.0.0.0/8"}),
           Value::set({"via " + pool + "0 dev " + port}));
    }
}

// Adds an entry that the specs did not have, or removes one: at a port, in a collection, of a device.
void World::edit_entry() {
  const std::uint64_t drawn = random_.below(4);
  const auto turn = [this](Place& place, Path path, Value value) {
    edit(place, Edit::entry, path, place.intent->want.find(path) == nullptr ? value : Value{});
  };
  for (Place* const place : draw_devices(drawn == 0)) {
    if (drawn == 0) turn(*place, path_of("sysctl[net.ipv4.conf.all.arp_announce]"), Value::text("2"));
    if (drawn == 1) turn(*place, path_of("vlan[100]"), Value::present());
    for (const std::string& port : place->ports) {
      if (drawn == 2) turn(*place, Path(row("interface[*]/trust"), {port}), Value::text("dscp"));
      if (drawn == 3)
        turn(*place, Path(row("interface[*]/pfc-watchdog/action"), {port}), Value::text("drop"));
    }
  }
}

// A new generation of the specs, for a cluster that carries traffic.
void World::change_spec(int generation) {
  take_spec_back();  // no generation builds on one that broke the benchmarks
  record("spec " + std::to_string(generation));
  for (auto& [name, place] : places_) {
    place.want_before = place.intent->want;
    place.edited.clear();
  }
  const bool bad = random_.chance(0.3);
  const auto draw = [this, bad] {
    // Favours edits of all or some switches while they carry traffic, which exercises the budgets.
    return random_.chance(0.3) ? Edit::spread : static_cast<Edit>(random_.below(bad ? kBreaking : kEdits));
  };
  const Edit first = draw();
  edit_specs(first, generation, bad);
  if (const Edit second = draw(); second != first && random_.chance(0.4))
    edit_specs(second, generation, false);
}

void World::edit_specs(Edit kind, int generation, bool bad) {
  switch (kind) {
    case Edit::spread: return edit_spread(generation, bad);
    case Edit::mtu: return edit_mtu(generation, bad);
    case Edit::lossless: return edit_lossless(generation, bad);
    case Edit::sysctl: return edit_sysctl(generation, bad);
    case Edit::address: return edit_addresses(generation);
    case Edit::entry: return edit_entry();
  }
}

void World::take_spec_back() {
  if (!bad_) return;
  record("spec taken back");
  bad_.reset();
  for (auto& [name, place] : places_) place.intent->want = place.want_before;
}

// Whether a device or a cable of the path has the value that breaks the benchmarks.
bool World::is_broken(const FlowPath& path) const {
  if (!bad_) return false;
  const auto carries = [this](const std::string& device, Path entry) {
    return places_.at(device).device->truth().value(entry) == bad_->value;
  };
  if (!bad_->at_ports)
    return std::ranges::any_of(path.devices,
                               [&](const std::string& name) { return carries(name, bad_->path); });
  return std::ranges::any_of(path.cables, [&](std::uint32_t one) {
    const Cable& cable = wiring_.cables[one];
    return carries(cable.a.device, Path(bad_->path.row(), {cable.a.port})) ||
           carries(cable.b.device, Path(bad_->path.row(), {cable.b.port}));
  });
}

}  // namespace lockstep::simulation
