// How the service goes for a revision: observes, plans, changes, and takes the outcome over.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reconciler/engine/windows.hpp"
#include "reconciler/service/service_loop.hpp"
#include "reconciler/service/why_not_kept.hpp"
#include "reconciler/session/cluster_watch.hpp"
#include "reconciler/session/former_entries.hpp"

namespace lockstep {

ServiceLoop::Run::Run() = default;

bool ServiceLoop::may_write() const { return leads_ && !record_.suspended && !stopping_; }

// Opened, planned, and begun if something of it may run.
void ServiceLoop::go_for(const RevisionId& id) {
  if (goal_ && goal_->id != id) drop_goal();
  if (seams_.executor.now() < goal_at_)
    return at(goal_timer_, std::chrono::ceil<std::chrono::milliseconds>(goal_at_ - seams_.executor.now()),
              &ServiceLoop::turn);
  if (!goal_) {
    if (job_ != 0) return;  // the next turn
    doing_ = Doing::opening;
    open(id, [this, id](Opened served) {
      doing_ = Doing::nothing;
      if (served) {
        goal_ = Goal{id, *std::move(served)};
      } else {
        if (!specs_.contains(id)) record_.revisions.lost(id, now());
        if (record_.revisions.shown(id))
          go_later(served.error().text());
        else
          goal_wait_ = {};  // another one is the goal, and has not been tried
      }
      turn_soon();
    });
    return;
  }
  if (!goal_->plan || seams_.executor.now() >= goal_->look_at) return plan();
  why_not_run_ = why_not_begin();
  if (why_not_run_.empty()) return begin();
  goal_at_ = goal_->look_at;
  turn_soon();
}

// Planning ------------------------------------------------------------------------------------------------

Result<Done> ServiceLoop::choose() {
  std::vector<std::string> names;
  if (!record_.cordoned.empty())
    for (const FleetDevice& device : goal_->served->session->fleet().devices())
      if (!record_.cordoned.contains(device.name)) names.push_back(device.name);
  if (!record_.cordoned.empty() && names.empty())  // to a session, no names are all devices
    return Error{ErrorKind::conflict, "all devices are cordoned"};
  return goal_->served->session->choose(names);
}

// `then`: once the round is gone.
void ServiceLoop::observe(std::function<void(const std::vector<DeviceState>&)> then) {
  observe_ = goal_->served->session->make_observe();
  observe_->start([this, then = std::move(then)](std::vector<DeviceState> states) {
    seams_.executor.defer(callbacks_.bind([this, then, states = std::move(states)] {
      observe_.reset();
      then(states);
      turn_soon();
    }));
  });
}

void ServiceLoop::plan() {
  if (const Result<Done> chosen = choose(); !chosen) return go_later(chosen.error().text());
  doing_ = Doing::planning;
  observe([this, cordons = cordons_](const std::vector<DeviceState>& states) {
    doing_ = Doing::nothing;
    if (!may_write() || cordons != cordons_) return;
    Result<GoalPlan> plan = plan_of(states);
    if (plan)
      adopt(*std::move(plan));
    else
      go_later(plan.error().text());
  });
}

Result<GoalPlan> ServiceLoop::plan_of(const std::vector<DeviceState>& states) const {
  const ClusterSession& session = *goal_->served->session;
  TRY(Plan plan, session.plan(states));
  TRY(const Unjudged unjudged, session.unjudged());
  TRY(const Deletion deletion, session.deletion_by(plan));
  return GoalPlan(std::move(plan), deletion, session.not_observed(states).empty(),
                  settings_.measures && unjudged.to_judge());
}

void ServiceLoop::adopt(GoalPlan plan) {
  const std::set<std::string> asked = shown_of(goal_->id).waits;
  PlannedSteps steps = plan.planned();
  goal_->may_run = record_.revisions.planned(goal_->id, steps, now());
  // Where all that may run comes after what waits, the revision waits.
  const bool some_wait = !goal_->may_run.empty() && goal_->may_run.size() < steps.steps.size();
  if (some_wait && plan.can_begin(goal_->may_run) == 0 && plan.wait_for_windows(goal_->may_run).empty()) {
    for (const std::string& step : goal_->may_run) steps.steps.erase(step);
    steps.whole = false;
    goal_->may_run = record_.revisions.planned(goal_->id, steps, now());
  }
  goal_->plan = std::make_shared<const GoalPlan>(std::move(plan));
  goal_->planned = now();
  goal_->look_at = seams_.executor.now() + with_jitter(settings_.resync_every);
  unsaved_ = true;
  const Revisions::Shown shown = shown_of(goal_->id);
  if (!std::ranges::includes(asked, shown.waits)) ask_for_approval(shown);
}

void ServiceLoop::ask_for_approval(const Revisions::Shown& shown) {
  constexpr std::size_t kReasons = 2;  // a choice: one line
  const std::string why = goal_->plan->why_held(shown.waits, kReasons);
  happened(ServiceEvent::Kind::approval_needed, "Revision/" + shown.revision.source,
           shown.why_waits + (why.empty() ? "" : ": " + why));
}

// Something of it can be done now: a step, or the measurement that a gate could not make, without any step.
bool ServiceLoop::has_something_to_do() const {
  const GoalPlan& plan = *goal_->plan;
  const bool measures = plan.to_judge() && !shown_of(goal_->id).unproven.empty();
  return plan.plan().empty() || measures || plan.can_begin(goal_->may_run) > 0;
}

Revisions::Shown ServiceLoop::shown_of(const RevisionId& id) const {
  return record_.revisions.shown(id).value_or(Revisions::Shown());
}

// Empty: it is to begin now.
// A change would correct the drift that the breaker is about, as it is made of all differences.
std::string ServiceLoop::why_not_begin() {
  const GoalPlan& plan = *goal_->plan;
  if (record_.revisions.next() != goal_->id) return shown_of(goal_->id).why;
  if (breaker_.is_open()) return "the circuit breaker is open, until somebody resumes: " + breaker_.why();
  if (has_something_to_do()) return "";
  if (const std::set<std::string> held = plan.wait_for_windows(goal_->may_run); !held.empty()) {
    goal_->look_at = std::min(goal_->look_at, seams_.executor.now() + until_window(held));
    return fmt::format("devices that wait for a window of their policy: {}", held.size());
  }
  return fmt::format("none of its {} steps may begin", plan.plan().steps.size());
}

// Until the first window of these devices that is not open yet, or the next look.
std::chrono::milliseconds ServiceLoop::until_window(const std::set<std::string>& devices) const {
  const ClusterSession& session = *goal_->served->session;
  const auto policies = session.policies();
  std::chrono::milliseconds least = settings_.resync_every;
  for (const std::string& name : devices) {
    const Policy* const policy = policies(session.fleet()[*session.fleet().find(name)]);
    if (policy == nullptr) continue;
    for (const Opening& opening : openings(policy->windows, now()))
      if (opening.opens > now())
        least = std::min(least, std::chrono::ceil<std::chrono::milliseconds>(opening.opens - now()));
  }
  return least;
}

// A change ------------------------------------------------------------------------------------------------

void ServiceLoop::begin() {
  if (bench_) return stop_measuring("a change goes first");
  if (job_ != 0) return;  // the next turn
  doing_ = Doing::keeping_specs;
  keep_specs([this] {
    doing_ = Doing::stopping_watch;
    stop_watch([this] { prepare(); });
  });
}

void ServiceLoop::prepare() {
  doing_ = Doing::nothing;
  if (!may_write() || !goal_ || record_.revisions.next() != goal_->id) return;
  run_.emplace();
  run_->id = goal_->id;
  run_->status = RunStatus{.revision = goal_->id, .phase = "observe", .since = now()};
  const Revision& revision = specs_.at(goal_->id).revision;
  run_->request = {.command = settings_.command,
                   .author = settings_.command,
                   .measures = settings_.measures,
                   .strict = settings_.strict};
  run_->request.revision = revision.id;
  if (!revision.author.empty())
    run_->request.revision += " (" + revision.author + ": " + revision.subject + ")";
  const Result<EarlierRuns> earlier = goal_->served->session->prepare_apply(run_->request);
  if (!earlier) return run_over(earlier.error().text());
  run_->to_judge = earlier->to_judge();
  run_->leaves_owed = earlier->leaves_owed();
  if (const Result<Done> chosen = choose(); !chosen) return run_over(chosen.error().text());
  doing_ = Doing::preparing;
  observe([this, cordons = cordons_](const std::vector<DeviceState>& states) {
    doing_ = Doing::nothing;
    if (!may_write() || cordons != cordons_) return run_over("");
    if (const Result<Done> done = carry_out(states); !done) run_over(done.error().text());
  });
}

// By the plan of now, made while the service leads and nothing else is under way.
Result<Done> ServiceLoop::carry_out(const std::vector<DeviceState>& states) {
  ClusterSession& session = *goal_->served->session;
  TRY(GoalPlan planned, plan_of(states));
  adopt(std::move(planned));
  const GoalPlan& plan = *goal_->plan;
  const bool has_work = !plan.plan().empty() || run_->to_judge;
  const bool begins = record_.revisions.next() == goal_->id && !breaker_.is_open() &&
                      (run_->to_judge || has_something_to_do());
  if (!begins) {
    run_over("");
    return Done{};
  }
  TRY(const std::vector<WrittenEntry> written, session.settle_written(states));
  std::vector<WrittenEntry> left = left_behind(session.fleet(), states, written);
  record_.revisions.began(goal_->id, now());
  if (const Result<Done> stored = put_in_force(plan.plan().empty()); !stored) {
    record_.revisions.failed(stored.error().text(), now());
    return stored.error();
  }
  run_->left_alone = why_left_alone(session.fleet(), states, session.choice());
  if (!has_work) {
    keep_as_is(session.leave_as_is(left));
    return Done{};
  }
  run_->request.approved = plan.approved(goal_->may_run);
  run_->request.approved_by = record_.revisions.approved_by(goal_->id, goal_->may_run);
  run_->request.deletion_confirmed = plan.deletion_confirmed(goal_->may_run);
  run_->status.steps = plan.plan().steps.size();
  run_->status.waves = plan.plan().waves();
  run_->status.devices = std::make_shared<const std::set<std::string>>(plan.changes(goal_->may_run));
  doing_ = Doing::applying;
  const bool only_measures = run_->to_judge && plan.can_begin(goal_->may_run) == 0;
  happened(ServiceEvent::Kind::change_began, "Revision/" + goal_->id.source,
           only_measures ? "no step: what is not validated yet is measured"
                         : fmt::format("{} step{}", run_->status.steps, run_->status.steps == 1 ? "" : "s"));
  apply_ = session.make_apply(plan.to_run(goal_->may_run), std::move(left), run_->request, hooks());
  apply_->start([this](Applied applied) {
    seams_.executor.defer(callbacks_.bind([this, applied = std::move(applied)] {
      apply_.reset();
      this->applied(applied);
    }));
  });
  return Done{};
}

// There is nothing to do.
void ServiceLoop::keep_as_is(const Result<Done>& accepted) {
  if (!accepted) {
    record_.revisions.failed(accepted.error().text(), now());
    return run_over(accepted.error().text());
  }
  std::string but = shown_of(run_->id).unproven;
  if (but.empty() && run_->leaves_owed) but = "not validated: no suite can judge all of what was changed";
  if (!run_->left_alone.empty()) but += (but.empty() ? "" : "; ") + run_->left_alone;
  record_.revisions.kept(now(), but);
  const std::string object = "Revision/" + run_->id.source;
  run_over("");
  happened(ServiceEvent::Kind::change_kept, object,
           but.empty() ? "nothing to do" : "nothing is left to do; " + but);
}

ApplyHooks ServiceLoop::hooks() {
  ApplyHooks hooks;
  hooks.before_writing = [this] { return put_in_force(true); };
  hooks.progress.wave = [this](std::uint32_t wave, std::uint32_t) {
    run_->status.wave = wave;
    if (std::exchange(run_->is_decided, false)) gate_decided();
    turn_soon();
  };
  hooks.progress.step = [this](const Step&, const StepResult& result) {
    if (result.state != StepState::running && result.state != StepState::waiting) ++run_->status.over;
    turn_soon();
  };
  hooks.progress.phase = [this](std::string_view what) {
    run_->status.phase = what;
    turn_soon();
  };
  // A gate that fails is followed by a rollback, which nothing supersedes.
  hooks.progress.gate = [this](const GateResult& gate) {
    ++counts_.gates[static_cast<std::size_t>(gate.verdict)];
    if (gate.verdict != GateVerdict::fail) {
      if (run_) run_->is_decided = true;
      seams_.executor.defer(callbacks_.bind([this] { gate_decided(); }));
    } else if (run_ && !run_->superseded) {
      record_.revisions.gate_failed(gate.why);
      unsaved_ = true;
      turn_soon();  // stores it
    }
  };
  return hooks;
}

void ServiceLoop::gate_decided() {
  if (!apply_ || run_->superseded || record_.revisions.goes_on(now())) return;
  run_->superseded = true;
  unsaved_ = true;
  apply_->stop();
}

// Its outcome ---------------------------------------------------------------------------------------------

namespace {

// Hosts that were new with this change, and were rolled back alone; none: all of it was.
std::set<std::string> undone_hosts(const ApplyReport& report) {
  std::set<std::string> out;
  for (const UndoneChange& one : report.undone) {
    if (one.change != report.change_id) continue;
    if (one.hosts.empty()) return {};
    out.insert(one.hosts.begin(), one.hosts.end());
  }
  return out;
}

// All of it is done but what was rolled back.
bool is_rest_done(const ApplyReport& report) {
  return std::ranges::all_of(report.steps, [](const StepResult& one) {
    return is_good(one.state) || one.state == StepState::undone;
  });
}

// Whether its gate refused what it had written itself: rolled back, or to be, or quarantined.
bool is_refusal(const ApplyReport& report) {
  const bool is_own =
      std::ranges::find(report.undone, report.change_id, &UndoneChange::change) != report.undone.end();
  switch (report.verdict) {
    case ApplyVerdict::undone:
    case ApplyVerdict::undone_in_part:
    case ApplyVerdict::undo_failed: return is_own;
    default: return report.verdict == ApplyVerdict::quarantined;
  }
}

}  // namespace

void ServiceLoop::applied(const Applied& applied) {
  ++counts_.changes;
  const ApplyReport& report = applied.report;
  const std::string verdict(to_string(report.verdict));
  const std::string object = "Revision/" + run_->id.source;
  const std::string why = report.gate && !report.gate->why.empty() ? report.gate->why : verdict;
  using Kind = ServiceEvent::Kind;
  if (run_->superseded) {
    happened(Kind::change_superseded, object, shown_of(run_->id).why, report);
    return run_over("");
  }
  // Each is stored before it is told.
  switch (end_of(applied)) {
    case RunEnd::kept: {
      if (!report.owes && record_.revisions.validated(now())) {
        run_over("");
        return happened(Kind::change_kept, object, "what was written is validated by now; the rest goes on",
                        report);
      }
      record_.revisions.kept(now(), run_->left_alone);
      const std::string but = shown_of(run_->id).why;
      run_over("");
      return happened(Kind::change_kept, object, but.empty() ? verdict : but, report);
    }
    case RunEnd::refused_in_part: {
      record_.revisions.refused_in_part(steps_on(undone_hosts(report)), why);
      const std::string goes_on = why_not_kept(report, goal_->plan->plan().steps);
      if (is_rest_done(report))
        record_.revisions.kept(now(), run_->left_alone);
      else
        record_.revisions.failed(goes_on, now());
      run_over("");
      return happened(Kind::change_refused, object, goes_on, report);
    }
    case RunEnd::refused:
      record_.revisions.refused(refused_steps(), why, now());
      refused_ = PlanStatus{goal_->id, goal_->plan, goal_->planned};
      run_over("");
      return happened(Kind::change_refused, object, why, report);
    case RunEnd::failed: break;
  }
  const std::string reason =
      applied.accepted ? why_not_kept(report, goal_->plan->plan().steps) : applied.accepted.error().text();
  if (report.verdict == ApplyVerdict::not_validated)
    record_.revisions.not_validated(reason, report.owes, now());
  else
    record_.revisions.failed(reason, now());
  run_over(reason);
  happened(Kind::change_failed, object, reason, report);
}

// Of the goal's plan.
std::set<std::string> ServiceLoop::steps_on(const std::set<std::string>& devices) const {
  std::set<std::string> out;
  const GoalPlan& plan = *goal_->plan;
  for (std::size_t i = 0; i < plan.digests().size(); ++i)
    if (devices.contains(plan.plan().steps[i].device)) out.insert(plan.digests()[i]);
  return plan.without_stand_bys(out);
}

// By the journal: also of a run that this process knows nothing of. It names the source's revision alone:
// where several versions have compiled that, nobody knows whose change it was.
bool ServiceLoop::was_for(const RevisionId& id, std::uint64_t change) const {
  const std::vector<Revisions::Shown> known = record_.revisions.shown();
  const auto is_of_source = [&](const Revisions::Shown& one) { return one.revision.source == id.source; };
  if (std::ranges::count_if(known, is_of_source) != 1) return false;
  constexpr std::size_t kNewest = 1000;  // a choice: an older one is not owed any more
  const Result<std::vector<ChangeRecord>> all = store_->history().changes(kNewest);
  if (!all) return false;
  const auto found = std::ranges::find(*all, change, &ChangeRecord::change);
  return found != all->end() && found->reason.starts_with(settings_.command + " of specs at " + id.source);
}

// Where it measured what an earlier run of the same revision had written, the rest wants the same; what that
// run wrote is in no plan any more, but its approvals end.
std::set<std::string> ServiceLoop::refused_steps() const {
  std::set<std::string> out = goal_->may_run;
  out.merge(record_.revisions.approved_steps(goal_->id));
  if (const Revisions::Shown shown = shown_of(goal_->id); !shown.unproven.empty())
    out.insert(shown.waits.begin(), shown.waits.end());
  return goal_->plan->without_stand_bys(out);
}

ServiceLoop::RunEnd ServiceLoop::end_of(const Applied& applied) const {
  // What a gate refused is refused, also if the ledger could not take that.
  if (is_refusal(applied.report))
    return applied.report.verdict == ApplyVerdict::undone_in_part && !undone_hosts(applied.report).empty()
               ? RunEnd::refused_in_part
               : RunEnd::refused;
  if (std::ranges::any_of(applied.report.undone,
                          [this](const UndoneChange& one) { return was_for(run_->id, one.change); }))
    return RunEnd::refused;
  if (!applied.accepted || applied.report.unjournalled) return RunEnd::failed;
  switch (applied.report.verdict) {
    case ApplyVerdict::kept:
    case ApplyVerdict::nothing_to_do: return RunEnd::kept;
    // What was asked for before the run; a hold that appeared in it is no part of the plan that was shown.
    case ApplyVerdict::asks: return shown_of(run_->id).waits.empty() ? RunEnd::failed : RunEnd::kept;
    // Of changes of earlier runs alone: what this one wrote stays, and it is planned again without those.
    case ApplyVerdict::undone:
    case ApplyVerdict::undone_in_part:
    case ApplyVerdict::undo_failed:
    case ApplyVerdict::quarantined:
    case ApplyVerdict::partly:
    case ApplyVerdict::effects_open:
    case ApplyVerdict::waits:
    case ApplyVerdict::stopped:
    case ApplyVerdict::not_validated:
    case ApplyVerdict::taken_over: break;
  }
  return RunEnd::failed;
}

// Of a change that ended, or was prepared and wrote nothing. `why`: it is to be tried again later; empty: it
// is looked at in the next turn.
void ServiceLoop::run_over(const std::string& why) {
  const bool kept = shown_of(goal_->id).state == RevisionState::kept;
  goal_->served->session->leave();
  run_.reset();
  doing_ = Doing::nothing;
  unsaved_ = true;
  save();
  if (kept) goal_wait_ = {};
  if (why.empty())
    why_not_run_.clear();
  else
    go_later(why);
  drop_goal();
  forget_specs();
  resign_if_suspended();
  turn_soon();
}

// Afterwards other values may be to be restored than those that the session was opened with.
void ServiceLoop::drop_goal() {
  if (!goal_) return;
  const bool stays = shown_of(goal_->id).state == RevisionState::kept && to_watch() == goal_->id && !watch_;
  if (stays && watched_ != goal_->served) {
    if (watched_) seams_.retired.add(std::move(watched_));
    watched_ = goal_->served;
    watched_id_ = goal_->id;
  } else if (watched_ != goal_->served) {
    seams_.retired.add(goal_->served);
  }
  goal_.reset();
}

void ServiceLoop::go_later(const std::string& why) {
  why_not_run_ = why;
  goal_at_ = seams_.executor.now() + longer(goal_wait_);
}

}  // namespace lockstep
