#include "reconciler/engine/runner.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "reconciler/engine/runner_work.hpp"

namespace lockstep {

Runner::Runner(const Fleet& fleet, Executor& executor, Ledger& ledger, const Plan& plan, std::uint64_t change,
               const ApplyOptions& options, const Progress& progress, std::stop_token stop)
    : fleet_(fleet),
      executor_(executor),
      ledger_(ledger),
      plan_(plan),
      change_(change),
      options_(options),
      progress_(progress),
      stop_(std::move(stop)) {
  next_.resize(plan.steps.size() + 1);
  waits_.resize(plan.steps.size() + 1);
  for (const Step& step : plan.steps) {
    results_.push_back(
        {.id = step.id, .state = StepState::waiting, .why = {}, .writes = 0, .notes = {}, .took = {}});
    waits_[step.id] = step.after.size();
    for (const std::uint32_t before : step.after) next_[before].push_back(step.id);
  }
}

void Runner::run_wave(std::uint32_t wave) {
  for (const Step& step : plan_.steps)
    if (step.wave == wave) consider(step.id);
  start_ready();
  // A step may be over as soon as it is begun, and the next one ready.
  while (open_ > 0 ? executor_.step() : !ready_.empty() && !stop_.stop_requested()) start_ready();
  if (stop_.stop_requested()) skip_from(1, StepState::stopped, "asked to stop");
}

void Runner::consider(std::uint32_t id) {
  if (results_[id - 1].state != StepState::waiting) return;
  const Step& step = plan_.steps[id - 1];
  for (const Hold& hold : step.holds) {
    const bool yields = hold.kind != Hold::Kind::management && hold.kind != Hold::Kind::window;
    if (yields && options_.approved.contains(hold.kind)) continue;
    results_[id - 1].waits = hold.kind == Hold::Kind::window;
    set(id, StepState::held, hold.reason);
    skip_dependants(id);
    return;
  }
  if (waits_[id] == 0) ready_[step.device].insert(id);
}

void Runner::skip_from(std::uint32_t wave, StepState state, const std::string& why) {
  for (const Step& step : plan_.steps)
    if (step.wave >= wave && results_[step.id - 1].state == StepState::waiting) set(step.id, state, why);
  ready_.clear();
}

bool Runner::wave_failed(std::uint32_t wave) const {
  return std::any_of(plan_.steps.begin(), plan_.steps.end(), [&](const Step& step) {
    const StepState state = results_[step.id - 1].state;
    // A remedy that did not help changed nothing that others build on; what it was for stays an open effect.
    return step.wave == wave && step.remedy.empty() &&
           (state == StepState::failed || state == StepState::undone);
  });
}

std::vector<Step> Runner::written() const {
  std::vector<Step> steps;
  for (const Step& step : plan_.steps)
    if (results_[step.id - 1].writes > 0 && step.remedy.empty()) steps.push_back(step);
  return steps;
}

std::string Runner::next_ticket(std::uint32_t step) {
  return "e" + std::to_string(ledger_.epoch()) + "-c" + std::to_string(change_) + "-s" +
         std::to_string(step) + "-" + std::to_string(++tickets_);
}

void Runner::start_ready() {
  if (stop_.stop_requested()) return;
  for (auto device = ready_.begin(); device != ready_.end();) {
    if (busy_.contains(device->first)) {
      ++device;
      continue;
    }
    const std::uint32_t id = *device->second.begin();
    device->second.erase(device->second.begin());
    device = device->second.empty() ? ready_.erase(device) : std::next(device);
    begin(id);
  }
}

void Runner::begin(std::uint32_t id) {
  auto work = std::make_shared<Work>();
  work->step = &plan_.steps[id - 1];
  work->started = executor_.now();
  const auto device = fleet_.find(work->step->device);
  if (device) {
    work->device = *device;
    const Carriers& carriers = fleet_.carriers(*device);
    for (std::size_t d = 0; d < carriers.traits().size(); ++d)
      if (carriers.traits()[d].driver == work->step->driver) {
        work->attached = fleet_[*device].drivers[d];
        work->undoes_itself = carriers.traits()[d].undoes_itself;
      }
  }
  ++open_;
  busy_.insert(work->step->device);
  set(id, StepState::running, "");
  if (work->attached == nullptr)
    finish(work, StepState::failed,
           "no driver '" + work->step->driver + "' is attached to " + work->step->device);
  else if (!work->step->remedy.empty())
    cure(work);
  else
    look(work, &Runner::before_write);
}

void Runner::start_job(const Shared& work, std::chrono::milliseconds timeout,
                       std::function<void(const Call&)> run, std::function<void(Outcome)> done) {
  executor_.start(Job{.key = work->step->device,
                      .lane = fleet_[work->device].lane,
                      .deadline = executor_.now() + timeout,
                      .run = std::move(run),
                      .done = std::move(done)});
}

// Reads the rows of the step; all of the device where effects must be seen to come back.
void Runner::look(const Shared& work, void (Runner::*then)(const Shared&)) {
  Scope scope;
  if (!work->step->live)
    for (const PlannedChange& change : work->step->changes)
      if (scope.rows.empty() || !scope.wants(change.path.row())) scope.rows.push_back(change.path.row());
  std::vector<Driver*> drivers;
  Driver* const own = work->attached->driver.get();
  for (const Attached* attached : fleet_[work->device].drivers)
    if (work->step->live || attached->driver.get() == own) drivers.push_back(attached->driver.get());
  auto seen = std::make_shared<Look>();
  const auto run = [seen, scope, drivers, own](const Call& call) {
    TreeBuilder builder;
    for (Driver* const driver : drivers) {
      Result<Observation> part = driver->observe(scope, "", call);
      if (!part && driver == own) {
        seen->error = part.error();
        return;
      }
      if (!part) continue;
      for (const Leaf& leaf : part->have.leaves()) builder.add(leaf.path, leaf.value);
      if (driver == own) seen->revision = part->revision;
      std::move(part->unread.begin(), part->unread.end(), std::back_inserter(seen->unread));
    }
    seen->have = builder.build();
  };
  start_job(work, options_.observe_timeout, run, [this, work, seen, then](Outcome outcome) {
    work->last = outcome == Outcome::returned ? std::move(*seen) : Look{};
    if (outcome != Outcome::returned)
      work->last.error = Error{ErrorKind::transient, work->step->device + ": no answer in time"};
    (this->*then)(work);
  });
}

// The ground is as planned, or as we left it: then what is missing is written, in the planned order.
void Runner::before_write(const Shared& work) {
  const Look& now = work->last;
  if (now.error) return react(work, *now.error, false);
  std::map<Path, std::vector<Value>> known;
  for (const PlannedChange& change : work->step->changes) {
    if (is_unread(now.unread, change.path))
      return react(work, Error{ErrorKind::transient, change.path.text() + " could not be read"}, false);
    auto& values = known[change.path];
    if (values.empty()) values.push_back(change.was);
    values.push_back(change.want);
  }
  const auto ends = ends_of(*work->step);
  bool all_met = true;
  for (const auto& [path, end] : ends) {
    const Value have = now.have.value(path);
    all_met = all_met && is_met(path, end, have);
    auto& values = known[path];
    const auto last = work->tries == 0 ? values.begin() + 1 : values.end();
    if (is_met(path, end, have) || std::find(values.begin(), last, have) != last) continue;
    return give_up(work, "the ground has moved: " + path.text() + " is " + have.to_string() + ", and was " +
                             values.front().to_string() + " when this was planned; plan again");
  }
  if (all_met) return confirm_met(work);
  if (work->step->live) remember_effects(work);
  std::map<Path, Value> state;
  ChangeSet changes;
  for (const PlannedChange& change : work->step->changes) {
    const auto [at, is_new] = state.try_emplace(change.path, now.have.value(change.path));
    if (at->second == change.want) continue;
    changes.push_back({change.path, at->second, change.want, 0});
    at->second = change.want;
  }
  write(work, std::move(changes));
}

// Another hand made it, or a write that was not acknowledged did; or the look is older than the one that this
// was planned on: reads may lag.
void Runner::confirm_met(const Shared& work) {
  const std::chrono::milliseconds pause = options_.poll_min * (1 << work->met);
  if (++work->met < kLooksMax && !stop_.stop_requested() && !is_late(work, pause))
    return again(work, pause, &Runner::look_again);
  if (work->tries > 0) return keep(work);
  finish(work, StepState::nothing_to_do, "found as wanted");
}

// Before every write: one that was refused as a whole, or read from an older state, tells less than the next.
void Runner::remember_effects(const Shared& work) {
  const Look& now = work->last;
  for (const Leaf& want : fleet_[work->device].intent->want.leaves()) {
    if (schema_row(want.path.row()).facet != Facet::effect) continue;
    const bool unread = is_unread(now.unread, want.path);
    if (!unread && !satisfies(want.path.row(), want.value, now.have.value(want.path))) continue;
    if (work->held_before.insert(want.path).second && unread) work->unread_before.insert(want.path);
    if (!unread) work->unread_before.erase(want.path);
  }
}

void Runner::write(const Shared& work, ChangeSet changes) {
  work->ticket = next_ticket(work->step->id);
  const auto journalled = ledger_.ticket(
      change_, LedgerTicket{work->ticket, work->step->id, work->step->device, work->step->driver, changes});
  if (!journalled) return give_up(work, "not begun: " + journalled.error().text());
  work->tickets.push_back(work->ticket);
  ++work->tries;
  ++results_[work->step->id - 1].writes;
  work->looks = 0;
  work->met = 0;
  work->refusal.reset();
  Guard guard{.ticket = work->ticket,
              .revision = work->blind ? std::string() : work->last.revision,
              .epoch = ledger_.epoch(),
              .undo_after = work->step->undo_after};
  auto answer = std::make_shared<std::optional<Result<Receipt>>>();
  Driver* const driver = work->attached->driver.get();
  start_job(
      work, options_.apply_timeout,
      [answer, driver, changes = std::move(changes), guard](const Call& call) {
        *answer = driver->apply(changes, guard, call);
      },
      [this, work, answer](Outcome outcome) {
        if (outcome == Outcome::never_started)
          return react(work, Error{ErrorKind::transient, work->step->device + ": the write was never begun"},
                       false);
        if (outcome == Outcome::abandoned || !*answer)
          return react(work, Error{ErrorKind::unknown_outcome, work->step->device + ": no answer to a write"},
                       true);
        Result<Receipt>& result = **answer;
        if (!result) return react(work, result.error(), true);
        auto& notes = results_[work->step->id - 1].notes;
        notes.insert(notes.end(), result->notes.begin(), result->notes.end());
        // What was not tried because of another's refusal is not the reason.
        for (const Receipt::Outcome& one : result->outcomes)
          if (one.error && (!work->refusal || work->refusal->kind == ErrorKind::cancelled))
            work->refusal = wrap(one.path.text(), *one.error);
        look_after(work);
      });
}

// Nothing new is begun after a step's time; what is under way is let run to its own deadline.
bool Runner::is_late(const Shared& work, std::chrono::milliseconds wait) const {
  return executor_.now() + wait >= work->started + options_.step_timeout;
}

void Runner::look_after(const Shared& work) { look(work, &Runner::after_write); }
void Runner::look_again(const Shared& work) { look(work, &Runner::before_write); }
void Runner::look_for_effects(const Shared& work) { look(work, &Runner::regain); }

// Nothing counts as done until it was read back.
void Runner::after_write(const Shared& work) {
  const Look& now = work->last;
  if (now.error) return react(work, *now.error, true);
  std::string missing;
  bool unread = false;
  for (const auto& [path, end] : ends_of(*work->step)) {
    if (!shows_at_once(path.row())) continue;
    unread = unread || is_unread(now.unread, path);
    if (!is_met(path, end, now.have.value(path)) && missing.empty())
      missing = path.text() + " is " + now.have.value(path).to_string() + " instead of " + end.to_string();
  }
  if (missing.empty() && !unread) return keep(work);
  if (work->putting_back) return put_back(work, work->why);
  if (work->refusal && reaction_to(work->refusal->kind) == Reaction::give_up)
    return give_up(work, work->refusal->text());
  const std::chrono::milliseconds pause = options_.poll_min * (2 << work->looks);
  if (++work->looks < kLooksMax && !is_late(work, pause)) return again(work, pause, &Runner::look_after);
  if (unread) return give_up(work, "it could not be read back");
  react(work, Error{ErrorKind::transient, "written, but " + missing}, false);
}

void Runner::again(const Shared& work, std::chrono::milliseconds wait, void (Runner::*next)(const Shared&)) {
  executor_.at(executor_.now() + wait, [this, work, next] { (this->*next)(work); });
}

void Runner::react(const Shared& work, const Error& error, bool may_have_happened) {
  if (work->putting_back) return fail(work, StepState::failed, work->why);
  const Reaction reaction = reaction_to(error.kind);
  if (reaction == Reaction::stop) return give_up(work, error.text());
  if (reaction == Reaction::give_up) return give_up(work, error.text());
  if (!may_have_happened) ++work->looks;
  if (may_have_happened && work->tries < options_.tries) ++work->looks;
  const std::chrono::milliseconds wait =
      reaction == Reaction::retry_later ? options_.back_off * (1 << std::min(work->tries + work->looks, 6))
                                        : options_.poll_min;
  if (work->tries >= options_.tries || work->looks > options_.tries + kLooksMax || is_late(work, wait))
    return give_up(work, error.text() + " (after " + std::to_string(work->tries) + " writes)");
  if (reaction == Reaction::plan_again) work->blind = true;
  again(work, wait, &Runner::look_again);
}

void Runner::finish(const Shared& work, StepState state, const std::string& why) {
  const std::uint32_t id = work->step->id;
  if (state == StepState::failed || state == StepState::undone)
    for (const std::string& ticket : work->tickets) {
      const auto end = state == StepState::undone ? TicketState::undone : TicketState::failed;
      if (const auto noted = ledger_.receipt(ticket, end, why); !noted)
        results_[id - 1].notes.push_back(noted.error().text());
    }
  results_[id - 1].took =
      std::chrono::duration_cast<std::chrono::milliseconds>(executor_.now() - work->started);
  --open_;
  busy_.erase(work->step->device);
  set(id, state, why);
  // Nothing builds on a remedy: what comes after it only kept out of its way.
  const bool builds_on = work->step->remedy.empty() && state != StepState::done;
  if (builds_on && state != StepState::nothing_to_do) return skip_dependants(id);
  for (const std::uint32_t next : next_[id]) {
    const Step& step = plan_.steps[next - 1];
    if (--waits_[next] == 0 && step.wave == work->step->wave &&
        results_[next - 1].state == StepState::waiting)
      ready_[step.device].insert(next);
  }
}

void Runner::skip_dependants(std::uint32_t id) {
  for (const std::uint32_t next : next_[id]) {
    if (results_[next - 1].state != StepState::waiting) continue;
    results_[next - 1].waits = results_[id - 1].waits;
    set(next, StepState::skipped,
        "waits for step " + std::to_string(id) + " (" + plan_.steps[id - 1].device + "), which was " +
            std::string(to_string(results_[id - 1].state)));
    skip_dependants(next);
  }
}

void Runner::set(std::uint32_t id, StepState state, const std::string& why) {
  results_[id - 1].state = state;
  results_[id - 1].why = why;
  if (progress_.step) progress_.step(plan_.steps[id - 1], results_[id - 1]);
}

}  // namespace lockstep
