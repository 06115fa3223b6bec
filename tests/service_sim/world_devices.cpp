// The devices of a World, what others do to them, and what its benchmarks measure.
#include <algorithm>

#include "specs/model/schema_rows.hpp"
#include "world.hpp"

namespace lockstep::service_simulation {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr const char* kDriftsTo[] = {"7", "0", "77"};

// To a device that outlives the process, which may be killed before and after each call of it.
class Line final : public Driver {
 public:
  struct Hooks {
    std::function<void()> before;
    std::function<void()> after;
  };
  Line(SimulatedDevice& device, Hooks hooks) : device_(device), hooks_(std::move(hooks)) {}
  Result<Traits> traits(const Call& call) override { return device_.traits(call); }
  Result<Observation> observe(const Scope& scope, std::string_view if_not, const Call& call) override {
    hooks_.after();
    return device_.observe(scope, if_not, call);
  }
  Result<Receipt> apply(const ChangeSet& changes, const Guard& guard, const Call& call) override {
    hooks_.after();
    hooks_.before();
    Result<Receipt> out = device_.apply(changes, guard, call);
    hooks_.after();
    return out;
  }
  Result<Done> settle(std::string_view ticket, Settlement settlement, const Call& call) override {
    hooks_.after();
    return device_.settle(ticket, settlement, call);
  }

 private:
  SimulatedDevice& device_;
  Hooks hooks_;
};

}  // namespace

void World::build() {
  drivers_[DriverName::sim].attach = [this](const DriverTarget& target) { return attach(target); };
}

// All but what the profiles set is always as the specs want it: the simulation of the engine has the rest.
Result<std::optional<Attached>> World::attach(const DriverTarget& target) {
  Place& place = places_[target.device];
  if (!place.device) {
    place.device = std::make_unique<SimulatedDevice>(target.device, random_.next());
    for (const Entry& entry : target.intent.want.entries())
      if (schema_row(entry.path.row()).facet == Facet::effect) place.effects.push_back(entry);
    place.device->effects = [this, &place, name = target.device, want = target.intent.want](Tree& tree) {
      for (const Entry& entry : want.entries()) {
        if (is_of_profile(setting(name, entry.path.text()))) continue;
        if (!place.is_dark || schema_row(entry.path.row()).facet != Facet::effect)
          tree.set(entry.path, entry.value);
      }
      for (const Group group : {Group::open, Group::all})
        found_[setting(name, path_of(group))].insert(tree.value(*Path::parse(path_of(group))).to_string());
    };
    place.device->reboot();  // sets the effects
    if (target.device.starts_with("gpu"))
      for (const Group group : {Group::open, Group::all})
        place.device->set(*Path::parse(path_of(group)), Value::text("0"));
    place.device->seen = [this, &place](const SimulatedCall& call) {
      if (dies_) throw Killed{};
      follow_journal();
      if (call.kind == SimulatedCall::Kind::apply) check_write(place, call);
    };
    place.device->faults = faults_;
  }
  Attached out;
  out.driver =
      std::make_unique<Line>(*place.device, Line::Hooks{.before =
                                                            [this, &place] {
                                                              follow_journal();
                                                              place.before = place.device->truth();
                                                            },
                                                        .after = [this] { may_be_killed(kill_chance_); }});
  out.watch = [&place] { return place.device->watch(); };
  return std::optional<Attached>(std::move(out));
}

SessionSeams World::seams_of(Executor& executor) {
  SessionSeams out{.drivers = drivers_, .executor = executor};
  out.directory = directory_.path() + "/state";
  out.measurer = this;
  out.version = version_.name;
  return out;
}

// What others do ------------------------------------------------------------------------------------------

World::Place& World::draw_place() {
  auto at = places_.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(random_.below(places_.size())));
  return at->second;
}

void World::device_acts() {
  if (places_.empty()) return;
  if (has_outages_ && outages_.chance(0.3)) outage();
  for (auto& [name, one] : places_)
    if (one.flaps) drift(one);
  Place& place = draw_place();
  const std::string& name = place.device->name();
  switch (random_.below(12)) {
    case 0:
    case 1: return drift(place);
    case 2:
      for (auto& [device, one] : places_)
        if (random_.chance(0.7)) drift(one);
      return count("drift of most devices");
    case 3:
      place.flaps = !place.flaps && random_.chance(0.5);
      if (place.flaps) count("devices that flap");
      return;
    case 4:
    case 5:
      place.device->unreachable = !place.device->unreachable;
      place.moved = now();
      return record(name + (place.device->unreachable ? " is unreachable" : " is reachable"));
    case 6:
      place.device->reboot();
      place.moved = now();
      return record(name + " reboots");
    case 7:
      if (!random_.chance(0.3)) return;
      wall_epoch_ += minutes(random_.below(600)) - minutes(300);
      process_->executor->wall_epoch = wall_epoch_;
      ++clock_jumps_;
      clock_jumped_ = now();
      count("jumps of the clock");
      return record("the clock jumps");
    case 8:
      if (!harmful_.empty() && random_.chance(0.2)) harmful_.erase(harmful_.begin());
      return;
    default:
      for (auto& [device, one] : places_) {
        if (!one.device->unreachable || !random_.chance(0.7)) continue;
        one.device->unreachable = false;
        one.moved = now();
        record(device + " is reachable");
      }
  }
}

void World::drift(Place& place) {
  const std::string& name = place.device->name();
  if (!name.starts_with("gpu")) return;
  const Path path = *Path::parse(path_of(random_.chance(0.5) ? Group::open : Group::all));
  const Value value = random_.chance(0.2) ? Value() : Value::text(kDriftsTo[random_.below(3)]);
  place.device->set(path, value);
  place.moved = now();
  count("drift");
  record("drift of " + name + " " + path.text() + " to " + value.to_string());
}

void World::set_dark(Place& place, bool is_dark) {
  if (place.is_dark == is_dark || place.effects.empty()) return;
  place.is_dark = is_dark;
  // Each write sets what is there while nothing is out.
  for (const Entry& effect : place.effects) place.device->set(effect.path, is_dark ? Value() : effect.value);
  place.moved = now();
  record(place.device->name() + (is_dark ? " lacks its effects" : " has its effects"));
}

// Of one device or of most; or one ends.
void World::outage() {
  count("outages");
  if (outages_.chance(0.5)) {
    for (auto& [name, place] : places_) set_dark(place, false);
    return;
  }
  const bool is_of_most = outages_.chance(0.5);
  const std::uint64_t one = outages_.below(places_.size());
  std::uint64_t at = 0;
  for (auto& [name, place] : places_)
    if (is_of_most ? outages_.chance(0.8) : at++ == one) set_dark(place, true);
}

// Benchmarks ----------------------------------------------------------------------------------------------

// A host's benchmarks fail while it has a harmful value.
bool World::is_broken(const std::string& host) const {
  return std::ranges::any_of(places_.at(host).device->truth().entries(), [&](const Entry& entry) {
    return is_of_profile(setting(host, entry.path.text())) && harmful_.contains(entry.value.to_string());
  });
}

GateFigure World::figure_of(const std::string& host) const {
  GateFigure out;
  out.subject = host;
  out.state = is_broken(host) ? SloState::broken : SloState::holds;
  out.figure = is_broken(host) ? 0.5 : 1.0;
  return out;
}

// A host's path has its own cable, in the order of the hosts, and the leaf switch.
bool World::crosses(const std::string& subject, const BlastRadius& changed) const {
  const std::vector<std::string> hosts = all_hosts();
  const auto place = std::ranges::find(hosts, subject) - hosts.begin();
  return changed.touches_path({subject, "leaf0"}, {static_cast<std::uint32_t>(place)});
}

Result<GateMeasurement> World::measure(const GateQuestion& question, const Call&) {
  may_be_killed(kill_chance_ > 0 ? 0.05 : 0);
  count("measurements");
  if (interrupts_ && random_.chance(0.1)) process_->executor->at(now(), [this] { interrupt(); });
  GateMeasurement out;
  std::string told;
  const bool is_unknown = unknown_chance_ > 0 && random_.chance(unknown_chance_);
  for (const std::string& host : all_hosts()) {
    if (!question.also.contains(host) && !crosses(host, question.affected)) continue;
    if (crosses(host, question.pending)) continue;
    if (!question.only.empty() && !question.only.contains(host)) continue;
    GateFigure figure = figure_of(host);
    if (is_unknown) {
      figure.state = SloState::unknown;
      figure.figure.reset();
      figure.why = "nobody could measure it";
    }
    told += " " + host + (is_unknown ? "?" : figure.state == SloState::broken ? " fails" : "");
    out.figures.push_back(std::move(figure));
  }
  if (question.when != GateQuestion::When::after)
    for (const std::string& host : all_hosts())
      if (!crosses(host, question.whole)) out.controls.push_back(figure_of(host));
  out.selected = out.measured = out.figures.size();
  out.sentence = "as simulated";
  const bool all_hold =
      std::ranges::all_of(out.figures, [](const auto& one) { return one.state == SloState::holds; });
  const bool is_after = question.when == GateQuestion::When::after;
  follow_journal();
  if (question.when == GateQuestion::When::again && all_hold) confirm_rollback();
  if (is_after) gate_fails_ = !all_hold && !is_unknown;
  const bool is_before = question.when == GateQuestion::When::before;
  if ((!is_before && !is_unknown) || question.when == GateQuestion::When::again) unjudged_.reset();
  if (is_after && is_unknown && !out.figures.empty() && last_begun_ != 0 &&
      changes_.at(last_begun_).claim == Claim::goal)
    unjudged_ = changes_.at(last_begun_).key;
  if (is_after && gate_fails_) failed_.insert(last_begun_);
  record("measured" + told);
  return out;
}

}  // namespace lockstep::service_simulation
