// What an application knows about changes that are not validated yet, from earlier runs and its own.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reconciler/engine/application.hpp"
#include "reconciler/engine/met.hpp"
#include "specs/language/hostlist.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

const GateFigure* find(const GateMeasurement* measured, const std::string& subject) {
  if (measured == nullptr) return nullptr;
  const auto found = std::ranges::find(measured->figures, subject, &GateFigure::subject);
  return found == measured->figures.end() ? nullptr : &*found;
}

using Place = std::pair<std::string, Path>;  // of a device

// All values that a change set on each entry, in order: if the other end of a cable did not follow, an
// intermediate value may be in place. Rows that only save are left out: the entries that they save decide.
std::map<Place, std::vector<Value>> values_made_by(const std::vector<Step>& steps) {
  std::map<Place, Value> first;
  std::map<Place, std::vector<Value>> out;
  for (const Step& step : steps)
    for (const PlannedChange& one : step.changes) {
      if (!schema_row(one.path.row()).saves.empty()) continue;
      first.try_emplace({step.device, one.path}, one.was);
      out[{step.device, one.path}].push_back(one.want);
    }
  std::erase_if(out, [&](const auto& one) { return first.at(one.first) == one.second.back(); });
  return out;
}

// Adds figures of `others` for subjects that are missing.
void add_missing(std::vector<GateFigure>& all, const std::vector<GateFigure>& others,
                 const std::set<std::string>& only) {
  std::set<std::string> known;
  for (const GateFigure& one : all) known.insert(one.subject);
  for (const GateFigure& one : others)
    if ((only.empty() || only.contains(one.subject)) && known.insert(one.subject).second) all.push_back(one);
}

}  // namespace

// Runs before this run writes anything.
void Application::drop_what_is_gone(std::function<void()> then) {
  if (owed_.empty() || must_stop()) return then();
  effects_.observe_written(owed_, [this, then = std::move(then)](const std::vector<DeviceState>& now) {
    if (!must_stop()) forget_gone(now);
    then();
  });
}

// An earlier change whose values were replaced, manually or by a later change, can't be judged any more: if
// none of its values is left, it needs no validation; if some are, only those do. A value counts as present
// if a newer change that may be rolled back overwrote it, as that would restore it, or if it can't be read.
void Application::forget_gone(const std::vector<DeviceState>& now) {
  const auto is_there = [&](const Place& place, const std::vector<Value>& made) {
    const auto& [name, path] = place;
    const auto device = fleet_.find(name);
    if (!device || *device >= now.size() || !now[*device].reachable) return true;
    const Observation& seen = now[*device].observation;
    return is_unread(seen.unread, path) || std::ranges::any_of(made, [&, path = path](Value one) {
             return is_met(path, one, seen.have.value(path));
           });
  };
  std::set<Place> overwritten;
  std::erase_if(earlier_, [&](Written& one) {
    const std::map<Place, std::vector<Value>> wrote = values_made_by(one.steps);
    std::set<Place> gone;
    for (const auto& [place, made] : wrote)
      if (!overwritten.contains(place) && !is_there(place, made)) gone.insert(place);
    for (const auto& [place, made] : wrote)
      if (!gone.contains(place)) overwritten.insert(place);
    if (gone.empty()) return false;
    for (Step& step : one.steps)
      std::erase_if(step.changes, [&](const PlannedChange& change) {
        return gone.contains({step.device, change.path});
      });
    std::erase_if(one.steps, [](const Step& step) { return step.changes.empty(); });
    const BlastRadius rest = blast_radius(one.steps, fleet_.wiring());
    const bool by_pair = !one.subjects.empty();
    std::erase_if(one.subjects,
                  [&](const std::string& each) { return !options_.measurer->crosses(each, rest); });
    if (gone.size() < wrote.size() && (!by_pair || !one.subjects.empty())) return false;
    report_.notes.push_back(
        fmt::format("change {} is no longer there: what was still to be judged of it has another value by "
                    "now, manually or "
                    "by a later change; it is neither kept nor rolled back, and will not be validated",
                    one.change));
    note(ledger_.gate(one.change, GateState::settled));
    return true;
  });
  owed_ = steps_of_all(earlier_);
}

// Before its first write this run does not measure paths that a change not validated yet may have broken:
// they are compared with the measurement from before that change.
void Application::compare_with_earlier() {
  compared_ = before_;
  for (const Written& one : earlier_) {
    if (one.before == nullptr) continue;
    if (!compared_) compared_.emplace();
    add_missing(compared_->figures, one.before->figures, one.subjects);
    add_missing(compared_->controls, one.before->controls, {});
  }
}

// Pairs of earlier changes that no benchmark could judge; for a change that was never measured, the pairs
// that were measured before it and that it can have touched, so that there is something to compare.
std::set<std::string> Application::owed_subjects() const {
  std::set<std::string> out;
  for (const Written& one : earlier_) {
    out.insert(one.subjects.begin(), one.subjects.end());
    if (!one.subjects.empty() || one.before == nullptr) continue;
    const BlastRadius blast = blast_radius(one.steps, fleet_.wiring());
    for (const GateFigure& figure : one.before->figures)
      if (options_.measurer->crosses(figure.subject, blast)) out.insert(figure.subject);
  }
  return out;
}

// Each with its figure from before the oldest change that is not validated for it.
std::map<std::string, GateFigure> Application::owed_figures() const {
  std::map<std::string, GateFigure> out;
  for (const Written& one : earlier_)
    for (const std::string& subject : one.subjects) {
      const GateFigure* const was = find(one.before, subject);
      out.insert_or_assign(subject, was == nullptr ? GateFigure{} : *was);
    }
  return out;
}

// Steps that only restore what was there before changes that are not validated yet: what those may have
// broken is no reason to hold them.
std::set<std::uint32_t> Application::putting_back() const {
  std::map<std::pair<std::string, Path>, std::vector<Value>> found;
  for (const OwedChange& change : options_.owed) {
    std::set<std::pair<std::string, Path>> first;  // later tries found what the first one had left
    for (const LedgerTicket& ticket : change.tickets)
      for (const Change& one : ticket.changes)
        if (first.emplace(ticket.device, one.path).second)
          found[{ticket.device, one.path}].push_back(one.was);
  }
  std::set<std::uint32_t> out;
  for (const Step& step : plan_.steps) {
    const bool back =
        step.remedy.empty() && std::ranges::all_of(step.changes, [&](const PlannedChange& one) {
          const auto was = found.find({step.device, one.path});
          return one.transient || (was != found.end() && std::ranges::count(was->second, one.want) > 0);
        });
    if (back) out.insert(step.id);
  }
  return out;
}

// Holds the later waves of a plan that is not validated, except steps that roll back what an earlier run left
// so. Returns whether there are any.
bool Application::leave_unvalidated(const std::string& why) {
  not_validated_ = true;
  const BlastRadius by_owed = blast_radius(owed_, fleet_.wiring());
  const bool of_owed = std::ranges::all_of(
      unsure_, [&](const std::string& subject) { return options_.measurer->crosses(subject, by_owed); });
  const std::set<std::uint32_t> spared = of_owed ? putting_back() : std::set<std::uint32_t>{};
  const auto waits = [this](const Step& step) {
    return step.wave > wave_ && runner_->results()[step.id - 1].state == StepState::waiting;
  };
  const bool any_held = std::ranges::any_of(
      plan_.steps, [&](const Step& step) { return waits(step) && !spared.contains(step.id); });
  runner_->skip_from(wave_ + 1, StepState::held,
                     "wave " + std::to_string(wave_) + " is not validated: " + why, spared);
  if (any_held && !std::exchange(held_later_, true))
    report_.notes.emplace_back(
        "what was written stays, and the waves after it are held: look at the cause that the gate names and "
        "run the apply again, which measures once more; or `apply --no-measure` carries them out unmeasured");
  return std::ranges::any_of(plan_.steps, waits);
}

// Changes of earlier runs that were never measured.
std::vector<Step> Application::never_measured() const {
  std::vector<Written> whole = earlier_;
  std::erase_if(whole, [](const Written& one) { return !one.subjects.empty(); });
  return steps_of_all(whole);
}

// What of the change is not validated yet: subjects, or all (empty); none: it was judged, or rolled back.
std::optional<std::set<std::string>> Application::still_owed(const Written& change) const {
  for (const UndoneChange& one : report_.undone)
    if (one.change == change.change && one.hosts.empty())
      return one.whole ? std::nullopt : std::optional(std::set<std::string>{});
  const BlastRadius blast = blast_radius(change.steps, fleet_.wiring());
  std::set<std::string> rest;
  for (const std::string& subject : change.subjects) {
    const auto found = last_.find(subject);
    const bool told = found == last_.end() ? !options_.measurer->crosses(subject, blast)  // it is gone
                                           : !is_unsure(found->second.attribution);
    if (!told) rest.insert(subject);
  }
  // Devices in maintenance are not measured: a change to them alone is not validated before the maintenance
  // ends.
  if (is_all_maintained(change)) return change.subjects;
  if (!change.subjects.empty()) return rest.empty() ? std::nullopt : std::optional(std::move(rest));
  if (answered_) return std::nullopt;
  if (left_out_later_ || unsure_.contains("")) return rest;
  for (const std::string& subject : unsure_)
    if (options_.measurer->crosses(subject, blast)) rest.insert(subject);
  return rest.empty() ? std::nullopt : std::optional(std::move(rest));
}

// Marks as judged by this gate: what a later wave breaks is not due to them.
void Application::settle_earlier() {
  if (options_.measurer == nullptr) return;
  std::erase_if(earlier_, [this](const Written& one) {
    if (still_owed(one)) return false;
    note(ledger_.gate(one.change, GateState::settled));
    return true;
  });
}

bool Application::is_maintained(const std::string& name) const {
  const auto device = fleet_.find(name);
  return device && !fleet_[*device].maintenance.empty();
}

bool Application::is_all_maintained(const Written& change) const {
  return std::ranges::all_of(change.steps, [this](const Step& step) { return is_maintained(step.device); });
}

void Application::note_owed() {
  if (options_.measurer == nullptr) return;
  if (report_.change_id != 0 && (!runner_ || runner_->written().empty()))
    note(ledger_.gate(report_.change_id, GateState::settled));
  if (!runner_) return;
  for (const Written& one : changes()) {
    const std::optional<std::set<std::string>> owed = still_owed(one);
    note(owed ? ledger_.owe(one.change, *owed) : ledger_.gate(one.change, GateState::settled));
    report_.owes = report_.owes || owed;
    report_.leaves_owed = report_.leaves_owed || (owed && !is_all_maintained(one));
  }
  std::set<std::string> maintained;
  for (const Step& step : runner_->written())
    if (is_maintained(step.device)) maintained.insert(step.device);
  if (!maintained.empty())
    report_.notes.push_back("in maintenance, and not measured: " +
                            fold_hostlist({maintained.begin(), maintained.end()}));
}

}  // namespace lockstep
