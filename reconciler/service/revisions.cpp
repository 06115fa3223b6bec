#include "reconciler/service/revisions.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include "specs/model/printable.hpp"

namespace lockstep {
namespace {

using State = RevisionState;

std::string steps_text(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " step" : " steps");
}

std::string said(const char* what, const SpokenBy& by) {
  return printable(std::string(what) + " by " + by.who + (by.reason.empty() ? "" : ": " + by.reason));
}

bool has_any(const std::set<std::string>& some, const auto& of) {
  return std::ranges::any_of(some, [&of](const std::string& one) { return of.contains(one); });
}

}  // namespace

std::set<std::string> Revisions::Known::open() const {
  std::set<std::string> out = waits;
  std::erase_if(out, [this](const std::string& step) { return approved.contains(step); });
  return out;
}

void Revisions::Known::forget_unproven() {
  unproven.clear();
  is_measurable = is_open = false;
}

void Revisions::Known::drop_plan() {
  may_run.clear();
  waits.clear();
}

void Revisions::Known::become(RevisionState next, std::string reason, WallTime at) {
  if (std::exchange(state, next) != next) since = at;
  if (next != State::running) failing.clear();
  why = std::move(reason);
}

Revisions::Known* Revisions::find(const RevisionId& revision) {
  const auto found = std::ranges::find(known_, revision, &Known::id);
  return found == known_.end() ? nullptr : &*found;
}

const Revisions::Known* Revisions::find(const RevisionId& revision) const {
  const auto found = std::ranges::find(known_, revision, &Known::id);
  return found == known_.end() ? nullptr : &*found;
}

const Revisions::Known* Revisions::find_running() const {
  const auto found = std::ranges::find(known_, State::running, &Known::state);
  return found == known_.end() ? nullptr : &*found;
}

Revisions::Known* Revisions::find_running() {
  const auto found = std::ranges::find(known_, State::running, &Known::state);
  return found == known_.end() ? nullptr : &*found;
}

const Revisions::Known* Revisions::goal() const {
  const auto found = std::ranges::find_if(known_, [](const Known& one) { return !one.is_out(); });
  return found == known_.end() ? nullptr : &*found;
}

const Revisions::Known* Revisions::find_last_good() const {
  const Known* out = nullptr;
  for (const Known& one : known_)
    if (one.kept > (out != nullptr ? out->kept : 0) && !one.is_out()) out = &one;
  return out;
}

const Revisions::Refusal* Revisions::refusal_of(const std::string& step) const {
  const auto found =
      std::ranges::find_if(refusals_, [&](const Refusal& one) { return one.steps.contains(step); });
  return found == refusals_.end() ? nullptr : &*found;
}

void Revisions::forget_refusals(const std::set<std::string>& steps) {
  for (Refusal& one : refusals_)
    std::erase_if(one.steps, [&](const std::string& step) { return steps.contains(step); });
  std::erase_if(refusals_, [](const Refusal& one) { return one.steps.empty(); });
}

// What the newest revision's whole plan lacks.
void Revisions::forget_unwanted(const Known& newest) {
  std::set<std::string> unwanted;
  for (const Refusal& one : refusals_)
    if (one.intents != newest.id.intents)
      std::ranges::set_difference(one.steps, newest.waits, std::inserter(unwanted, unwanted.end()));
  forget_refusals(unwanted);
}

// "5 steps need approval: compiled to other intents by lockstep 2 than by 1; WHY it is unproven; 2 were
// refused before: WHY".
std::string Revisions::why_waiting(const Known& one) const {
  const std::set<std::string> open = one.open();
  std::size_t refused_before = 0;
  std::string why_refused;
  for (const std::string& step : open) {
    const Refusal* const refusal = refusal_of(step);
    if (refusal == nullptr) continue;
    if (refused_before++ == 0) why_refused = refusal->why;
  }
  std::string out = steps_text(open.size()) + (open.size() == 1 ? " needs" : " need") + " approval";
  const char* before = ": ";
  const auto add = [&](const std::string& reason) { out += std::exchange(before, "; ") + reason; };
  if (one.former) add("compiled to other intents by lockstep " + one.version + " than by " + *one.former);
  if (!one.unproven.empty()) add(one.unproven);
  if (refused_before > 0)
    add(std::to_string(refused_before) + (refused_before == 1 ? " was" : " were") +
        " refused before: " + why_refused);
  return printable(out);
}

Revisions::Shown Revisions::shown_of(const Known& one) const {
  Shown out{one.id, one.state, one.why, one.since, one.open()};
  out.unproven = one.unproven;
  if (!out.waits.empty()) out.why_waits = why_waiting(one);
  return out;
}

// After every event: makes the goal pending where it has to be gone for, and all others superseded.
void Revisions::settle(WallTime at) {
  const Known* const goal_now = goal();
  for (Known& one : known_) {
    if (&one == goal_now) {
      const bool left = one.state == State::kept && reached_ != one.id;
      if (one.state == State::superseded || left)
        one.become(State::pending, &one == &known_.front() ? "" : "newer revisions were refused or rejected",
                   at);
    } else if (one.state == State::pending || one.state == State::waiting) {
      one.become(State::superseded, "superseded by " + goal_now->id.source, at);
    }
    if (one.state == State::superseded) one.drop_plan();
  }
  drop_old();
}

void Revisions::drop_old() {
  while (known_.size() > kShownMax) {
    const bool out = std::ranges::count_if(known_, &Known::is_out) > std::ssize(known_) / 2;
    const std::set<const Known*> needed{goal(), find_running(), find_last_good()};
    const auto drop = std::find_if(known_.rbegin(), known_.rend(), [&](const Known& one) {
      return one.is_out() == out && !needed.contains(&one);
    });
    known_.erase(std::next(drop).base());
  }
}

// What is known of it, or of the last other intents of its source: `version` is empty if nothing is.
Revisions::Lost Revisions::last_of(const RevisionId& revision) const {
  const auto of_source = [&](const auto& one) { return one.id.source == revision.source; };
  if (const auto known = std::ranges::find_if(known_, of_source); known != known_.end())
    return {known->id, known->version, known->former};
  const auto lost = std::ranges::find_if(lost_, of_source);
  return lost == lost_.end() ? Lost{} : *lost;
}

// Of the newest one so far: another commit of the same intents is as unproven, and what can be measured is so
// before one of others writes more. One that goes back to what is known to be good waits for nothing.
void Revisions::inherit_unproven(Known& next) const {
  if (known_.empty()) return;
  const Known& newest = known_.front();
  const Known* const good = find_last_good();
  if (newest.is_out() || (good != nullptr && good->id.intents == next.id.intents)) return;
  const bool is_same = newest.id.intents == next.id.intents;
  if (!is_same && !newest.is_measurable) return;
  next.unproven = newest.unproven;
  next.is_measurable = newest.is_measurable;
  next.is_open = is_same && newest.is_open;
}

void Revisions::valid(const RevisionId& revision, const std::string& version, WallTime at) {
  bad_.reset();
  const Lost last = last_of(revision);
  std::optional<std::string> former;
  if (last.id != revision && !last.version.empty() && last.version != version) former = last.version;
  const auto found = std::ranges::find(known_, revision, &Known::id);
  if (found == known_.end()) {
    Known one;
    one.id = revision;
    one.since = at;
    if (last.id == revision) one.former = last.former;
    inherit_unproven(one);
    known_.insert(known_.begin(), std::move(one));
  } else {
    std::rotate(known_.begin(), found, std::next(found));
  }
  Known& newest = known_.front();
  newest.version = version;
  if (former && reached_ != revision) newest.former = std::move(former);
  std::erase_if(lost_, [&](const Lost& one) { return one.id.source == revision.source; });
  settle(at);
}

void Revisions::invalid(const std::string& source, const std::string& why, WallTime at) {
  const bool is_known = bad_ && bad_->source == source;
  bad_ = Invalid{source, printable(why), is_known ? bad_->since : at};
}

std::optional<RevisionId> Revisions::next() const {
  const Known* const to = goal();
  if (to == nullptr || to->state != State::pending || find_running() != nullptr) return std::nullopt;
  return to->id;
}

std::optional<RevisionId> Revisions::waiting() const {
  const Known* const to = goal();
  if (to == nullptr || to->state != State::waiting || find_running() != nullptr) return std::nullopt;
  return to->id;
}

std::set<std::string> Revisions::planned(const RevisionId& revision, const PlannedSteps& plan, WallTime at) {
  Known* const one = find(revision);
  if (one == nullptr || (one != goal() && one->state != State::running)) return {};
  one->may_run.clear();
  one->waits.clear();
  one->whole = plan.whole;
  if (one->is_measurable && !one->is_open && !plan.to_judge) one->forget_unproven();
  for (const std::string& step : plan.steps) {
    const bool needs =
        one->former || !one->unproven.empty() || plan.held.contains(step) || refusal_of(step) != nullptr;
    if (needs && !one->approved.contains(step))
      one->waits.insert(step);
    else
      one->may_run.insert(step);
  }
  if (one->state == State::running) return one->may_run;
  const bool measures = plan.to_judge && !one->unproven.empty();
  if (!one->waits.empty() && one->may_run.empty() && !measures)
    one->become(State::waiting, why_waiting(*one), at);
  else if (one->state == State::waiting)
    one->become(State::pending, "", at);
  return one->may_run;
}

void Revisions::began(const RevisionId& revision, WallTime at) {
  assert(next() == revision);
  if (next() != revision) return;
  find(revision)->become(State::running, "", at);
  reached_.reset();
}

bool Revisions::goes_on(WallTime at) {
  Known* const run = find_running();
  assert(run != nullptr);
  if (run == nullptr) return false;
  const Known& newer = *goal();
  const bool newer_waits = newer.state == State::waiting || (newer.former && newer.approved.empty());
  if (&newer == run || newer_waits || superseded_ >= kSupersededMax) return true;
  ++superseded_;
  run->become(State::superseded, "superseded by " + newer.id.source, at);
  settle(at);
  return false;
}

void Revisions::kept(WallTime at, const std::string& but) {
  Known* const run = find_running();
  assert(run != nullptr);
  if (run == nullptr) return;
  const Known* const last = find_last_good();
  run->kept = (last != nullptr ? last->kept : 0) + 1;
  reached_ = run->id;
  superseded_ = 0;
  forget_refusals(run->may_run);  // as they were approved, and a gate has passed with them
  if (run->whole && run == &known_.front()) forget_unwanted(*run);
  run->may_run.clear();
  run->forget_unproven();
  if (has_any(run->waits, run->approved)) {
    run->become(State::pending, "approved during the last run", at);
  } else if (!run->waits.empty()) {
    run->become(State::waiting, why_waiting(*run), at);
  } else {
    run->become(State::kept, printable(but), at);
    if (run->whole) run->former.reset();
  }
  settle(at);
}

void Revisions::refused(const std::set<std::string>& steps, const std::string& why, WallTime at) {
  Known* const run = find_running();
  assert(run != nullptr);
  if (run == nullptr) return;
  refused_in_part(steps, why);
  run->may_run.clear();
  run->forget_unproven();
  run->kept = 0;
  superseded_ = 0;
  run->become(State::refused, printable(why), at);
  settle(at);
}

void Revisions::refused_in_part(const std::set<std::string>& steps, const std::string& why) {
  Known* const run = find_running();
  assert(run != nullptr);
  if (run == nullptr) return;
  forget_refusals(steps);  // the newest reason is shown
  if (!steps.empty()) refusals_.push_back({steps, printable(why), run->id.intents});
  const auto is_refused = [&](const std::string& step) { return steps.contains(step); };
  for (Known& one : known_)
    std::erase_if(one.approved, [&](const auto& step) { return is_refused(step.first); });
  std::erase_if(run->may_run, is_refused);
  run->waits.insert(steps.begin(), steps.end());
}

void Revisions::not_validated(const std::string& why, bool measurable, WallTime at) {
  Known* const run = find_running();
  assert(run != nullptr);
  if (run == nullptr) return;
  run->unproven = printable(why);
  (measurable ? run->is_measurable : run->is_open) = true;
  run->become(State::pending, run->unproven, at);
  settle(at);
}

bool Revisions::validated(WallTime at) {
  Known* const run = find_running();
  assert(run != nullptr);
  if (run == nullptr || run->unproven.empty() || run->open().empty()) return false;
  run->is_measurable = false;
  if (!run->is_open) run->forget_unproven();
  run->drop_plan();
  run->become(State::pending, "", at);
  settle(at);
  return true;
}

void Revisions::failed(const std::string& why, WallTime at) {
  Known* const run = find_running();
  assert(run != nullptr);
  if (run == nullptr) return;
  run->become(State::pending, printable(why), at);
  settle(at);
}

void Revisions::gate_failed(const std::string& why) {
  Known* const run = find_running();
  assert(run != nullptr);
  if (run != nullptr) run->failing = printable(why);
}

void Revisions::interrupted(const std::string& why, WallTime at) {
  Known* const run = find_running();
  if (run == nullptr) return;
  if (!run->failing.empty()) {
    run->unproven = "its gate failed: " + run->failing;
    run->is_open = true;
  }
  failed(why, at);
}

bool Revisions::drifted(const RevisionId& revision, const std::string& why, WallTime at) {
  Known* const one = find(revision);
  if (one == nullptr || one != goal() || one->state != State::kept) return false;
  one->become(State::pending, printable(why), at);
  return true;
}

void Revisions::lost(const RevisionId& revision, WallTime at) {
  const auto found = std::ranges::find(known_, revision, &Known::id);
  if (found == known_.end() || &*found == find_last_good() || found->state == State::running) return;
  lost_.insert(lost_.begin(), Lost{found->id, found->version, found->former});
  if (lost_.size() > kShownMax) lost_.pop_back();
  known_.erase(found);
  settle(at);
}

Result<Revisions::Known*> Revisions::find_open(const RevisionId& revision) {
  const auto conflict = [&](const std::string& what) {
    return Error{ErrorKind::conflict, printable("revision " + revision.source + ": " + what)};
  };
  Known* const one = find(revision);
  if (one == nullptr) return conflict("unknown; list the revisions again");
  if (one->state == State::rejected) return conflict(one->why);
  if (const Known* const to = goal(); to != nullptr && one > to)
    return conflict("superseded by " + to->id.source + ", whose plan shows what needs approval now");
  if (one->open().empty()) return conflict("nothing in it waits for an approval");
  return one;
}

Result<Done> Revisions::approve(const StepApproval& approval) {
  TRY(Known* const one, find_open(approval.revision));
  const std::set<std::string> open = one->open();
  if (!has_any(approval.steps, open))
    return Error{
        ErrorKind::conflict,
        printable("revision " + approval.revision.source +
                  ": none of these steps waits for an approval; its plan has changed, review it again")};
  for (const std::string& step : approval.steps)
    if (open.contains(step)) one->approved.insert_or_assign(step, printable(approval.by.who));
  if (one->state != State::running)
    one->become(State::pending, said("approved", approval.by), approval.by.at);
  settle(approval.by.at);
  return Done{};
}

Result<Done> Revisions::reject(const RevisionId& revision, const SpokenBy& by) {
  TRY(Known* const one, find_open(revision));
  if (one->state == State::running)
    return Error{ErrorKind::conflict, printable("revision " + revision.source +
                                                ": running; it can be rejected once its run has ended")};
  one->approved.clear();
  one->drop_plan();
  one->become(State::rejected, said("rejected", by), by.at);
  settle(by.at);
  return Done{};
}

std::optional<RevisionId> Revisions::newest() const {
  return known_.empty() ? std::nullopt : std::optional(known_.front().id);
}

std::optional<Revisions::Shown> Revisions::shown(const RevisionId& revision) const {
  const Known* const one = find(revision);
  return one == nullptr ? std::nullopt : std::optional(shown_of(*one));
}

std::vector<Revisions::Shown> Revisions::shown() const {
  std::vector<Shown> out;
  for (const Known& one : known_) out.push_back(shown_of(one));
  return out;
}

std::optional<RevisionId> Revisions::last_good() const {
  const Known* const one = find_last_good();
  return one == nullptr ? std::nullopt : std::optional(one->id);
}

std::optional<Revisions::Shown> Revisions::running() const {
  const Known* const one = find_running();
  return one == nullptr ? std::nullopt : std::optional(shown_of(*one));
}

std::set<std::string> Revisions::approved_steps(const RevisionId& revision) const {
  std::set<std::string> out;
  if (const Known* const one = find(revision); one != nullptr)
    for (const auto& [step, who] : one->approved) out.insert(step);
  return out;
}

std::string Revisions::approved_by(const RevisionId& revision, const std::set<std::string>& steps) const {
  const Known* const one = find(revision);
  if (one == nullptr) return "";
  std::set<std::string> all;
  for (const auto& [step, who] : one->approved)
    if (steps.contains(step) && !who.empty()) all.insert(who);
  std::string out;
  for (const std::string& who : all) out += (out.empty() ? "" : ", ") + who;
  return out;
}

}  // namespace lockstep
