// The service's watch: drift towards the specs that were begun last, and its healing.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reconciler/engine/gate.hpp"
#include "reconciler/service/service_loop.hpp"
#include "reconciler/session/cluster_watch.hpp"

namespace lockstep {

// The last one that was begun and not refused, else the last good one.
std::vector<RevisionId> ServiceLoop::in_force() const {
  std::vector<RevisionId> out;
  const auto begun = record_.begun ? record_.revisions.shown(*record_.begun) : std::nullopt;
  if (begun && begun->state != RevisionState::refused && begun->state != RevisionState::rejected)
    out.push_back(begun->revision);
  if (const auto good = record_.revisions.last_good()) out.push_back(*good);
  return out;
}

// Stores the goal's run; `writes`: from now on devices may be at the goal, and are healed towards it.
Result<Done> ServiceLoop::put_in_force(bool writes) {
  const std::optional<RevisionId> former = record_.begun;
  if (writes) record_.begun = goal_->id;
  unsaved_ = true;
  if (save()) return Done{};
  record_.begun = former;
  return Error{ErrorKind::transient, record_trouble_};
}

// The specs that devices may be at; if their files are gone, or nothing was begun, the newest; if that is
// invalid, the same commits as this version of lockstep compiles them: both are only watched.
std::optional<RevisionId> ServiceLoop::to_watch() const {
  const std::vector<RevisionId> all = in_force();
  for (const RevisionId& id : all)
    if (specs_.contains(id)) return id;
  if (newest_) return newest_;
  for (const RevisionId& id : all)
    for (const auto& [known, specs] : specs_)
      if (known.source == id.source) return known;
  return std::nullopt;
}

void ServiceLoop::keep_watch() {
  if (stopping_ || watch_opens_ || watch_stops_ || watch_timer_ != 0) return;
  if (doing_ == Doing::stopping_watch || doing_ == Doing::preparing || doing_ == Doing::applying) return;
  const std::optional<RevisionId> id = to_watch();
  if (!id || (watch_ && watched_id_ == id)) return;
  if (bench_) return stop_measuring(watched_id_ == id ? "the watch begins anew" : "other specs are in force");
  if (watch_) return stop_watch({});
  if (goal_ && goal_->id == *id && goal_->served) return watch(goal_->served, *id);
  if (watched_ && watched_id_ == id) return watch(watched_, *id);
  if (job_ != 0) return;  // the next turn
  watch_opens_ = true;
  open(*id, [this, id = *id](Opened served) {
    watch_opens_ = false;
    if (stopping_) return;
    if (served) return watch(*std::move(served), id);
    why_not_watched_ = served.error().text();
    at(watch_timer_, longer(watch_wait_), &ServiceLoop::turn);
  });
}

void ServiceLoop::watch(std::shared_ptr<ServedSession> served, const RevisionId& id) {
  if (watched_ && watched_ != served) seams_.retired.add(std::move(watched_));
  watched_ = std::move(served);
  watched_id_ = id;
  not_healed_.clear();
  why_not_watched_.clear();
  ClusterSession& session = *watched_->session;
  breaker_.resize(session.fleet().size());
  WatchRequest request;
  request.command = settings_.command;
  request.author = settings_.command;
  request.converge = true;
  request.only_applied = true;  // what is new is brought to the specs by a change, with its gate
  request.admits = [this](std::vector<std::size_t> devices, const std::set<std::size_t>& only_effects) {
    return admit(std::move(devices), only_effects);
  };
  request.poll_every = with_jitter(settings_.resync_every);
  request.confirm_after = settings_.confirm_after;
  // The snapshot has the look from the end of this turn of the executor on.
  request.looked = [this] {
    if (!std::exchange(publishes_, true)) seams_.executor.defer(callbacks_.bind([this] { publish(); }));
  };
  request.event = [this](const WatchEvent& event) { saw(event); };
  request.healed = [this](const Healing& healing) { healed(healing); };
  // What was never begun, or was refused, is not wrong on devices. Causes are found in a time that grows with
  // the square of what differs: a choice, far below a second.
  request.problems_most = 1000;
  request.problems = [this](const DriftReport& report) {
    problems_ =
        is_in_force() ? std::make_shared<const DriftReport>(report) : std::make_shared<const DriftReport>();
    turn_soon();
  };
  request.stands_back = [this](const std::vector<std::string>& devices) { not_at_it(devices); };
  watch_ = session.make_watch(std::move(request));
  watch_->start([this](const Result<Done>& ended) {
    if (!ended && ended.error().kind != ErrorKind::cancelled) {
      why_not_watched_ = ended.error().text();
      at(watch_timer_, longer(watch_wait_), &ServiceLoop::turn);
    }
    seams_.executor.defer(callbacks_.bind([this] { watch_over(); }));
  });
}

void ServiceLoop::stop_watch(std::function<void()> then) {
  if (then) after_watch_ = std::move(then);
  if (!watch_) {
    if (after_watch_) std::exchange(after_watch_, {})();
    return;
  }
  if (!std::exchange(watch_stops_, true)) watch_->stop();
}

void ServiceLoop::watch_over() {
  watch_.reset();
  watch_stops_ = false;
  watch_wait_ = why_not_watched_.empty() ? std::chrono::milliseconds(0) : watch_wait_;
  resign_if_suspended();
  if (after_watch_) std::exchange(after_watch_, {})();
  turn_soon();
}

// Whether devices may be at what is watched, by this service or the last.
bool ServiceLoop::is_in_force() const {
  const std::vector<RevisionId> all = in_force();
  return watched_id_ && std::ranges::find(all, *watched_id_) != all.end();
}

// One outage takes effects from many devices that are configured as they should be: these don't count. Those
// whose last try only asked for an approval do not open the breaker: they come along as far as they fit, and
// count if they are written (healed()).
std::vector<std::size_t> ServiceLoop::admit(std::vector<std::size_t> devices,
                                            const std::set<std::size_t>& only_effects) {
  const Fleet& fleet = watched_->session->fleet();
  const PlanChoice by_itself{.person = false, .only = {}};
  std::erase_if(devices, [&](std::size_t device) {
    return record_.cordoned.contains(fleet[device].name) || !by_itself.allows(fleet[device]);
  });
  if (!may_write() || !is_in_force() || doing_ == Doing::stopping_watch || devices.empty()) return {};
  std::set<std::string> names;
  std::set<std::string> asking;
  for (const std::size_t device : devices) {
    if (only_effects.contains(device)) continue;
    const auto last = not_healed_.find(fleet[device].name);
    const bool asks = last != not_healed_.end() && last->second.asks;
    (asks ? asking : names).insert(fleet[device].name);
  }
  const bool was_open = breaker_.is_open();
  const bool may = names.empty() ? !was_open : !breaker_.admit(names, now()).empty();
  const std::set<std::string> fit = breaker_.that_fit(asking, now());
  std::erase_if(devices, [&](std::size_t device) {
    return asking.contains(fleet[device].name) && !fit.contains(fleet[device].name);
  });
  keep_breaker();
  const bool stored = save();
  if (breaker_.is_open() && !was_open)
    happened(ServiceEvent::Kind::breaker_opened, cluster_object(), breaker_.why());
  turn_soon();
  if (!stored || !may || devices.empty()) return {};
  stop_measuring("drift is healed");
  return devices;
}

// With the next save().
void ServiceLoop::keep_breaker() {
  nlohmann::json next = breaker_.to_json();
  if (next == record_.breaker) return;
  record_.breaker = std::move(next);
  unsaved_ = true;
}

void ServiceLoop::saw(const WatchEvent& event) {
  using Kind = WatchEvent::Kind;
  const DriftEntry& item = event.item;
  // What was never begun, or was refused, is not drifted from.
  if (event.about_entry() && !is_in_force()) return;
  const std::string object = "Device/" + item.device;
  if (event.kind == Kind::unreadable || event.kind == Kind::readable)
    happened(event.kind == Kind::readable ? ServiceEvent::Kind::readable : ServiceEvent::Kind::unreadable,
             object, item.reason);
  else if (event.kind == Kind::cleared)
    happened(ServiceEvent::Kind::drift_cleared, object,
             item.path.text() + " was " + item.have.to_string() + ", and is as the specs want it");
  else if (event.kind == Kind::flapping)
    happened(
        ServiceEvent::Kind::drift, object,
        item.path.text() + " is at times " + item.have.to_string() + ", and the specs want " +
            item.want.to_string() +
            (event.returns > 0 ? fmt::format("; it came back {} times after it was repaired", event.returns)
                               : "; it comes and goes, and not each time is reported"));
  else
    happened(
        ServiceEvent::Kind::drift, object,
        item.path.text() + " is " + item.have.to_string() + ", and the specs want " + item.want.to_string());
  turn_soon();
}

// A heal that fails again in the same way is told once.
void ServiceLoop::heal_failed(const std::string& why, const ApplyReport& report) {
  ++counts_.heals_failed;
  if (why != last_heal_) happened(ServiceEvent::Kind::heal_failed, cluster_object(), why, report);
  last_heal_ = why;
}

// Of each device the first step that was not done.
void ServiceLoop::note_not_healed(const Healing& healing) {
  const std::vector<Step>& steps = healing.plan.steps;
  for (const Step& step : steps) not_healed_.erase(step.device);
  for (std::size_t i = 0; i < std::min(steps.size(), healing.report.steps.size()); ++i)
    if (const StepResult& result = healing.report.steps[i]; !is_good(result.state))
      not_healed_.try_emplace(steps[i].device, NotHealed{result.why, result.waits, result.asks});
}

void ServiceLoop::healed(const Healing& healing) {
  const ApplyReport& report = healing.report;
  if (healing.no_plan) return heal_failed(healing.no_plan->text(), report);
  if (healing.locked) return heal_failed(healing.locked->text(), report);
  std::set<std::string> written;
  for (std::size_t i = 0; i < std::min(healing.plan.steps.size(), report.steps.size()); ++i)
    if (report.steps[i].writes > 0) written.insert(healing.plan.steps[i].device);
  breaker_.healed(written, now());
  keep_breaker();
  note_not_healed(healing);
  turn_soon();
  if (report.verdict == ApplyVerdict::asks && watched_id_) {  // the revision will ask
    record_.revisions.drifted(*watched_id_, "drift whose correction needs an approval", now());
    unsaved_ = true;
    return;
  }
  // Where all of it waits for a window, the drift is told already, and nothing has failed.
  if (report.verdict == ApplyVerdict::waits && report.count(StepState::done) == 0) return;
  const std::string told = fmt::format("{} of {} steps done: {}", report.count(StepState::done),
                                       healing.plan.steps.size(), to_string(report.verdict));
  if (report.verdict != ApplyVerdict::kept && report.verdict != ApplyVerdict::nothing_to_do)
    return heal_failed(told, report);
  last_heal_.clear();
  if (report.count(StepState::done) == 0) return;  // it was well by itself
  ++counts_.healed;
  happened(ServiceEvent::Kind::healed, cluster_object(), told, report);
}

// Devices that did not come along with the last change, and are back: it is gone for again, less and less
// often while that does not help.
void ServiceLoop::not_at_it(std::vector<std::string> devices) {
  std::erase_if(devices, [this](const std::string& device) { return record_.cordoned.contains(device); });
  if (devices.empty() || !watched_id_) return;
  const std::string why =
      "devices that are not at this revision: " + devices.front() + and_more(devices.size() - 1);
  if (!record_.revisions.drifted(*watched_id_, why, now())) return;  // it is gone for in any case
  unsaved_ = true;
  goal_at_ = seams_.executor.now() + longer(again_wait_);
  turn_soon();
}

}  // namespace lockstep
