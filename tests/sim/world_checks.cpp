// The checks after every call to a device and after every step.
#include <algorithm>

#include "specs/model/schema_rows.hpp"
#include "world.hpp"

namespace lockstep::simulation {
namespace {

constexpr RowId kLock = row("route-mtu[*]");

// The specs here want no member of fully owned collections.
bool is_claimed(const Intent& intent, RowId row) {
  return std::ranges::find(intent.claims, row, &Claim::collection) != intent.claims.end();
}
bool has_more(const Intent& intent, const Tree& tree) {
  return std::ranges::any_of(intent.claims,
                             [&](const Claim& claim) { return !tree.of_row(claim.collection).empty(); });
}

}  // namespace

// The definition of minCapacity (specs/fabric/capacity.hpp), computed independently: the smaller of the worst
// remaining share of a host's links and the worst remaining share of common spine switches of two leaf
// switches in service.
double World::capacity_left(const Outage& outage) const {
  std::map<std::string, std::set<std::uint32_t>> links_gone;  // by host: cables
  std::map<std::string, std::set<std::string>> spines_gone;   // by leaf switch
  std::set<std::uint32_t> cables(outage.cables.begin(), outage.cables.end());
  const auto counts = [&outage](const std::string& name) {
    return !std::ranges::binary_search(outage.devices, name) ||
           std::ranges::binary_search(outage.returning, name);
  };
  for (const std::string& name : outage.devices)
    for (const std::string& port : places_.at(name).ports) {
      const std::uint32_t cable = *wiring_.cable_at(name, port);
      if (wiring_.cables[cable].a.device != name || !counts(name)) cables.insert(cable);
    }
  for (const std::uint32_t cable : cables) {
    const Cable& one = wiring_.cables[cable];
    if (places_.at(one.a.device).is_host())
      links_gone[one.a.device].insert(cable);
    else if (counts(one.a.device))
      spines_gone[one.a.device].insert(one.b.device);
  }
  std::size_t links = 0;
  for (const auto& [host, gone] : links_gone) links = std::max(links, gone.size());
  std::size_t spines = 0;
  for (const auto& [one, gone] : spines_gone)
    for (const auto& [other, also] : spines_gone) {
      std::set<std::string> both = gone;
      both.insert(also.begin(), also.end());
      spines = std::max(spines, both.size());
    }
  return 1.0 - std::max(static_cast<double>(links) / 2, static_cast<double>(spines) / kSpines);
}

bool World::Place::is_whole(const Scope& scope) const {
  return scope.rows.empty() || (is_split && scope.rows == rows_of(part(scope.rows.front())));
}

bool World::was_seen_in_sync(const Place& place) const {
  for (std::size_t part = 0; part < (place.is_split ? kParts : 1); ++part) {
    if (place.observed[part].empty()) return false;
    const Observation& observed = place.observed[part].back();
    for (const Entry& want : place.intent->want.entries())
      if (place.part(want.path.row()) == part && observed.have.value(want.path) != want.value) return false;
    for (const Unread& unread : observed.unread)
      if (is_claimed(*place.intent, unread.row) || !place.intent->want.of_row(unread.row).empty())
        return false;
    if (has_more(*place.intent, observed.have)) return false;
  }
  return true;
}

bool World::shows_sessions(const Place& place, const Observation& observed) {
  return place.down.any() &&
         std::ranges::all_of(
             place.intent->want.of_row(row("bgp/neighbor[*]/session")), [&](const Entry& want) {
               const bool lost = place.down.whole || place.down.ports.contains(std::string(want.path.key(0)));
               return !lost || observed.have.value(want.path) == want.value;
             });
}

// A session over a cable that others took out of service is not judged.
bool World::is_as_wanted(const Place& place) const {
  const Tree& truth = place.device->truth();
  const auto is_lost = [&](Path path) {
    return path.row() == row("bgp/neighbor[*]/session") &&
           !carries(*wiring_.cable_at(place.name, path.key(0)));
  };
  return !has_more(*place.intent, truth) &&
         std::ranges::all_of(place.intent->want.entries(), [&](const Entry& want) {
           return truth.value(want.path) == want.value || is_lost(want.path);
         });
}

void World::seen(const SimulatedCall& call) {
  if (arriving_late_) return;
  follow_journal();
  follow_snapshots();
  ++result_.counts.calls;
  Place& place = places_.at(call.device);
  std::string what = call.device;
  if (call.kind == SimulatedCall::Kind::observe) {
    what += " observe";
    if (call.observed != nullptr) {
      const std::size_t part = call.scope->rows.empty() ? 0 : place.part(call.scope->rows.front());
      place.is_observed[part] = true;
      note_armed(place, call);
      note_sessions(place, call);
      note_shown(place, *call.observed);
      place.shown_up = place.shown_up || shows_sessions(place, *call.observed);
      // An observation of a few rows says nothing about the rest.
      if (place.is_whole(*call.scope)) {
        if (std::exchange(place.written_since[part], false) || call.observed->unread.empty())
          place.observed[part].clear();
        place.observed[part].push_back(*call.observed);
        note_outages(place, *call.observed, part);
        place.shown_in_sync = place.shown_in_sync || was_seen_in_sync(place);
      }
    }
  } else if (call.kind == SimulatedCall::Kind::apply) {
    what += " apply " + call.guard->ticket;
    check_write(place, call);
  } else {
    what += " settle";
    note_settled(place);
  }
  if (call.answer) what += std::string(" = ") + std::string(to_string(*call.answer));
  record(what);
  if (call.kind == SimulatedCall::Kind::apply) may_be_killed(kill_chance_);
}

// The journal has the ticket before the device has the write, and the ticket belongs to the current leader.
void World::check_ticket(Place& place, const SimulatedCall& call) {
  const Guard& guard = *call.guard;
  const auto noted = tickets_.find(guard.ticket);
  if (noted == tickets_.end() || noted->second.device != place.name || !journal_.is_open(guard.ticket))
    return violation(guard.ticket + " was not journalled first");
  if (!sent_.insert(guard.ticket).second) violation("ticket " + guard.ticket + " is used twice");
  if (guard.epoch != epoch_) violation(place.name + " was written by an older leader");
  const KnownChange& change = changes_.at(noted->second.change);
  if (!may_write(change)) violation(place.name + " was written outside its window");
  if (!process_->may_write(place.name)) violation(place.name + " was written, and --only leaves it out");
  result_.counts.chosen += process_->only.empty() ? 0 : 1;
  if (change.healing && place.intent->conduct != Conduct::converge)
    violation(place.name + " was healed, and its specs do not say converge");
}

void World::note_sessions(Place& place, const SimulatedCall& call) {
  if (!call.scope->wants(ResetSession::kSession)) return;
  for (const Entry& want : place.intent->want.of_row(ResetSession::kSession))
    if (call.observed->have.value(want.path) != want.value) {
      place.seen_down[std::string(want.path.key(0))] = now();
    } else {
      if (delays_.slow == 0) place.seen_down.erase(std::string(want.path.key(0)));
      reopened_.erase(*wiring_.cable_at(place.name, want.path.key(0)));
    }
}

// A remedy must be in the plan, for open effects, and on devices that may be written. An answer may have been
// delayed while another reader received a newer one.
void World::check_cure(const Place& place, const ChangeSet& effects) {
  if (!place.is_observed[place.part(ResetSession::kSession)])
    violation(place.name + " was reset without a fresh observation");
  if (!process_->may_write(place.name)) violation(place.name + " was reset, and --only leaves it out");
  for (const Change& effect : effects) {
    const auto down = place.seen_down.find(std::string(effect.path.key(0)));
    if (down == place.seen_down.end() || now() - down->second > delays_.slow_max + delays_.reply_max)
      violation(place.name + ": a session was reset that was seen up");
  }
  if (healing_) return;
  const bool planned = plan_ != nullptr && std::ranges::any_of(plan_->steps, [&place](const Step& step) {
                         return step.device == place.name && step.remedy == ResetSession::kName;
                       });
  if (!planned) violation(place.name + " was reset, and no plan that is carried out has a remedy of it");
}

// At most once per wave, and limited in automatic runs. A remedy that the device refused may be tried again.
void World::count_cure(const Place& place) {
  ++result_.counts.cures;
  const std::size_t times = ++cured_[place.name];
  if (!healing_) {
    if (plan_ != nullptr && times > plan_->waves())
      violation(place.name + " was reset more often than there are waves");
    return;
  }
  std::vector<WallTime>& all = healed_at_[place.name];
  all.push_back(wall_time());
  const auto lately =
      std::ranges::count_if(all, [this](WallTime one) { return wall_time() - one < ResetSession::kWithin; });
  if (clock_jumps_ == 0 && lately > ResetSession::kTriesMax)
    violation(place.name + " was reset " + std::to_string(lately) + " times in an hour, and nobody asked");
}

// Every reset since the previous healing must be in the plan of this one.
void World::check_healed_by_remedies(const Healing& healing) {
  for (const auto& [device, times] : std::exchange(cured_, {})) {
    const bool planned = std::ranges::any_of(healing.plan.steps, [&](const Step& step) {
      return step.device == device && step.remedy == ResetSession::kName;
    });
    if (!planned) violation(device + " was reset " + std::to_string(times) + " times, and no plan has it");
  }
}

void World::check_write(Place& place, const SimulatedCall& call) {
  ++result_.counts.writes;
  const std::size_t part = place.part(call.changes->front().path.row());
  if (!place.is_observed[part]) violation(place.name + " was written without a fresh observation");
  place.is_observed.fill(false);
  place.written_since[part] = true;
  check_ticket(place, call);
  for (const Change& change : *call.changes) {
    if (place.intent->want.find(change.path) != nullptr) place.ours.insert(change.path);
    if (!place.ours.contains(change.path) && claim_of(*place.intent, change.path) == nullptr)
      violation(change.path.text() + " is not ours");
    if (const auto edited = place.edited.find(change.path); edited != place.edited.end())
      ++result_.counts.edited[static_cast<std::size_t>(edited->second)];
    if (change.path == place.device->saver) ++result_.counts.saved;
    if (change.path.row() == kLock) ++(change.want ? result_.counts.locked : result_.counts.unlocked);
  }
  if (place.device->truth().value(*Path::parse("service[theirs]")) != Value::text("running") ||
      !place.device->truth().value(*Path::parse("vlan[666]")))
    violation(place.name + ": an entry of somebody else's was touched");
  if (standby_ != nullptr) last_write_ = {place.name, *call.changes, *call.guard};
  if (call.answer == ErrorKind::transient || call.answer == ErrorKind::conflict) return;
  place.writer = call.guard->epoch;
  if (const auto noted = tickets_.find(call.guard->ticket); noted != tickets_.end()) {
    touch_paths(place.name, *call.changes, noted->second.change);
    const KnownChange& change = changes_.at(noted->second.change);
    if (!change.undoes)
      for (const Change& one : *call.changes) check_other_end(place, one);
    note_moved(place, change.evens ? *change.undoes : noted->second.change);
    result_.counts.evened += change.evens ? 1 : 0;
  }
  const auto of = tickets_.find(call.guard->ticket);
  const bool undoes = of != tickets_.end() && changes_.at(of->second.change).undoes;
  check_last_way(place, call);
  if (place.is_host()) return;
  const Disturbance disturbed = disturbed_by(place, *call.changes);
  if (!disturbed.any()) return;
  place.in_hand.whole = place.in_hand.whole || disturbed.whole;
  place.in_hand.ports.insert(disturbed.ports.begin(), disturbed.ports.end());
  check_budget(place, undoes);
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

// Counts only the program's own disturbances that are not over yet. Outages by others are not in its budget,
// even when the program brings them back, nor are old states that a device reports as current.
void World::check_budget(const Place& place, bool undoes) {
  bool is_approved = false;
  for (const auto& [name, other] : places_) {
    if (!is_disturbed(other)) continue;
    is_approved = is_approved || over_budget_.contains(name);
    if (name != place.name && !place.group.empty() && other.group == place.group)
      violation(name + " and " + place.name + " of one group are disturbed at once");
  }
  if (!undoes && (healing_ || !exceeds_budgets_)) check_beside_others(place);
  if (is_approved) return;
  Outage outage = disturbed_now(nullptr);
  std::erase_if(outage.cables, [this](std::uint32_t cable) { return reopened_.contains(cable); });
  if (capacity_left(outage) < 0.5) {
    std::string gone;
    for (const std::string& device : outage.devices) gone += " " + device;
    for (const std::uint32_t cable : outage.cables)
      gone += " " + wiring_.cables[cable].a.device + "-" + wiring_.cables[cable].b.device;
    violation("more capacity is gone than the policy allows, with " + place.name + ":" + gone);
  }
}

// The program's own disturbances, except those of one device.
Outage World::disturbed_now(const Place* but) const {
  Outage outage;
  std::set<std::uint32_t> cables;
  for (const auto& [name, other] : places_) {
    if (&other == but || !is_disturbed(other)) continue;
    const Disturbance down = other.shown_up ? Disturbance{} : other.down;
    const Disturbance in_hand = waits_armed(other) ? Disturbance{} : other.in_hand;
    if (in_hand.whole || down.whole) outage.devices.push_back(name);
    if (in_hand.whole && !down.whole) outage.returning.push_back(name);
    for (const auto* ports : {&in_hand.ports, &down.ports})
      for (const std::string& port : *ports) cables.insert(*wiring_.cable_at(name, port));
  }
  outage.cables.assign(cables.begin(), cables.end());
  return outage;
}

// Outages by others that have been observed long enough count as well, unless this write removes no further
// capacity.
void World::check_beside_others(const Place& place) {
  std::set<std::string> devices;
  std::set<std::uint32_t> cables;
  add_outages(devices, cables);
  if (devices.empty() && cables.empty()) return;
  ++result_.counts.out_counted;
  const auto left_beside = [&](Outage ours) {
    std::erase_if(ours.returning, [&](const std::string& one) { return devices.contains(one); });
    std::set<std::string> all_devices = devices;
    std::set<std::uint32_t> all_cables = cables;
    all_devices.insert(ours.devices.begin(), ours.devices.end());
    all_cables.insert(ours.cables.begin(), ours.cables.end());
    ours.devices.assign(all_devices.begin(), all_devices.end());
    ours.cables.assign(all_cables.begin(), all_cables.end());
    return capacity_left(ours);
  };
  const double left = left_beside(disturbed_now(nullptr));
  // Ports that the run itself reopened carried no traffic before it.
  Outage before = disturbed_now(&place);
  before.cables.insert(before.cables.end(), reopened_.begin(), reopened_.end());
  if (left >= 0.5 || left >= left_beside(std::move(before))) return;
  violation("less capacity is left than the policy allows, beside what others took out of service, with " +
            place.name);
}

void World::check_states(const std::vector<DeviceState>& states) {
  for (const DeviceState& state : states)
    if (state.complete() && state.difference.in_sync() && state.not_applied.empty() &&
        !was_seen_in_sync(places_.at(state.device)))
      violation(state.device + " is called in sync, and was not seen to be");
  for (const DeviceState& state : states) {
    if (!unread_.contains(state.device)) continue;
    ++result_.counts.away;
    if (state.reachable) violation(state.device + " is away, and is called reachable");
  }
  for (const DeviceState& state : states) {
    if (!half_read_.contains(state.device)) continue;
    ++result_.counts.half_read;
    if (state.complete()) violation(state.device + " is called read, and its routing daemon is away");
  }
}

// Called for a process that has just taken the lock.
void World::check_leads() {
  leads_ = true;
  // Changes of an earlier process are judged by its own rules.
  moved_.clear();
  unmeasured_.clear();
  follow_journal();
  before_process_ = changes_.empty() ? 0 : changes_.rbegin()->first;
  for (const auto& [name, place] : places_)
    if (place.writer >= epoch_)
      violation(name + " was written under epoch " + std::to_string(place.writer) +
                ", and a new leader has " + std::to_string(epoch_));
  if (journal_.not_ended() != 0) violation("a change of a killed run is still open under a new leader");
}

bool World::all_healed(const std::set<std::string>& held) const {
  return std::ranges::all_of(places_, [&](const auto& one) {
    return one.second.intent->conduct != Conduct::converge || held.contains(one.first) ||
           is_as_wanted(one.second);
  });
}

// The watch must have reported every device that it did not heal.
void World::check_healed(const std::set<std::string>& held) {
  if (!windows_.empty()) return;
  for (const auto& [name, place] : places_)
    if (place.intent->conduct == Conduct::converge && !held.contains(name) && !is_as_wanted(place))
      violation(name + " has drifted, and was neither healed nor reported");
}

// Runs before any event that could be mistaken for the state that was planned on.
void World::follow_journal() {
  if (!journal_.moved()) return;
  const std::uint64_t epoch = journal_.epoch();
  if (epoch < epoch_) violation("the epoch went back");
  epoch_ = epoch;
  for (const NotedChange& change : journal_.changes_after(changes_.empty() ? 0 : changes_.rbegin()->first)) {
    note_traffic();
    constexpr std::string_view kUndo = "rollback of change ";
    constexpr std::string_view kEvens = "both ends of a cable alike: of change ";
    KnownChange& known = changes_[change.id];
    known.healing = healing_;
    known.begun_in_window = is_window_open();
    known.clock_jumps = clock_jumps_;
    known.evens = change.reason.starts_with(kEvens);
    if (known.evens || change.reason.starts_with(kUndo))
      known.undoes = std::stoull(change.reason.substr((known.evens ? kEvens : kUndo).size()));
    record("change " + std::to_string(change.id) + " " + change.reason);
    if (change.epoch != epoch_) violation("a change was begun by an older leader");
  }
  for (const NotedTicket& ticket : journal_.tickets_after(last_ticket_)) {
    last_ticket_ = ticket.place;
    KnownChange& change = changes_.at(ticket.change);
    change.first_ticket.try_emplace(ticket.device, ++turn_);
    change.boots.try_emplace(ticket.device, places_.at(ticket.device).device->boots());
    tickets_.emplace(ticket.ticket, ticket);
  }
  const std::uint64_t ended = journal_.ended();
  if (std::exchange(ended_, ended) == ended) return;
  for (const std::string& ticket : journal_.open_tickets(epoch_))
    violation("a change ended with an open ticket: " + ticket);
}

// A snapshot comes from the watch's own observations, while a healing reads the same devices: a device newly
// shown in sync was observed so since the snapshot that last reported the device.
void World::follow_snapshots() {
  if (watch_ == nullptr) return;
  const std::shared_ptr<const Snapshot> before = std::exchange(snapshot_, watch_->snapshot());
  if (before == snapshot_) return;
  if (before && before->generation >= snapshot_->generation) violation("a snapshot went back");
  for (std::size_t i = 0; i < snapshot_->devices.size(); ++i) {
    const std::shared_ptr<const DeviceStatus>& status = snapshot_->devices[i];
    if (!status || (before && before->devices[i] == status)) continue;
    if (!std::exchange(places_.at(status->device).shown_in_sync, false) && status->in_sync())
      violation(status->device + " is in sync in a snapshot, and was not seen to be");
  }
}

// Determines which switches and ports carry traffic, as observed when this plan was made: a port with its own
// session by the neighbours at both ends, a port to a host by an address of the host that the specs want or
// the program wrote. Entries that could never be read count as present.
void World::note_traffic() {
  const auto all_observed = [this](const std::string& device, RowId row, const auto& may_have) {
    const std::vector<Observation>& observed = places_.at(device).seen_of(row);
    return !observed.empty() && std::ranges::all_of(observed, may_have);
  };
  const auto may_have = [&](const std::string& device, Path path) {
    return all_observed(device, path.row(), [path](const Observation& one) {
      return one.have.value(path) || is_unread(one.unread, path);
    });
  };
  const auto may_have_address = [&](const PortName& port) {
    const Place& place = places_.at(port.device);
    return all_observed(port.device, kAddresses, [&](const Observation& one) {
      return is_unread(one.unread, Path(kAddresses, {port.port, ""})) ||
             std::ranges::any_of(one.have.of_row(kAddresses), [&](const Entry& entry) {
               return entry.path.key(0) == port.port &&
                      (place.intent->want.find(entry.path) != nullptr || place.ours.contains(entry.path));
             });
    });
  };
  for (auto& [name, place] : places_) {
    place.live = false;
    place.live_ports.clear();
    if (place.is_host()) continue;
    for (const std::string& port : place.ports) {
      const Path neighbor(row("bgp/neighbor[*]"), {port});
      const bool own = place.intent->want.find(neighbor) != nullptr;
      const PortName& far = *wiring_.peer(name, port);
      place.live = place.live || may_have(name, neighbor);
      const bool carries =
          own ? may_have(name, neighbor) && may_have(far.device, Path(row("bgp/neighbor[*]"), {far.port}))
              : may_have_address(far);
      if (carries) place.live_ports.insert(port);
    }
  }
}

}  // namespace lockstep::simulation
