// The checks of a World: of each write, each change in the journal, and each status.
#include <algorithm>

#include "reconciler/store/store.hpp"
#include "world.hpp"

namespace lockstep::service_simulation {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::string_view kOfGoal = "lockstep serve of specs at ";
constexpr std::string_view kRollback = "rollback of change ";

// A device that others changed, or that was away, may differ until it was observed and corrected.
constexpr minutes kMayDiffer{10};
// An observation may be that old when its answer comes.
constexpr seconds kObservationMost{60};

}  // namespace

// The journal ---------------------------------------------------------------------------------------------

void World::follow_journal() {
  if (!journal_.moved()) return;
  for (const simulation::NotedChange& one : journal_.changes_after(last_change_)) {
    last_change_ = one.id;
    ChangeFact change{.begun = now(), .clock_jumps = clock_jumps_};
    if (one.reason.starts_with(kOfGoal)) {
      const std::string source =
          one.reason.substr(kOfGoal.size(), one.reason.find(' ', kOfGoal.size()) - kOfGoal.size());
      change.claim = Claim::goal;
      change.key = key_of(facts_.commit(source), version_.kind);
    } else if (one.reason.starts_with("lockstep apply")) {
      change.key = personal_key_;
    } else if (one.reason == "drift") {
      change.claim = Claim::drift;
    } else if (one.reason.starts_with(kRollback)) {
      change.claim = Claim::rollback;
      change.undoes = std::stoull(one.reason.substr(kRollback.size()));
      facts_.held(changes_.at(change.undoes));
      rolled_back_[change.undoes];
      if (gate_fails_) failed_.insert(change.undoes);
      last_undone_ = change.undoes;
      unstored_before_ = unstored_;
    }
    if (!change.key.empty())
      for (const auto& [name, value] : facts_.wanted(change.key))
        if (faults_.stale_read > 0 || !has_value(name, value)) change.planned.insert({name, value});
    record("change " + std::to_string(one.id) + ": " + one.reason);
    changes_[one.id] = change;
    check_begun(one.id, change);
  }
  for (const simulation::NotedTicket& one : journal_.tickets_after(last_ticket_)) {
    last_ticket_ = one.place;
    tickets_[one.ticket] = one.change;
  }
  note_refusals();
}

void World::check_begun(std::uint64_t id, const ChangeFact& change) {
  if (change.claim != Claim::rollback) {
    note_refusals();
    rolled_back_.clear();
    gate_fails_ = false;
    const std::string last = last_begun_ == 0 ? "kept" : journal_.outcome(last_begun_);
    if (last != "kept" && last != "needs approval" && !last.starts_with("undone")) facts_.changed_by_others();
    last_begun_ = id;
  }
  if (change.claim == Claim::goal) count("changes for a revision");
  if (change.claim == Claim::drift) count("heals");
  if (change.claim == Claim::rollback) count("rollbacks");
  if (change.claim == Claim::person) facts_.changed_by_others();
  if (change.claim != Claim::rollback && journal_.not_ended() > 1)
    violation("change " + std::to_string(id) + " is begun beside another");
  const auto since = facts_.suspended_since();
  const bool by_service = change.claim == Claim::goal || change.claim == Claim::drift;
  if (by_service && since && now() > *since)
    violation("change " + std::to_string(id) + " is begun while the service is suspended");
  if (const std::string why = facts_.why_not_begin(change); !why.empty())
    violation(why + ": " + change.key + ", change " + std::to_string(id));
  if (change.claim == Claim::goal) facts_.began(change.key);
}

// Writes --------------------------------------------------------------------------------------------------

void World::check_write(Place& place, const SimulatedCall& call) {
  const std::string& device = place.device->name();
  const auto answer = call.answer.value_or(ErrorKind::unknown_outcome);
  std::string what = device + " apply " + call.guard->ticket;
  for (const Change& one : *call.changes)
    what += " " + one.path.text() + "=" + one.want.to_string() + " (" + one.was.to_string() + ")";
  record(what + (call.answer ? ": " + std::string(to_string(*call.answer)) : ""));
  for (const Change& one : *call.changes) {
    found_[setting(device, one.path.text())].insert(one.was.to_string());
    found_[setting(device, one.path.text())].insert(place.before.value(one.path).to_string());
  }
  if (answer != ErrorKind::unknown_outcome) return;  // nothing was written
  count("writes");
  const auto ticket = tickets_.find(call.guard->ticket);
  if (ticket == tickets_.end()) return violation(device + " is written without a ticket");
  const ChangeFact& change = changes_.at(ticket->second);
  if (call.guard->epoch != journal_.epoch()) violation(device + " is written by an older leader");
  for (const Change& one : *call.changes) {
    const Setting name = setting(device, one.path.text());
    const Content content{name, one.was.to_string(), one.want.to_string()};
    if (const std::string why = facts_.why_wrong(change, content, found_[name], now()); !why.empty())
      violation(name + " = " + content.want + " is written: " + why);
    if (change.claim == Claim::rollback) rolled_back_[change.undoes].insert({name, content.was});
    if (change.claim == Claim::goal && unjudged_ == change.key && !facts_.is_approved(change.key, content))
      violation(name + " is written, and what was written before is not judged");
    check_window(name, change);
  }
  if (stops_ && now() > *stops_ + Facts::kStepMost &&
      (change.claim == Claim::goal || change.claim == Claim::drift))
    violation(device + " is written by a service that was stopped long before");
  if (change.claim == Claim::drift) check_heal(device);
  if (change.claim == Claim::person) place.moved = now();
}

// The newest change was to blame: without it, all holds again. An older one may be rolled back with it.
void World::confirm_rollback() { measured_again_.insert(last_undone_); }

// And once that is stored, with the change's end: in whole, as the disk was never full meanwhile.
void World::note_refusals() {
  for (const std::uint64_t change : measured_again_)
    if (unstored_before_ == unstored_ && journal_.outcome(change).starts_with("undone"))
      for (const auto& [name, value] : rolled_back_[change]) facts_.rolled_back(name, value);
  for (const std::uint64_t change : measured_again_)
    if (!journal_.outcome(change).empty()) rolled_back_.erase(change);
  std::erase_if(measured_again_, [this](std::uint64_t change) { return !rolled_back_.contains(change); });
}

void World::check_window(const Setting& setting, const ChangeFact& change) {
  if (!has_window_ || !is_daily(setting)) return;
  if (change.claim == Claim::rollback || change.claim == Claim::person) return;
  if (change.clock_jumps != clock_jumps_) return;
  const auto day = process_->executor->wall_time().time_since_epoch() % hours(24);
  count("writes in a window");
  if (day < hours(kOpens) || day >= hours(kCloses)) violation(setting + " is written outside its window");
}

// Devices, not heals, within ten minutes; the window begins anew when somebody resumes, who agrees to what is
// shown then. It is written up to kStepMost after it was admitted.
void World::check_heal(const std::string& device) {
  if (now() - minutes(10) - Facts::kStepMost <= resumed_ && seen_.contains(device)) return;
  heals_.emplace_back(now(), device);
  const Time since = std::max({now() - minutes(10), resumed_, clock_jumped_});
  std::set<std::string> healed;
  for (const auto& [at, one] : heals_)
    if (at >= since) healed.insert(one);
  if (healed.size() > CircuitBreaker::kLeast)
    violation(std::to_string(healed.size()) + " devices are healed within ten minutes");
}

// Status --------------------------------------------------------------------------------------------------

void World::follow_status() {
  const auto status = process_->service->status();
  if (process_->person_is_done) {
    process_->person.reset();
    process_->person_is_done = false;
    record("lockstep apply ends");
  }
  if (status->sequence == status_seen_) return;
  status_seen_ = status->sequence;
  follow_journal();
  if (status->plan) remember_plan(*status->plan);
  if (!status->breaker.empty()) count("statuses with an open breaker");
  check_shown(*status);
  check_leads(*status);
  if (!status->leads || !status->record_trouble.empty()) {
    told_late_ = true;
    return;
  }
  for (const RevisionStatus& one : status->revisions) follow_revision(one);
  told_late_ = false;
  if (status->last_good != good_ && status->last_good) {
    const Key key = key_of(*status->last_good);
    if (!facts_.was_begun(key) && !facts_.was_kept(key)) violation(key + " is the last good one, unbegun");
  }
  good_ = status->last_good;
}

void World::remember_plan(const PlanStatus& plan) {
  const Key key = key_of(plan.revision);
  const GoalPlan& made = *plan.plan;
  if (std::exchange(plan_shown_, plan.plan) == plan.plan) return;
  for (std::size_t i = 0; i < made.digests().size(); ++i) {
    Shown& shown = shown_[made.digests()[i]];
    shown.key = key;
    shown.refusals = facts_.refusals();
    const Step& step = made.plan().steps[i];
    for (const PlannedChange& one : step.changes)
      shown.contents.insert(
          {setting(step.device, one.path.text()), one.was.to_string(), one.want.to_string()});
  }
  if (!made.deletion().empty()) deletions_[made.deletion()] = key;
  if (!options_.steps) return;
  for (const Step& step : made.plan().steps) {
    std::string holds;
    for (const Hold& hold : step.holds) holds += "; " + hold.reason;
    for (const PlannedChange& one : step.changes)
      std::printf("    plan of %s: %s %s=%s (%s)%s\n", key.c_str(), step.device.c_str(),
                  one.path.text().c_str(), one.want.to_string().c_str(), one.was.to_string().c_str(),
                  holds.c_str());
  }
}

void World::follow_revision(const RevisionStatus& one) {
  const Key key = key_of(one.shown.revision);
  const RevisionState state = one.shown.state;
  facts_.stored(key);
  if (facts_.is_rejected(key) && state != RevisionState::rejected)
    violation(key + " was rejected, and is " + std::string(to_string(state)));
  const auto known = states_.find(one.shown.revision);
  if (known != states_.end() && known->second == state) return;
  const bool is_news = known != states_.end();  // of this process
  if (is_news && known->second == RevisionState::running && state == RevisionState::superseded)
    count("supersessions");
  states_[one.shown.revision] = state;
  record(key + " is " + std::string(to_string(state)) + ": " + one.shown.why);
  if (state == RevisionState::running) facts_.began(key);
  if (state == RevisionState::kept) {
    count("revisions kept");
    // What could not be read was left out; and it is so when it is kept, not when that is stored at last.
    if (shows_all() && is_news && !told_late_) check_has(key, "is kept");
    facts_.kept(key);
    const auto last = std::find_if(changes_.rbegin(), changes_.rend(), [](const auto& change) {
      return change.second.claim != Claim::rollback && change.second.claim != Claim::drift;
    });
    if (last != changes_.rend() && last->second.key == key && journal_.outcome(last->first) == "kept")
      facts_.accepted(key);
  } else if (state == RevisionState::refused) {
    count("revisions refused");
    bool failed = false;
    for (const std::uint64_t change : failed_) {
      if (changes_.at(change).key != key) continue;
      failed = true;
      facts_.held(changes_.at(change));
    }
    if (!failed) violation(key + " is refused, and its benchmarks never failed");
    facts_.said_refused(key);
  } else if (state == RevisionState::rejected) {
    if (!rejections_.contains(key)) violation(key + " is rejected, and nobody did that");
    facts_.said_rejected(key);
  }
}

void World::check_shown(const ServiceStatus& status) {
  if (status.leads && facts_.is_suspended() && !status.suspended)
    violation("it was suspended, and does not say so");
  if (status.leads)
    for (const auto& [device, since] : facts_.cordons())
      if (!status.cordoned.contains(device)) violation(device + " was cordoned, and it does not say so");
  if (!status.devices || !status.watched) return;
  const auto wanted = facts_.wanted(key_of(*status.watched));
  for (const auto& shown : status.devices->devices) {
    if (!shown) continue;
    Place& place = places_.at(shown->device);
    if (std::exchange(place.shown, shown) == shown || !shown->in_sync()) continue;
    // A device that answers with what was shows itself so.
    if (now() - place.moved < kObservationMost || place.device->faults.stale_read > 0) continue;
    count("devices shown in sync");
    if (place.is_dark) violation(shown->device + " lacks its effects, and is shown in sync");
    for (const auto& [name, value] : wanted)
      if (device_of(name) == shown->device && !has_value(name, value))
        violation(name + " is " + truth(name) + ", and the device is shown in sync with " + value);
  }
}

// Whoever leads has the lock: nobody else gets it.
void World::check_leads(const ServiceStatus& status) {
  if (!status.leads || !random_.chance(0.02)) return;
  count("proofs of leadership");
  const auto store = open_store(directory_.path() + "/state");
  if (store && (*store)->leadership().take("another controller")) violation("it leads, and another one can");
}

// The truth -----------------------------------------------------------------------------------------------

std::string World::truth(const Setting& setting) const {
  const auto place = places_.find(device_of(setting));
  if (place == places_.end()) return "";
  const std::string path = setting.substr(setting.find(' ') + 1);
  return place->second.device->truth().value(*Path::parse(path)).to_string();
}

bool World::has_value(const Setting& setting, const std::string& value) const {
  return truth(setting) == value;
}

// Whether each device that is there answers each observation with what it has.
bool World::shows_all() const { return now() > lossy_until_; }

// What is to change there for a revision: one step.
std::set<Content> World::step_of(const std::string& device, const Key& key) const {
  std::set<Content> out;
  for (const auto& [name, value] : facts_.wanted(key))
    if (device_of(name) == device && !has_value(name, value)) out.insert({name, truth(name), value});
  return out;
}

bool World::is_excused(const Setting& setting) const {
  const std::string device = device_of(setting);
  return places_.at(device).device->unreachable || now() - places_.at(device).moved < kMayDiffer ||
         facts_.cordons().contains(device) || process_->service->status()->cordoned.contains(device);
}

// What is not as this revision wants it, although nobody has to approve that first.
std::vector<std::string> World::not_as(const Key& key, const std::set<std::string>& but) const {
  std::vector<std::string> out;
  for (const auto& [name, value] : facts_.wanted(key))
    if (!has_value(name, value) && !but.contains(device_of(name)) &&
        !facts_.waits(key, {name, truth(name), value}, step_of(device_of(name), key)))
      out.push_back(name + " is " + truth(name) + " instead of " + value);
  return out;
}

// Devices of later waves, where all of the first wave that is left waits: they wait behind it.
std::set<std::string> World::behind_the_first_wave(const Key& key) const {
  const auto status = process_->service->status();
  const bool is_new =
      status->plan && process_->executor->wall_time() - status->plan->at < 2 * ServiceSettings().resync_every;
  if (!is_new || key_of(status->plan->revision) != key) return {};
  const std::vector<Step>& steps = status->plan->plan->plan().steps;
  const auto first = std::ranges::min_element(steps, {}, &Step::wave);
  std::set<std::string> out;
  for (const Step& step : steps) {
    const std::set<Content> all = step_of(step.device, key);
    if (step.wave > first->wave)
      out.insert(step.device);
    else if (std::ranges::none_of(all, [&](const Content& one) { return facts_.waits(key, one, all); }))
      return {};
  }
  return out;
}

void World::check_has(const Key& key, const std::string& as) {
  for (const auto& [name, value] : facts_.wanted(key))
    if (!has_value(name, value) &&
        !facts_.waits(key, {name, truth(name), value}, step_of(device_of(name), key)) && !is_excused(name))
      violation(key + " " + as + ", and " + name + " is " + truth(name) + " instead of " + value);
}

// The newest that the service can know, that no gate refused and nobody rejected.
std::optional<Key> World::goal() {
  const auto status = process_->service->status();
  for (const RevisionStatus& one : status->revisions) {
    const Key key = key_of(one.shown.revision);
    if (facts_.is_out(key)) continue;
    if (key == key_of(facts_.commit(source_of(key)), version_.kind)) return key;
    count("goals that this version does not compile");
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace lockstep::service_simulation
