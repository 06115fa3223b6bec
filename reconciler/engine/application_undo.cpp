// How an application rolls back its own changes or an earlier run's, and what follows.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "reconciler/engine/application.hpp"
#include "reconciler/engine/digest.hpp"
#include "reconciler/engine/link_ends.hpp"
#include "reconciler/engine/met.hpp"
#include "reconciler/engine/new_ends.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {
namespace {

bool write_the_same(const std::vector<Step>& some, const std::vector<Step>& others) {
  std::set<std::pair<std::string, Path>> entries;
  for (const Step& step : some)
    for (const PlannedChange& change : step.changes) entries.emplace(step.device, change.path);
  return std::any_of(others.begin(), others.end(), [&](const Step& step) {
    return std::any_of(step.changes.begin(), step.changes.end(), [&](const PlannedChange& change) {
      return entries.contains({step.device, change.path});
    });
  });
}

}  // namespace

Application::Reverse::Reverse() = default;

void Application::reverse(std::vector<Step> steps, const std::vector<DeviceState>& now,
                          const std::string& reason, std::function<void()> done) {
  reverse_.emplace();
  for (const DeviceState& one : now) reverse_->boots.emplace(one.device, one.observation.boot_id);
  Plan forward;
  forward.steps = std::move(steps);
  const UndoInput back = undo_of(forward, fleet_, now, options_.policy_for);
  for (const NotPutBack& one : back.left_out) report_.notes.push_back(one.why);
  reverse_->left_out = back.left_out;
  Result<Plan> planned = make_plan(back.input);
  if (!planned) {
    report_.notes.push_back("the reverse can't be planned: " + planned.error().text());
    for (const Step& step : forward.steps)
      for (const PlannedChange& one : step.changes)
        reverse_->left_out.push_back({step.device, one.path, report_.notes.back()});
    return done();
  }
  reverse_->plan = *std::move(planned);
  // Held only by holds that protect the path to the device, and by the device's own policy.
  for (Step& step : reverse_->plan.steps)
    std::erase_if(step.holds, [](const Hold& hold) {
      return hold.kind != Hold::Kind::management && hold.kind != Hold::Kind::host_policy;
    });
  const auto begun = ledger_.begin(reverse_->plan, options_.author, reason);
  if (!begun) {
    report_.notes.push_back(begun.error().text());
    return done();
  }
  reverse_->change = *begun;
  reverse_->done = std::move(done);
  RunContext context{fleet_, executor_, ledger_, options_, {}, reverse_->change};
  context.undoes = true;
  context.comes_back = comes_back_after(forward.steps);
  reverse_->runner.emplace(std::move(context), reverse_->plan, progress_);
  reverse_wave(1);
}

// Whether an effect that is there before steps are rolled back comes back.
std::function<ComesBack(const std::string& device, Path effect)> Application::comes_back_after(
    const std::vector<Step>& undone) const {
  return [this, goes = effects_.goes_with(undone)](const std::string& device, Path effect) {
    if (effects_.held(*fleet_.find(device), effect)) return ComesBack::must;
    return goes(device, effect) ? ComesBack::no : ComesBack::may;
  };
}

void Application::reverse_wave(std::uint32_t wave) {
  if (wave <= reverse_->plan.waves())
    return reverse_->runner->run_wave(wave, [this, wave] { reverse_wave(wave + 1); });
  reverse_->steps = reverse_->runner->results();
  reverse_->whole =
      reverse_->left_out.empty() && std::ranges::all_of(reverse_->steps, is_good, &StepResult::state);
  reverse_->done();
}

// Restores both ends of a cable of which one end was not changed; a stop does not cut that short. What worked
// before must work again before anything more is disturbed.
void Application::even_out(std::function<void()> then) {
  std::vector<Step> short_of = half_done(plan_, runner_->results(), fleet_);
  const std::vector<Step> wrote = runner_->written();
  if (short_of.empty() || wrote.empty() || is_over()) return then();
  effects_.hold_out();
  const auto over = [this, then = std::move(then)] {
    effects_.let_go();
    if (must_stop()) effects_.stop();
    then();
  };
  settle(wrote, {}, false, [this, wrote, short_of = std::move(short_of), over] {
    effects_.observe_written(
        joined(wrote, short_of),
        [this, short_of, over](const std::vector<DeviceState>& now) { even_out_ends(short_of, now, over); });
  });
}

void Application::even_out_ends(const std::vector<Step>& short_of, const std::vector<DeviceState>& now,
                                const std::function<void()>& then) {
  const UnevenEnds uneven = uneven_ends(plan_, short_of, runner_->written(), fleet_, now);
  if (!uneven.take_back.empty() && !report_.effects.empty()) {
    report_.notes.push_back(
        "not yet: " + report_.effects.front().device + " does not do again what it did before (" +
        report_.effects.front().change.path.text() + "); a cable is left with ends that differ");
    return then();
  }
  report_.notes.insert(report_.notes.end(), uneven.unread.begin(), uneven.unread.end());
  if (uneven.take_back.empty()) return then();
  enter(Phase::even_out);
  reverse(uneven.take_back, now, "both ends of a cable alike: of change " + std::to_string(report_.change_id),
          [this, then, uneven] {
            look_again(report_.change_id, [this, then, uneven](bool is_there) {
              evened_out(uneven, reverse_->whole && is_there);
              then();
            });
          });
}

void Application::evened_out(const UnevenEnds& uneven, bool whole) {
  if (whole)
    report_.notes.insert(report_.notes.end(), uneven.taken_back.begin(), uneven.taken_back.end());
  else
    report_.notes.push_back(
        "a cable may be left with ends that differ" +
        ports_not_back(uneven.take_back, reverse_->plan, reverse_->steps, reverse_->left_out));
  if (reverse_->change != 0) end_change(reverse_->change, reverse_->steps, whole ? "undone" : "undo failed");
}

// Rolls back the changes that may have broken it, newest first. `then(true)`: all of them are as before.
void Application::undo(std::vector<Step> not_done, std::function<void(bool)> then) {
  enter(Phase::undo);
  effects_.hold_out();
  report_.verdict = ApplyVerdict::undo_failed;
  undoing_->not_done = std::move(not_done);
  undoing_->then = std::move(then);
  undo_next();
}

// Of some subjects, those that this change's writes may have broken. The action of a remedy can't be rolled
// back.
std::set<std::string> Application::blamed_on(const Written& change, std::set<std::string> subjects) const {
  const BlastRadius blast = blast_radius(change.steps, fleet_.wiring());
  const auto crosses = [&](const std::string& subject) {
    return subject.empty() || options_.measurer->crosses(subject, blast);
  };
  std::erase_if(subjects, [&](const std::string& subject) {
    if (change.of_this_run) return !by_this_run_.contains(subject) || !crosses(subject);
    const auto was = states_before_.find(subject);  // with this change in place
    if (change.subjects.empty()) return was != states_before_.end() || !crosses(subject);
    return !change.subjects.contains(subject) ||
           (was != states_before_.end() && was->second == SloState::holds);
  });
  return subjects;
}

// A suspect, or a change on top of what an older suspect wrote.
bool Application::is_to_be_undone(std::size_t place) const {
  const std::vector<Written>& left = undoing_->left;
  const auto is_suspect = [this](const Written& one) { return !blamed_on(one, undoing_->broken).empty(); };
  if (is_suspect(left[place])) return true;
  return std::any_of(left.begin() + static_cast<std::ptrdiff_t>(place) + 1, left.end(),
                     [&](const Written& older) {
                       return write_the_same(left[place].steps, older.steps) && is_suspect(older);
                     });
}

// The new hosts of a change, if everything that it broke ends there; none: all of it is to be rolled back.
std::set<std::string> Application::new_hosts_to_blame(const Written& change) const {
  const std::set<std::string> blamed = blamed_on(change, undoing_->broken);
  const bool all_new = std::ranges::all_of(blamed, [this](const std::string& subject) {
    const auto found = last_.find(subject);
    return found != last_.end() && found->second.attribution == Attribution::new_broken;
  });
  if (!all_new) return {};
  return hosts_to_blame(blamed, last_, new_ends(change.steps, fleet_), *options_.measurer);
}

// The next part to roll back: a change, or its steps on new hosts together with what must be alike at the
// other ends of their cables.
Application::Written Application::take_from(std::size_t place) {
  Written& change = undoing_->left[place];
  const std::set<std::string> hosts = new_hosts_to_blame(change);
  const auto is_there = [&hosts](const Step& step) { return hosts.contains(step.device); };
  Written out = change;
  if (hosts.empty() || std::ranges::all_of(change.steps, is_there)) {
    undoing_->left.erase(undoing_->left.begin() + static_cast<std::ptrdiff_t>(place));
    return out;
  }
  out.hosts = hosts;
  std::erase_if(out.steps, std::not_fn(is_there));
  std::erase_if(change.steps, is_there);
  for (Step& step : other_ends_of(out.steps, change.steps, fleet_.wiring()))
    out.steps.push_back(std::move(step));
  return out;
}

void Application::undo_next() {
  std::vector<Written>& left = undoing_->left;
  std::size_t place = 0;
  while (place < left.size() && !is_to_be_undone(place)) ++place;
  if (place == left.size() || is_over()) return undo_over();
  undoing_->now = take_from(place);
  if (!undoing_->now.of_this_run) effects_.forget_what_goes_with(undoing_->now.steps);
  effects_.observe_written(undoing_->now.steps, [this](const std::vector<DeviceState>& now) {
    reverse(undoing_->now.steps, now, "rollback of change " + std::to_string(undoing_->now.change),
            [this] { undone(); });
  });
}

void Application::undone() {
  UndoneChange& one = report_.undone.emplace_back();
  one.change = undoing_->now.change;
  one.plan = reverse_->plan;
  one.steps = reverse_->steps;
  one.hosts = undoing_->now.hosts;
  if (reverse_->change == 0) return undo_over();
  settle(undoing_->now.steps, {}, false, [this] {
    look_again(undoing_->now.change, [this](bool is_there) {
      undone_as_far_as(is_there && reverse_->whole && report_.effects.empty());
    });
  });
}

// A device that restarts during a rollback loses what was put back before, and another writer may change it:
// everything put back so far is read once more. `then`: whether that of this change is in place.
void Application::look_again(std::uint64_t change, std::function<void(bool is_there)> then) {
  for (const Step& step : reverse_->plan.steps) {
    if (step.id > reverse_->steps.size() || !is_good(reverse_->steps[step.id - 1].state)) continue;
    for (const PlannedChange& one : step.changes) {
      if (!shows_at_once(one.path.row())) continue;
      const auto [at, is_new] = put_back_.try_emplace({step.device, one.path}, PutBack{.was = one.was});
      if (at->second.change != change) at->second = {.change = change, .was = one.was};
      at->second.value = one.want;
      at->second.boot_id = reverse_->boots[step.device];
    }
  }
  std::vector<Step> steps;
  for (const auto& [place, one] : put_back_) {
    if (steps.empty() || steps.back().device != place.first) steps.emplace_back().device = place.first;
    if (one.was != one.value)  // otherwise a guard, which was set and removed
      steps.back().changes.push_back({place.second, one.was, one.value, 0, false});
  }
  if (steps.empty()) return then(true);
  effects_.observe_written(steps,
                           [this, change, then = std::move(then)](const std::vector<DeviceState>& now) {
                             note_lost(now);
                             then(std::ranges::none_of(put_back_, [change](const auto& one) {
                               return one.second.change == change && one.second.is_lost;
                             }));
                           });
}

void Application::note_lost(const std::vector<DeviceState>& now) {
  std::map<std::pair<std::uint64_t, std::string>, std::vector<std::string>> lost;
  std::map<std::pair<std::uint64_t, std::string>, std::vector<std::string>> unread;
  std::set<std::string> restarted;
  for (auto& [place, one] : put_back_) {
    const auto& [name, path] = place;
    const DeviceState& device = now[*fleet_.find(name)];
    const Observation& seen = device.observation;
    const bool is_seen = device.reachable && !is_unread(seen.unread, path);
    if (one.is_lost || (is_seen && is_met(path, one.value, seen.have.value(path)))) continue;
    one.is_lost = true;
    (is_seen ? lost : unread)[{one.change, name}].push_back(path.text());
    if (!one.boot_id.empty() && !seen.boot_id.empty() && one.boot_id != seen.boot_id) restarted.insert(name);
    for (UndoneChange& undone : report_.undone)
      if (undone.change == one.change) undone.whole = false;
  }
  for (const auto& [of, entries] : lost)
    report_.notes.push_back(fmt::format(
        "{}: what was put back of change {} is not there any more: {}{}", of.second, of.first,
        fmt::join(entries, ", "), restarted.contains(of.second) ? "; the device has started again" : ""));
  for (const auto& [of, entries] : unread)
    report_.notes.push_back(
        fmt::format("{}: whether what was put back of change {} is still there could not be read: {}",
                    of.second, of.first, fmt::join(entries, ", ")));
}

void Application::undone_as_far_as(bool whole) {
  report_.undone.back().whole = whole;
  measure_again([this](std::set<std::string> broken) {
    const UndoneChange& last = report_.undone.back();
    end_change(reverse_->change, reverse_->steps,
               std::string(to_string(last.whole ? ApplyVerdict::undone : ApplyVerdict::undo_failed)));
    refuse(last);
    for (const Step& step : undoing_->now.steps)
      if (last.whole && last.hosts.contains(step.device) && undoing_->now.of_this_run)
        runner_->judge(step.id, StepState::undone, "pairs that are new with it are broken");
    undoing_->broken = std::move(broken);
    return last.whole ? undo_next() : undo_over();
  });
}

void Application::undo_over() {
  const bool whole = !is_over() && std::all_of(report_.undone.begin(), report_.undone.end(),
                                               [](const UndoneChange& one) { return one.whole; });
  const bool in_part = !report_.undone.empty() && !report_.undone.back().hosts.empty();
  report_.verdict = !whole    ? ApplyVerdict::undo_failed
                    : in_part ? ApplyVerdict::undone_in_part
                              : ApplyVerdict::undone;
  const bool stays = in_part || std::ranges::find(report_.undone, report_.change_id, &UndoneChange::change) ==
                                    report_.undone.end();
  report_.fell_short = stays && wave_failed_;
  const auto then = std::move(undoing_->then);
  then(whole);
}

// Values that were rolled back are not written again without approval; those of a guilty change not on
// devices that it had not reached either, unless only new hosts were rolled back. Route locks are temporary
// and are not refused: the write that removes one must stay possible.
void Application::refuse(const UndoneChange& undone) {
  if (!undone.guilt) return;
  std::set<std::string> digests;
  std::set<std::string> writes;  // without the device
  for (const Step& step : undoing_->now.steps)
    for (const auto& [path, want] : net_writes(step.changes)) {
      if (path.row() == schema_columns().mtu_rows().lock) continue;
      digests.insert(write_digest(step.device, path, want));
      writes.insert(write_digest("", path, want));
    }
  if (*undone.guilt == Guilt::guilty && undone.change == report_.change_id && undone.hosts.empty())
    for (const Step& step : plan_.steps)
      for (const auto& [path, want] : net_writes(step.changes))
        if (step.remedy.empty() && writes.contains(write_digest("", path, want)))
          digests.insert(write_digest(step.device, path, want));
  std::vector<RefusedWrite> all;
  for (const std::string& digest : digests)
    all.push_back({.digest = digest,
                   .change = undone.change,
                   .why = std::string(to_string(*undone.guilt)) + ": " + report_.gate->why,
                   .cleared = *undone.guilt == Guilt::exonerated});
  note(ledger_.refuse(all));
}

// A refused value that is now kept with approval is no longer refused.
void Application::accept_kept() {
  if (!answered_ || report_.verdict != ApplyVerdict::kept) return;
  const Result<std::vector<RefusedWrite>> refused = ledger_.refused();
  if (!refused) return note(refused.error());
  if (refused->empty()) return;
  std::vector<std::string> kept;
  for (const Step& step : runner_->written())
    for (std::string& digest : write_digests(step.device, step.changes)) kept.push_back(std::move(digest));
  note(ledger_.accept(kept));
}

}  // namespace lockstep
