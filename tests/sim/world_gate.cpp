// The benchmarks of a World (which paths were judged since they were last touched), the consequences of a
// rollback, and its windows.
#include <algorithm>
#include <cstdio>

#include "reconciler/engine/windows.hpp"
#include "world.hpp"

namespace lockstep::simulation {

void World::build_paths() {
  std::map<std::string, std::map<std::string, std::uint32_t>> up;  // leaf switch, spine switch: the cable
  for (std::uint32_t cable = 0; cable < wiring_.cables.size(); ++cable) {
    const Cable& one = wiring_.cables[cable];
    if (places_.at(one.a.device).role == DeviceRole::leaf)
      up[one.a.device][one.b.device] = cable;
    else
      paths_.push_back({"", {one.a.device, one.b.device}, {cable}, {}});
  }
  for (auto from = up.begin(); from != up.end(); ++from)
    for (auto to = std::next(from); to != up.end(); ++to)
      for (const auto& [spine, cable] : from->second)
        paths_.push_back({"", {from->first, spine, to->first}, {cable, to->second.at(spine)}, {}});
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    std::string& subject = paths_[i].subject;
    for (const std::string& device : paths_[i].devices) subject += (subject.empty() ? "" : " - ") + device;
    path_of_.emplace(subject, i);
  }
}

// Healings are not measured.
void World::touch_paths(const std::string& device, const ChangeSet& changes, std::uint64_t change) {
  if (changes_.at(change).healing) return;
  Step step;
  step.device = device;
  for (const Change& one : changes) step.changes.push_back({one.path, one.was, one.want, 0, false});
  const BlastRadius blast = blast_radius({step}, wiring_);
  for (FlowPath& path : paths_)
    if (blast.touches_path(path.devices, path.cables)) path.unjudged.insert(change);
}

// Entries that have changed since, by another writer or a later change, can no longer be judged.
void World::forget_what_is_gone() {
  std::map<std::uint64_t, BlastRadius> left;
  const auto left_of = [&](std::uint64_t change) -> const BlastRadius& {
    const auto [place, is_new] = left.try_emplace(change);
    if (!is_new) return place->second;
    // the value before, and the value written last
    std::map<std::pair<std::string, Path>, std::pair<Value, Value>> wrote;
    for (const auto& [device, writes] : journal_.writes_of(change))
      for (const Change& one : writes)
        wrote.try_emplace({device, one.path}, one.was, one.want).first->second.second = one.want;
    std::vector<Step> steps;
    for (const auto& [entry, values] : wrote) {
      const auto& [was, want] = values;
      if (was == want) continue;  // a lock of routes that was set and removed
      if (places_.at(entry.first).device->truth().value(entry.second) != want) continue;
      steps.emplace_back().device = entry.first;
      steps.back().changes.push_back({entry.second, {}, want, 0, false});
    }
    return place->second = blast_radius(steps, wiring_);
  };
  for (FlowPath& path : paths_)
    std::erase_if(path.unjudged, [&](std::uint64_t change) {
      // The writes of a rollback count as rolled back with its change, even where the rollback failed
      // elsewhere.
      const std::uint64_t of = changes_.at(change).undoes.value_or(change);
      return !left_of(of).touches_path(path.devices, path.cables);
    });
}

// A change removed by another writer is gone, even when a healing restores it.
void World::forget_what_is_gone(const Place& moved) {
  if (std::ranges::any_of(paths_, [&moved](const FlowPath& path) {
        return !path.unjudged.empty() && std::ranges::find(path.devices, moved.name) != path.devices.end();
      }))
    forget_what_is_gone();
}

GateFigure World::figure_of(const FlowPath& path) const {
  GateFigure out;
  out.subject = path.subject;
  double figure = is_broken(path) ? 0.5 : 1;
  if (now() < full_until_) figure *= 0.4;
  if (is_blocked(path)) figure = 0;
  out.state = figure < 1 ? SloState::broken : SloState::holds;
  out.figure = figure;
  return out;
}

bool World::crosses(const std::string& subject, const BlastRadius& changed) const {
  const auto found = path_of_.find(subject);
  if (found == path_of_.end()) return subject.empty();
  return changed.touches_path(paths_[found->second].devices, paths_[found->second].cables);
}

Result<GateMeasurement> World::measure(const GateQuestion& question, const Call&) {
  record("measure");
  check_question(question);
  may_be_killed(kill_chance_ > 0 ? 0.2 : 0);
  if (outage_chance_ > 0 && random_.chance(0.2)) {
    break_something();
    ++result_.counts.out_measured;
  }
  if (outage_chance_ > 0 && random_.chance(0.1)) come_back(Time::max());
  GateMeasurement out;
  for (FlowPath& path : paths_) {
    GateFigure figure = figure_of(path);
    if ((!question.affected.touches_path(path.devices, path.cables) &&
         !question.also.contains(figure.subject)) ||
        question.pending.touches_path(path.devices, path.cables))
      continue;
    if (!question.only.empty() && !question.only.contains(figure.subject)) continue;
    judge_path(path, question, figure.state == SloState::broken);
    out.figures.push_back(std::move(figure));
  }
  out.selected = out.measured = out.figures.size();
  if (question.when != GateQuestion::When::after)
    for (const FlowPath& path : paths_)
      if (out.controls.size() < kControls && !question.whole.touches_path(path.devices, path.cables))
        out.controls.push_back(figure_of(path));
  note_round(question, out);
  record("measured " + std::to_string(out.measured));
  return out;
}

void World::judge_path(FlowPath& path, const GateQuestion& question, bool broken) {
  if (question.when == GateQuestion::When::before) return;
  if (question.when == GateQuestion::When::after) path.doubted.clear();
  if (broken) path.doubted.insert(path.unjudged.begin(), path.unjudged.end());
  path.unjudged.clear();
}

// For each round, records whether it is a reason to roll back: a path got worse than before and the controls
// did not. Where the controls fell, the verdict is unknown and still pending.
void World::note_round(const GateQuestion& question, const GateMeasurement& measured) {
  constexpr double kAsBefore = 0.95;
  using When = GateQuestion::When;
  if (options_.steps)
    for (const auto* figures : {&measured.figures, &measured.controls})
      for (const GateFigure& one : *figures)
        if (*one.figure < 1)
          std::printf("  %s%s: %.2f\n", figures == &measured.controls ? "control " : "", one.subject.c_str(),
                      *one.figure);
  Rounds& all = rounds_;
  if (question.when == When::after || question.when == When::again)
    all.of_undo = question.when == When::again;
  for (const GateFigure& one : measured.figures)
    all.hidden = all.hidden || now() < full_until_ || is_blocked(paths_[path_of_.at(one.subject)]);
  if (question.when == When::before) {
    for (const GateFigure& one : measured.figures) all.before[one.subject] = *one.figure;
    for (const GateFigure& one : measured.controls) all.controls[one.subject] = *one.figure;
  }
  if (question.when == When::before || question.when == When::again || all.of_undo) return;
  std::set<std::string> worse;
  for (const GateFigure& one : measured.figures) {
    const auto before = all.before.find(one.subject);
    const bool as_before =
        before != all.before.end() && before->second < 1 && *one.figure >= before->second * kAsBefore;
    if (one.state == SloState::broken) all.broken.insert(one.subject);
    if (one.state == SloState::broken && !as_before) worse.insert(one.subject);
  }
  if (question.when == When::after) {
    all.worse = std::move(worse);
    return;
  }
  std::size_t told = 0;
  std::size_t fell = 0;
  for (const GateFigure& one : measured.controls)
    if (const auto before = all.controls.find(one.subject); before != all.controls.end()) {
      ++told;
      fell += *one.figure < before->second * kAsBefore ? 1 : 0;
    }
  all.controls_fell = told > 0 && 2 * fell >= told;
  result_.counts.all_fell += all.controls_fell ? 1 : 0;
  std::erase_if(all.worse, [&](const std::string& subject) {
    return (question.only.empty() || question.only.contains(subject)) &&
           (all.controls_fell || !worse.contains(subject));
  });
  if (!all.controls_fell || all.owed) return;
  for (const GateFigure& one : measured.figures) {
    FlowPath& path = paths_[path_of_.at(one.subject)];
    path.unjudged.insert(path.doubted.begin(), path.doubted.end());
  }
}

// The state before is unknown for a path that starts at an address of this change. Returns whether such a
// path is broken.
bool World::brings_broken_paths(std::uint64_t change) {
  return std::ranges::any_of(journal_.writes_of(change), [this](const auto& one) {
    const auto& [device, writes] = one;
    const bool is_begun = places_.at(device).is_host() && std::ranges::any_of(writes, [](const Change& each) {
                            return each.path.row() == kAddresses && each.want;
                          });
    return is_begun && std::ranges::any_of(paths_, [&](const FlowPath& path) {
             return path.devices.front() == device && rounds_.broken.contains(path.subject);
           });
  });
}

// A kept change did not break the benchmarks, and a rolled-back change did, as far as they could determine.
void World::check_cause(const ApplyReport& report) {
  result_.counts.spared += rounds_.hidden && report.undone.empty() ? 1 : 0;
  if (report.undone.empty() || strict_ || rounds_.owed || (bad_ && writes_bad(report.change_id))) return;
  const UndoneChange& first = report.undone.front();
  if (first.change == report.change_id && first.hosts.empty() && rounds_.worse.empty() &&
      !brings_broken_paths(report.change_id))
    violation("change " + std::to_string(report.change_id) + " was undone for what others had broken");
}

// A run limited to some devices may observe a bad value on others without writing it. Outages by others may
// hide it from the run that writes it, so that a later run finds it unchanged.
void World::check_kept(const ApplyReport& report) {
  if (report.verdict != ApplyVerdict::kept || !bad_) return;
  const bool wrote = writes_bad(report.change_id);
  if (rounds_.hidden) {
    bad_->was_hidden = bad_->was_hidden || wrote;
    return;
  }
  if (on_violation_ == OnViolation::alert) {
    result_.counts.alerted += wrote ? 1 : 0;
    return;
  }
  if (!wrote && (bad_->was_hidden || !process_->only.empty())) return;
  const auto is_free = [this](const FlowPath& path) { return !is_broken(path); };
  if (!wrote && std::ranges::all_of(paths_, is_free)) return;  // the devices that should get it were away
  if (!process_->only.empty() && broken_before_) return;
  violation("a generation that breaks the benchmarks was kept");
}

bool World::writes_bad(std::uint64_t change) {
  for (const auto& [device, writes] : journal_.writes_of(change))
    for (const Change& one : writes)
      if (one.path.row() == bad_->path.row() && one.want == bad_->value) return true;
  return false;
}

// After a rollback the operator reverts the bad generation.
void World::settle_specs(const ApplyReport& report) {
  if (report.undone.empty()) return;
  std::set<std::uint64_t> taken;
  std::set<std::uint64_t> in_part;
  for (const UndoneChange& one : report.undone)
    (one.whole && one.hosts.empty() ? taken : in_part).insert(one.change);
  check_taken_back(taken, in_part);
  // Also includes the writes of their rollbacks, including earlier rollbacks that failed in part.
  for (const auto& [change, known] : changes_)
    if (known.undoes && taken.contains(*known.undoes)) taken.insert(change);
  for (FlowPath& path : paths_)
    std::erase_if(path.unjudged, [&taken](std::uint64_t change) { return taken.contains(change); });
  take_spec_back();
}

// A change reported as rolled back has its earlier values. Exceptions are devices changed by others since,
// entries that a partly rolled-back older change also wrote, and entries written since by a change that stays
// or by a rollback of an earlier run. Saved configurations stay saved.
void World::check_taken_back(const std::set<std::uint64_t>& changes, const std::set<std::uint64_t>& in_part) {
  std::map<std::pair<std::string, Path>, Value> before;
  std::map<std::string, std::size_t> begun;
  for (const std::uint64_t change : changes) {
    for (const auto& [device, writes] : journal_.writes_of(change))
      for (const Change& one : writes)
        if (schema_row(one.path.row()).saves.empty()) before.try_emplace({device, one.path}, one.was);
    for (const auto& [device, turn] : changes_.at(change).first_ticket) begun.try_emplace(device, turn);
  }
  for (const std::uint64_t change : in_part)
    for (const auto& [device, writes] : journal_.writes_of(change))
      for (const Change& one : writes) before.erase({device, one.path});
  for (const auto& [change, known] : changes_) {
    const bool by_this_undo = known.undoes && changes.contains(*known.undoes) && change > before_process_;
    if (changes.contains(change) || by_this_undo || change < *changes.begin()) continue;
    for (const auto& [device, writes] : journal_.writes_of(change))
      for (const Change& one : writes) before.erase({device, one.path});
  }
  for (const auto& [entry, was] : before) {
    const Place& place = places_.at(entry.first);
    if (place.moved > begun.at(entry.first)) continue;
    ++result_.counts.undone;
    if (const Value now = place.device->truth().value(entry.second); now != was)
      violation(entry.first + " is called undone, and " + entry.second.text() + " is " + now.to_string() +
                " instead of " + was.to_string());
  }
}

// In some histories changes are allowed only within some hours of each day.
std::optional<Window> World::draw_window() {
  constexpr std::uint64_t kDay = 24 * 60;  // minutes
  if (!random_.chance(0.3)) return std::nullopt;
  const std::uint64_t from = random_.below(kDay);
  const std::uint64_t length = kDay - 60 - random_.below(120);  // the worst case takes most of a day
  Window window;
  window.from.value.minutes = static_cast<std::uint16_t>(from);
  window.to.value.minutes = static_cast<std::uint16_t>((from + length) % kDay);
  return window;
}

// An operator who must wait tries again in an hour, or when the next window opens.
Time::duration World::wait_for_window() {
  const WallTime from = wall_time();
  if (random_.chance(0.5))
    for (const Opening& one : openings(windows_, from))
      if (one.opens > from) return one.opens - from;
  return std::chrono::hours(1);
}

// The operator removes the windows when none is long enough.
void World::lift_windows() {
  if (windows_.empty()) return;
  record("windows lifted");
  cluster_.catalog.rollout_policies.front().windows = {};
  windows_.clear();
}

bool World::is_window_open() const {
  return windows_.empty() || openings(windows_, wall_time()).front().opens <= wall_time();
}

// A change that started within its window ends within it, unless the clock jumps meanwhile.
bool World::may_write(const KnownChange& change) const {
  if (windows_.empty() || change.undoes) return true;
  return change.clock_jumps == clock_jumps_ ? is_window_open() : change.begun_in_window;
}

// Moves the wall clock of every running process by at most two days.
void World::jump_clock() {
  constexpr std::chrono::minutes kMost = std::chrono::hours(48);
  const std::chrono::minutes by(random_.below(static_cast<std::uint64_t>(kMost.count())));
  const bool back = random_.chance(0.5) && wall_time().time_since_epoch() > kMost;
  wall_epoch_ += back ? -by : by;
  for (Process* const one : {process_, standby_})
    if (one != nullptr) one->executor->wall_epoch = wall_epoch_;
  ++clock_jumps_;
  result_.counts.clock_jumps += leads_ ? 1 : 0;
  record("the clock jumps");
}

OnViolation World::draw_on_violation() {
  const double drawn = options_.others ? random_.unit() : 0;
  return drawn < 0.8 ? OnViolation::rollback : drawn < 0.9 ? OnViolation::quarantine : OnViolation::alert;
}

void World::check_strict(const ApplyReport& report) {
  if (!strict_ || !rounds_.controls_fell || rounds_.owed || on_violation_ == OnViolation::alert) return;
  result_.counts.strictly += report.undone.empty() ? 0 : 1;
  if (report.verdict == ApplyVerdict::kept)
    violation("--strict keeps change " + std::to_string(report.change_id) + ", of which nobody could tell");
}

void World::check_on_violation(const ApplyReport& report) {
  if (report.undone.empty()) return;
  if (on_violation_ == OnViolation::alert) violation("a change is undone, and the suite only alerts");
  if (on_violation_ != OnViolation::quarantine) return;
  ++result_.counts.not_cordoned;
  if (!std::ranges::any_of(report.notes,
                           [](const std::string& one) { return one.find("quarantine") != one.npos; }))
    violation("a change is undone instead of quarantined, and nobody says so");
}

}  // namespace lockstep::simulation
