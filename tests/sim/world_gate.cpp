// The benchmarks of a World (which paths were judged since they were last touched), what follows from an
// undo, and its windows.
#include <algorithm>

#include "reconciler/engine/windows.hpp"
#include "world.hpp"

namespace lockstep::simulation {
void World::build_paths() {
  std::map<std::string, std::map<std::string, std::uint32_t>> up;  // leaf, spine: the cable
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

// What is healed is measured by nobody.
void World::touch_paths(const std::string& device, const ChangeSet& changes, std::uint64_t change) {
  if (changes_.at(change).healing) return;
  Step step;
  step.device = device;
  for (const Change& one : changes) step.changes.push_back({one.path, one.was, one.want, 0, false});
  const BlastRadius blast = blast_radius({step}, wiring_);
  for (FlowPath& path : paths_)
    if (blast.touches_path(path.devices, path.cables)) path.unjudged.insert(change);
}

// What a person finds with another value, by another hand or by a change since, nobody can judge any more.
void World::forget_what_is_gone() {
  std::map<std::uint64_t, BlastRadius> left;
  const auto left_of = [&](std::uint64_t change) -> const BlastRadius& {
    const auto [place, is_new] = left.try_emplace(change);
    if (!is_new) return place->second;
    std::map<std::pair<std::string, Path>, Value> wrote;
    for (const auto& [device, writes] : journal_.writes_of(change))
      for (const Change& one : writes) wrote.insert_or_assign({device, one.path}, one.want);
    std::vector<Step> steps;
    for (const auto& [entry, want] : wrote) {
      if (places_.at(entry.first).device->truth().value(entry.second) != want) continue;
      steps.emplace_back().device = entry.first;
      steps.back().changes.push_back({entry.second, {}, want, 0, false});
    }
    return place->second = blast_radius(steps, wiring_);
  };
  for (FlowPath& path : paths_)
    std::erase_if(path.unjudged, [&](std::uint64_t change) {
      // What an undo wrote there is taken back with it, also where the undo did not succeed whole elsewhere.
      const std::uint64_t of = changes_.at(change).undoes.value_or(change);
      return !left_of(of).touches_path(path.devices, path.cables);
    });
}

GateFigure World::figure_of(const FlowPath& path) const {
  const bool slow = is_broken(path);
  GateFigure out;
  out.subject = path.subject;
  out.state = slow ? SloState::broken : SloState::holds;
  out.figure = slow ? 0.5 : 1;
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
  GateMeasurement out;
  for (FlowPath& path : paths_) {
    GateFigure figure = figure_of(path);
    if ((!question.affected.touches_path(path.devices, path.cables) &&
         !question.also.contains(figure.subject)) ||
        question.pending.touches_path(path.devices, path.cables))
      continue;
    if (!question.only.empty() && !question.only.contains(figure.subject)) continue;
    out.figures.push_back(std::move(figure));
    if (question.when != GateQuestion::When::before) path.unjudged.clear();
  }
  out.selected = out.measured = out.figures.size();
  record("measured " + std::to_string(out.measured));
  return out;
}

// A run that is limited to some devices may find what breaks the benchmarks on others, and not write it.
void World::check_kept(const ApplyReport& report) {
  if (report.verdict != ApplyVerdict::kept || !bad_) return;
  if (!process_->only.empty() && (broken_before_ || !writes_bad(report.change_id))) return;
  violation("a generation that breaks the benchmarks was kept");
}

bool World::writes_bad(std::uint64_t change) {
  for (const auto& [device, writes] : journal_.writes_of(change))
    for (const Change& one : writes)
      if (one.path.row() == bad_->path.row() && one.want == bad_->value) return true;
  return false;
}

// After an undo the operator takes the bad generation back.
void World::settle_specs(const ApplyReport& report) {
  if (report.undone.empty()) return;
  std::set<std::uint64_t> taken;
  std::set<std::uint64_t> in_part;
  for (const UndoneChange& one : report.undone)
    (one.whole && one.hosts.empty() ? taken : in_part).insert(one.change);
  check_taken_back(taken, in_part);
  // And what their undoes wrote, those before this one that did not succeed whole among them.
  for (const auto& [change, known] : changes_)
    if (known.undoes && taken.contains(*known.undoes)) taken.insert(change);
  for (FlowPath& path : paths_)
    std::erase_if(path.unjudged, [&taken](std::uint64_t change) { return taken.contains(change); });
  take_spec_back();
}

// What is called undone is as it was before those changes, but for devices that another hand moved since, and
// for what an older change wrote too that was taken back in part.
void World::check_taken_back(const std::set<std::uint64_t>& changes, const std::set<std::uint64_t>& in_part) {
  std::map<std::pair<std::string, Path>, Value> before;
  std::map<std::string, std::size_t> begun;
  for (const std::uint64_t change : changes) {
    for (const auto& [device, writes] : journal_.writes_of(change))
      for (const Change& one : writes) before.try_emplace({device, one.path}, one.was);
    for (const auto& [device, turn] : changes_.at(change).first_ticket) begun.try_emplace(device, turn);
  }
  for (const std::uint64_t change : in_part)
    for (const auto& [device, writes] : journal_.writes_of(change))
      for (const Change& one : writes) before.erase({device, one.path});
  for (const auto& [entry, was] : before) {
    const Place& place = places_.at(entry.first);
    if (place.moved > begun.at(entry.first)) continue;
    ++result_.counts.undone;
    if (const Value now = place.device->truth().value(entry.second); now != was)
      violation(entry.first + " is called undone, and " + entry.second.text() + " is " + now.to_string() +
                " instead of " + was.to_string());
  }
}

// In some histories changes may happen within some hours of each day only.
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

// A person who is told to wait tries again in an hour, or as soon as the next window opens.
Time::duration World::wait_for_window() {
  const WallTime from = wall_time();
  if (random_.chance(0.5))
    for (const Opening& one : openings(windows_, from))
      if (one.opens > from) return one.opens - from;
  return std::chrono::hours(1);
}

// What a person does who is told that no window is long enough.
void World::lift_windows() {
  if (windows_.empty()) return;
  record("windows lifted");
  cluster_.catalog.rollout_policies.front().windows = {};
  windows_.clear();
}

bool World::may_write(const KnownChange& change) const {
  if (windows_.empty() || change.undoes) return true;
  return openings(windows_, wall_time()).front().opens <= wall_time();
}

}  // namespace lockstep::simulation
