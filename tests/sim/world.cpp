#include "world.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "specs/model/schema_rows.hpp"

namespace lockstep::simulation {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kFnvOffset = 14695981039346656037ULL;
constexpr std::uint64_t kFnvPrime = 1099511628211ULL;
constexpr std::size_t kSpines = 4;
constexpr std::size_t kHostsPerPair = 16;  // hosts on one pair of leaves

Path entry(const std::string& text) { return *Path::parse(text); }

}  // namespace

World::World(const WorldOptions& options)
    : options_(options),
      random_(options.seed),
      executor_(std::make_unique<SimulatedExecutor>(options.seed ^ 0xE0)) {
  result_.history = kFnvOffset;
  build();
}

void World::add(const std::string& name, const std::string& role, const std::string& group) {
  intents_.push_back(Intent{});
  intents_.back().device = name;
  intents_.back().conduct = Conduct::converge;
  auto device = std::make_unique<SimulatedDevice>(name, random_.next());
  Place place;
  place.name = name;
  place.role = role;
  place.group = group;
  place.device = device.get();
  place.intent = &intents_.back();
  device->seen = [this](const SimulatedCall& call) { seen(call); };
  device->clock = [this] { return executor_->now(); };
  // An entry of somebody else's: no intent names it, no claim covers it.
  device->set(entry("service[theirs]"), Value::text("running"));
  device->set(entry("vlan[666]"), Value::present());
  attached_.push_back(Attached{});
  attached_.back().driver = std::move(device);
  list_.push_back({name, role, &intents_.back(), {&attached_.back()}, Lane::remote});
  if (!group.empty()) wiring_.redundancy_group[name] = group;
  places_.emplace(name, std::move(place));
}

void World::join(const std::string& a, const std::string& a_port, const std::string& b,
                 const std::string& b_port) {
  wiring_.cables.push_back({{a, a_port}, {b, b_port}});
  places_.at(a).ports.insert(a_port);
  places_.at(b).ports.insert(b_port);
  for (const auto& [name, port] : {std::pair{a, a_port}, std::pair{b, b_port}}) {
    const bool host = places_.at(name).role == "host";
    Tree& want = places_.at(name).intent->want;
    want.set(entry("interface[" + port + "]/mtu"), Value::integer(host ? 9000 : 9216));
    want.set(entry("interface[" + port + "]/admin"), Value::boolean(true));
    want.set(entry("interface[" + port + "]/pfc"), Value::set({"3"}));
    if (host) {
      want.set(entry("interface[" + port + "]/address[10.0.0.1/31]"), Value::present());
      want.set(entry("route[" + port + ":10.0.0.0/8]"), Value::set({"via 10.0.0.0 dev " + port}));
    } else if (b != name || places_.at(a).role != "host") {
      want.set(entry("bgp/neighbor[" + port + "]"), Value::present());
      want.set(entry("bgp/neighbor[" + port + "]/session"), Value::text("Established"));
    }
  }
}

void World::build() {
  for (std::size_t s = 0; s < kSpines; ++s) add("spine" + std::to_string(s), "spine", "spines");
  const std::size_t pairs = std::max<std::size_t>(1, (options_.devices - kSpines) / (kHostsPerPair + 2));
  std::size_t left = options_.devices - kSpines;
  for (std::size_t p = 0; p < pairs; ++p) {
    const std::string group = "pair" + std::to_string(p);
    const std::string one = "leaf" + std::to_string(2 * p);
    const std::string other = "leaf" + std::to_string(2 * p + 1);
    for (const std::string& name : {one, other}) {
      add(name, "leaf", group);
      for (std::size_t s = 0; s < kSpines; ++s)
        join(name, "up" + std::to_string(s), "spine" + std::to_string(s), "down" + name.substr(4));
    }
    left -= 2;
    const std::size_t hosts = p + 1 == pairs ? left : kHostsPerPair;
    for (std::size_t h = 0; h < hosts; ++h, --left) {
      const std::string host = "gpu" + std::to_string(p * kHostsPerPair + h);
      add(host, "host", "");
      join(host, "rail0", one, "swp" + std::to_string(h));
      join(host, "rail1", other, "swp" + std::to_string(h));
    }
  }
  for (auto& [name, place] : places_) {
    place.intent->claims.push_back({row("rule[*]"), {}, 0});
    if (place.role == "host") {
      place.intent->want.set(entry("sysctl[net.ipv4.conf.all.arp_ignore]"), Value::text("1"));
      continue;
    }
    place.intent->want.set(entry("bgp"), Value::present());
    place.intent->want.set(entry("bgp/router-id"), Value::text("10.255.0.1"));
    place.intent->want.set(entry("bgp/max-paths"), Value::integer(64));
    // Sessions follow the configuration at once, but for flaps.
    place.device->effects = [intent = place.intent, at = &place](Tree& tree) {
      for (const Entry& want : intent->want.of_row(row("bgp/neighbor[*]/session"))) {
        const bool down = at->down.whole || at->down.ports.contains(std::string(want.path.key(0)));
        const bool up = tree.value(Path(row("bgp/neighbor[*]"), {want.path.key(0)})) && !down;
        tree.set(want.path, Value::text(up ? "Established" : "Idle"));
      }
    };
  }
  policy_.by_group = true;
  policy_.waves = {{false, 1}, {true, 0.1}, {true, 1.0}};
  policy_.min_capacity = {{"spine", 0.5}, {"leaf", 0.5}};
  set_windows();
  wiring_.capacity_left = [this](const Outage& outage) { return capacity_left(outage); };
  wiring_.index();
  build_paths();
  fleet_ = std::make_unique<Fleet>(*Fleet::make(list_, wiring_));
}

// Of the worst host: the mean over its two leaves of the share of uplinks that are there.
double World::capacity_left(const Outage& outage) const {
  const auto is_out = [&outage](const std::string& name) {
    return std::binary_search(outage.devices.begin(), outage.devices.end(), name);
  };
  std::size_t spines_out = 0;
  for (std::size_t s = 0; s < kSpines; ++s) spines_out += is_out("spine" + std::to_string(s));
  std::map<std::string, std::size_t> uplinks_out;
  for (const std::uint32_t cable : outage.cables) {
    const Cable& one = wiring_.cables[cable];
    if (places_.at(one.a.device).role == "leaf" && !is_out(one.b.device)) ++uplinks_out[one.a.device];
  }
  double worst = 1;
  std::map<std::string, double> pair;
  for (const auto& [name, place] : places_) {
    if (place.role != "leaf") continue;
    const std::size_t out = spines_out + (uplinks_out.contains(name) ? uplinks_out.at(name) : 0);
    pair[place.group] +=
        is_out(name) ? 0.0 : 0.5 * (1.0 - static_cast<double>(out) / static_cast<double>(kSpines));
  }
  for (const auto& [group, share] : pair) worst = std::min(worst, share);
  return worst;
}

void World::arm_faults() {
  // Which kinds are armed at all is drawn first, then how often each strikes.
  const auto draw = [this](double most) { return random_.chance(0.4) ? random_.unit() * most : 0.0; };
  executor_->delays().lost_request = draw(0.05);
  executor_->delays().lost_reply = draw(0.05);
  executor_->delays().slow = draw(0.05);
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
  for (auto& [name, place] : places_) place.device->faults = faults;
}

void World::stop_faults() {
  executor_->delays() = SimulatedDelays{};
  drift_chance_ = kill_chance_ = 0;
  for (auto& [name, place] : places_) place.device->faults = SimulatedFaults{};
}

// Another operator, at any moment.
void World::drift() {
  auto at = places_.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(random_.below(places_.size())));
  Place& place = at->second;
  const auto wanted = place.intent->want.entries();
  const Entry& victim = wanted[random_.below(wanted.size())];
  if (schema_row(victim.path.row()).facet != Facet::config) return;
  record("drift " + place.name + " " + victim.path.text());
  place.moved = ++turn_;
  if (random_.chance(0.3)) {
    place.device->set(Path(row("rule[*]"), {std::to_string(random_.below(3))}), Value::text("theirs"));
  } else if (random_.chance(0.5)) {
    place.device->set(victim.path, Value{});
  } else if (random_.chance(0.2)) {
    place.device->reboot();
  } else if (victim.value.kind() == Value::Kind::integer) {
    place.device->set(victim.path, Value::integer(1500));
  }
}

void World::misbehave() {
  if (drift_chance_ > 0 && random_.chance(drift_chance_)) drift();
}

bool World::was_seen_in_sync(const Place& place) const {
  const Observation& observed = place.last_observed;
  for (const Entry& want : place.intent->want.entries())
    if (observed.have.value(want.path) != want.value) return false;
  for (const Unread& unread : observed.unread)
    if (unread.row == row("rule[*]") || !place.intent->want.of_row(unread.row).empty()) return false;
  return observed.have.of_row(row("rule[*]")).empty();
}

void World::seen(const SimulatedCall& call) {
  ++result_.calls;
  Place& place = places_.at(call.device);
  std::string what = call.device;
  if (call.kind == SimulatedCall::Kind::observe) {
    what += " observe";
    if (call.observed != nullptr) {
      place.is_observed = true;
      // An observation of a few rows tells nothing about the rest.
      if (call.scope->rows.empty()) place.last_observed = *call.observed;
    }
  } else if (call.kind == SimulatedCall::Kind::apply) {
    what += " apply " + call.guard->ticket;
    check_write(place, call);
  } else {
    what += " settle";
  }
  if (call.answer) what += std::string(" = ") + std::string(to_string(*call.answer));
  record(what);
}

void World::check_write(Place& place, const SimulatedCall& call) {
  ++result_.writes;
  if (!place.is_observed) violation(place.name + " was written without a fresh observation");
  place.is_observed = false;
  if (!tickets_open_.contains(call.guard->ticket))
    violation(call.guard->ticket + " was not journalled first");
  if (!may_write(call.guard->ticket)) violation(place.name + " was written outside its window");
  if (call.guard->epoch != epoch_) violation(place.name + " was written by an older leader");
  for (const Change& change : *call.changes) {
    const bool wanted = place.intent->want.find(change.path) != nullptr;
    if (!wanted && change.path.row() != row("rule[*]")) violation(change.path.text() + " is not ours");
  }
  if (place.device->truth().value(entry("service[theirs]")) != Value::text("running") ||
      !place.device->truth().value(entry("vlan[666]")))
    violation(place.name + ": an entry of somebody else's was touched");
  if (call.answer == ErrorKind::transient || call.answer == ErrorKind::conflict) return;
  touch_paths(place.name, *call.changes, call.guard->ticket);
  if (place.role == "host") return;
  const Disturbance disturbed = disturbed_by(place, *call.changes);
  if (!disturbed.any()) return;
  place.in_hand.whole = place.in_hand.whole || disturbed.whole;
  place.in_hand.ports.insert(disturbed.ports.begin(), disturbed.ports.end());
  check_budget(place);
  flap(place, disturbed);
}

World::Disturbance World::disturbed_by(const Place& place, const ChangeSet& changes) const {
  Disturbance disturbed;
  for (const Change& change : changes) {
    if (schema_row(change.path.row()).disruption < Disruption::traffic) continue;
    if (place.device->truth().value(change.path) != change.want) continue;  // refused
    const std::string key(change.path.key_count() > 0 ? change.path.key(0) : "");
    if (!place.ports.contains(key))
      disturbed.whole = disturbed.whole || place.live;
    else if (place.live_ports.contains(key))
      disturbed.ports.insert(key);
  }
  return disturbed;
}

// Only what is not yet back from our own hand counts: what others broke is not in our budget.
void World::check_budget(const Place& place) {
  Outage outage;
  std::set<std::uint32_t> cables;
  for (const auto& [name, other] : places_) {
    if (!other.in_hand.any() && !other.down.any()) continue;
    if (other.in_hand.whole || other.down.whole) outage.devices.push_back(name);
    for (const auto* ports : {&other.in_hand.ports, &other.down.ports})
      for (const std::string& port : *ports) cables.insert(*wiring_.cable_at(name, port));
    if (name != place.name && !place.group.empty() && other.group == place.group)
      violation(name + " and " + place.name + " of one group are disturbed at once");
  }
  outage.cables.assign(cables.begin(), cables.end());
  if (capacity_left(outage) < 0.5)
    violation("more capacity is gone than the policy allows, with " + place.name);
}

// A change that disturbs traffic takes sessions down for a while: all of the device, or those on the ports
// that it names. What had no session up has lost none, and nothing by which one could see it come back.
void World::flap(Place& place, const Disturbance& disturbed) {
  if (place.down.any() || random_.chance(0.5)) return;
  const auto is_up = [&place](const std::string& port) {
    return place.device->truth().value(Path(row("bgp/neighbor[*]/session"), {port})) ==
           Value::text("Established");
  };
  place.down.whole = disturbed.whole && std::any_of(place.ports.begin(), place.ports.end(), is_up);
  std::copy_if(disturbed.ports.begin(), disturbed.ports.end(),
               std::inserter(place.down.ports, place.down.ports.end()), is_up);
  if (!place.down.any()) return;
  place.device->effects(const_cast<Tree&>(place.device->truth()));
  executor_->at(executor_->now() + milliseconds(500 + random_.below(4000)), [this, &place] { lift(place); });
}

void World::lift(Place& place) {
  place.down = {};
  if (place.device->effects) place.device->effects(const_cast<Tree&>(place.device->truth()));
}

void World::check_states(const std::vector<DeviceState>& states) {
  for (const DeviceState& state : states)
    if (state.complete() && state.difference.in_sync() && state.not_applied.empty() &&
        !was_seen_in_sync(places_.at(state.device)))
      violation(state.device + " is called in sync, and was not seen to be");
}

// Which switches and which of their ports carry traffic, as far as was seen when this plan was made: a port
// with a session of its own by its neighbour, one that leads to a host by the host's address. What could not
// be read may be there.
void World::note_traffic() {
  const auto may_have = [this](const std::string& device, Path path) {
    const Observation& observed = places_.at(device).last_observed;
    return observed.have.value(path) || is_unread(observed.unread, path);
  };
  for (auto& [name, place] : places_) {
    place.live = false;
    place.live_ports.clear();
    if (place.role == "host") continue;
    for (const std::string& port : place.ports) {
      const Path neighbor(row("bgp/neighbor[*]"), {port});
      const bool own = place.intent->want.find(neighbor) != nullptr;
      const PortName& far = *wiring_.peer(name, port);
      place.live = place.live || may_have(name, neighbor);
      if (own ? may_have(name, neighbor)
              : may_have(far.device, Path(row("interface[*]/address[*]"), {far.port, "10.0.0.1/31"})))
        place.live_ports.insert(port);
    }
  }
}

std::vector<DeviceState> World::observe(std::chrono::milliseconds timeout) {
  ObserveOptions options;
  options.timeout = timeout;
  ObserveRound round(*fleet_, *executor_, options);
  return pump(*executor_, round);
}

Result<Plan> World::plan(const std::vector<DeviceState>& states) {
  Result<Plan> made = make_plan(
      input_of(*fleet_, states, origins_, sources_, [this](const FleetDevice&) { return &policy_; }));
  if (!made) {
    violation("no plan: " + made.error().text());
    return made;
  }
  record("plan " + made->digest);
  return made;
}

// kill -9: nothing of the controller is left but its ledger; what was on the wire is lost with its sockets.
void World::restart() {
  record("killed");
  ++epoch_;
  tickets_open_.clear();
  const SimulatedDelays delays = executor_->delays();
  const WallTime wall = executor_->wall_time();
  executor_ = std::make_unique<SimulatedExecutor>(random_.next(), delays);
  executor_->wall_epoch = wall;
  executor_->after_step = [this] { misbehave(); };
  for (auto& [name, place] : places_) {
    place.is_observed = false;
    place.in_hand = {};
    lift(place);
  }
}

void World::round(bool with_faults) {
  const std::vector<DeviceState> states = observe(std::chrono::seconds(5));
  check_states(states);
  const Result<Plan> planned = plan(states);
  if (!planned) return;
  ApplyOptions how;
  how.settle_time = std::chrono::seconds(10);
  how.observe_timeout = how.apply_timeout = std::chrono::seconds(5);
  how.approved = {Hold::Kind::budget};
  how.refusals_approved = true;
  how.measurer = this;
  how.owed = owed();
  how.policy_for = [this](const FleetDevice&) { return &policy_; };
  measuring_may_be_killed_ = with_faults;
  Progress progress;
  progress.step = [this, with_faults](const Step& step, const StepResult& result) {
    record("step " + step.device + " " + std::string(to_string(result.state)) + " " + result.why);
    if (result.state == StepState::done || result.state == StepState::failed ||
        result.state == StepState::undone || result.state == StepState::nothing_to_do)
      places_.at(step.device).in_hand = {};
    if (with_faults && random_.chance(kill_chance_)) throw Killed{};
  };
  try {
    Application application(*fleet_, *executor_, *this, *planned, how, progress);
    const ApplyReport report = pump(*executor_, application);
    record("verdict " + std::string(to_string(report.verdict)));
    for (auto& [name, place] : places_) place.in_hand = {};
    settle_specs(report, how.owed);
    if (report.verdict == ApplyVerdict::waits) wait_an_hour();
  } catch (const Killed&) {
    restart();
  }
}

void World::wait_an_hour() {
  bool over = false;
  executor_->at(executor_->now() + std::chrono::hours(1), [&over] { over = true; });
  while (!over && executor_->step()) {
  }
  ++waited_;
}

bool World::converge_quietly() {
  // Faults have stopped: a few rounds, and nothing is left to do. Virtual minutes, not wall time; and besides
  // the hours until a window opens, of which there is one every day.
  const Time until = executor_->now() + std::chrono::minutes(30) - waited_;
  const auto waited_most = waited_ + std::chrono::hours(48);
  while (executor_->now() < until + waited_ && waited_ < waited_most) {
    const std::vector<DeviceState> states = observe(std::chrono::seconds(10));
    check_states(states);
    if (std::all_of(states.begin(), states.end(),
                    [](const DeviceState& one) { return one.complete() && one.difference.in_sync(); }) &&
        owed().empty())
      return true;
    round(false);
  }
  return false;
}

WorldResult World::run() {
  executor_->after_step = [this] { misbehave(); };
  arm_faults();
  for (int i = 0; i < options_.rounds; ++i) {
    if (i > 0 && random_.chance(0.7)) change_spec(i);
    round(true);
  }
  stop_faults();
  result_.converged = converge_quietly();
  if (!result_.converged) violation("not converged within 30 virtual minutes after faults stopped");
  const auto unjudged =
      std::count_if(paths_.begin(), paths_.end(), [](const FlowPath& one) { return !one.unjudged.empty(); });
  if (unjudged > 0)
    violation(std::to_string(unjudged) + " paths were changed, and kept without being measured");
  return result_;
}

void World::violation(const std::string& what) {
  if (result_.violations.size() < 20) result_.violations.push_back(what);
  record("VIOLATION " + what);
}

void World::record(const std::string& what) {
  const auto now = executor_->now().time_since_epoch().count();
  for (const char c : what + std::to_string(now))
    result_.history = (result_.history ^ static_cast<unsigned char>(c)) * kFnvPrime;
  if (options_.steps) std::printf("%12.3f ms  %s\n", static_cast<double>(now) / 1e6, what.c_str());
}

}  // namespace lockstep::simulation
