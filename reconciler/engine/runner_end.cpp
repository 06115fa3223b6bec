// How a step ends: kept, once what worked before works again; or given up, and taken back where it can be.
// And cures, which are all end.
#include <algorithm>
#include <utility>

#include "reconciler/engine/runner_work.hpp"

namespace lockstep {

void Runner::keep(const Shared& work) {
  const auto kept = [this, work] {
    for (const std::string& ticket : work->tickets)
      if (const auto noted = ledger_.receipt(ticket, TicketState::kept, ""); !noted)
        results_[work->step->id - 1].notes.push_back(noted.error().text());
    if (work->held_before.empty()) return finish(work, StepState::done, "");
    work->effects_until = executor_.now() + options_.settle_time;
    work->looks = 0;
    regain(work);
  };
  if (!work->undoes_itself) return kept();
  auto answer = std::make_shared<std::optional<Result<Done>>>();
  Driver* const driver = work->attached->driver.get();
  start_job(
      work, options_.apply_timeout,
      [answer, driver, ticket = work->ticket](const Call& call) {
        *answer = driver->settle(ticket, Settlement::keep, call);
      },
      [this, work, answer, kept](Outcome outcome) {
        const bool answered = outcome == Outcome::returned && *answer;
        if (answered && (**answer || (*answer)->error().kind == ErrorKind::unsupported)) return kept();
        Error why{ErrorKind::unknown_outcome, work->step->device + ": no answer to 'keep'"};
        if (answered) why = (*answer)->error();
        // The device may take it back: look, and write again if it did.
        react(work, why, true);
      });
}

// What does not work again yet, as far as the last look tells; none: all does.
std::optional<Runner::Missing> Runner::not_regained(const Shared& work) const {
  if (work->last.error) return Missing{work->last.error->text()};
  const Tree& have = work->last.have;
  // A look that does not show what was written is older than the write: it tells nothing about what came
  // after.
  if (!work->failed_as)
    for (const auto& [path, end] : ends_of(*work->step))
      if (shows_at_once(path.row()) && !is_met(path, end, have.value(path)))
        return Missing{path.text() + " is " + have.value(path).to_string()};
  const Tree& want = fleet_[work->device].intent->want;
  std::optional<Missing> unread;
  for (const Path path : work->held_before)
    if (is_unread(work->last.unread, path)) {
      const bool as_before = work->unread_before.contains(path);
      if (!unread || !as_before) unread = Missing{path.text() + " could not be read", as_before};
    } else if (!satisfies(path.row(), want.value(path), have.value(path))) {
      return Missing{path.text() + " is " + have.value(path).to_string()};
    }
  return unread;
}

// What worked before must work again before the next thing is disturbed, whether the step succeeded or not.
void Runner::regain(const Shared& work) {
  const std::optional<Missing> missing = not_regained(work);
  if (missing && executor_.now() < work->effects_until && !stop_.stop_requested())
    return again(work, std::min(options_.poll_min * (1 << std::min(work->looks++, 8)), options_.poll_max),
                 &Runner::look_for_effects);
  if (work->failed_as) return finish(work, *work->failed_as, work->why);
  if (missing && !missing->unread_before)
    return finish(work, StepState::failed,
                  "written, but what worked before did not come back: " + missing->text);
  if (missing) results_[work->step->id - 1].notes.push_back(missing->text + ", neither before nor after");
  finish(work, StepState::done, "");
}

// The end of a step that did not succeed.
void Runner::fail(const Shared& work, StepState state, const std::string& why) {
  if (work->held_before.empty()) return finish(work, state, why);
  work->failed_as = state;
  work->why = why;
  work->effects_until = executor_.now() + options_.settle_time;
  work->looks = 0;
  look_for_effects(work);
}

// Ends a step that did not succeed: the device takes it back where it can; a guard is never left in place.
void Runner::give_up(const Shared& work, const std::string& why) {
  work->why = why;
  if (work->tickets.empty() || work->putting_back) return fail(work, StepState::failed, why);
  if (work->undoes_itself && work->step->undo_after) {
    Driver* const driver = work->attached->driver.get();
    auto answer = std::make_shared<std::optional<Result<Done>>>();
    return start_job(
        work, options_.apply_timeout,
        [answer, driver, ticket = work->ticket](const Call& call) {
          *answer = driver->settle(ticket, Settlement::undo, call);
        },
        [this, work, answer](Outcome outcome) {
          const bool undone = outcome == Outcome::returned && *answer && **answer;
          fail(work, undone ? StepState::undone : StepState::failed, work->why);
        });
  }
  put_back(work, why);
}

// Transient values (a port that is down for a change) that are still there are taken back, once.
void Runner::put_back(const Shared& work, const std::string& why) {
  ChangeSet changes;
  std::map<Path, std::pair<Value, Value>> transients;  // value it may have been left at, value it must have
  for (const PlannedChange& change : work->step->changes)
    if (change.transient)
      transients.try_emplace(change.path, change.want, ends_of(*work->step).at(change.path));
  for (const auto& [path, values] : transients)
    if (values.second && work->last.have.value(path) == values.first && values.first != values.second)
      changes.push_back({path, values.first, values.second, 0});
  if (changes.empty() || work->putting_back) return fail(work, StepState::failed, why);
  work->putting_back = true;
  results_[work->step->id - 1].notes.push_back("a guard was put back");
  write(work, std::move(changes));
}

void Runner::cure(const Shared& work) {
  if (work->attached->remedy == nullptr)
    return finish(work, StepState::failed, "the driver has no remedy '" + work->step->remedy + "'");
  Remedy* const remedy = work->attached->remedy;
  auto answer = std::make_shared<std::optional<Result<Done>>>();
  std::vector<Change> effects;
  for (const PlannedChange& change : work->step->changes)
    effects.push_back({change.path, change.was, change.want, 0});
  const auto offer = remedy->offer(effects.front());
  if (!offer) return finish(work, StepState::failed, "the driver no longer offers it");
  const auto counted =
      count_cure(ledger_, work->step->device, *offer, executor_.wall_time(), options_.choice.person);
  if (!counted) return finish(work, StepState::failed, counted.error().what);
  start_job(
      work, options_.apply_timeout,
      [answer, remedy, effects = std::move(effects)](const Call& call) {
        for (const Change& effect : effects) {
          *answer = remedy->cure(effect, call);
          if (!**answer) return;
        }
      },
      [this, work, answer](Outcome outcome) {
        ++results_[work->step->id - 1].writes;
        if (outcome == Outcome::returned && *answer && **answer) return finish(work, StepState::done, "");
        finish(work, StepState::failed,
               outcome == Outcome::returned && *answer ? (*answer)->error().text() : "no answer to the cure");
      });
}

}  // namespace lockstep
