#include "reconciler/engine/application.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "reconciler/engine/link_ends.hpp"
#include "reconciler/engine/windows.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

bool changes_paths(const Step& step) {
  return step.disruption != Disruption::none ||
         std::any_of(step.changes.begin(), step.changes.end(), [](const PlannedChange& one) {
           return schema_row(one.path.row()).peer_order != PeerOrder::any;
         });
}

// As a person is told; empty: nothing is said.
std::string_view words(Application::Phase phase) {
  constexpr std::array<std::string_view, 8> kWords{"", "", "", "even out", "verify", "measure", "undo", ""};
  return kWords.at(static_cast<std::size_t>(phase));
}

}  // namespace

Application::Application(Fleet& fleet, Executor& executor, Ledger& ledger, Plan plan, ApplyOptions options,
                         Progress progress)
    : fleet_(fleet),
      executor_(executor),
      ledger_(ledger),
      options_(std::move(options)),
      progress_(std::move(progress)),
      plan_(hold_for_windows(std::move(plan), fleet, options_, options_.measurer != nullptr,
                             executor.wall_time())),
      owed_(steps_of(options_.owed)),
      effects_(fleet, executor, ledger, options_) {}

Application::~Application() {
  if (measuring_) executor_.cancel(*measuring_);
}

void Application::start(std::function<void(ApplyReport)> done) {
  done_ = std::move(done);
  if (plan_.empty() && owed_.empty()) return finish();
  if (!plan_.empty())
    if (const Result<Done> begun = begin(); !begun) {
      refuse_all(begun.error().text());
      return finish();
    }
  if (!plan_.refusals.empty() && !options_.refusals_approved) {
    refuse_all(plan_.refusals.front());
    return conclude();
  }
  if (options_.before_writing && !plan_.empty())
    if (const Result<Done> stored = options_.before_writing(); !stored) {
      refuse_all(stored.error().text());
      return conclude();
    }
  enter(Phase::remember);
  effects_.remember(joined(owed_, plan_.steps), [this] {
    runner_.emplace(RunContext{fleet_, executor_, ledger_, options_, stop_.get_token(), report_.change_id},
                    plan_, progress_);
    measure_before([this] { next_wave(); });
  });
}

void Application::stop() {
  stop_.request_stop();
  effects_.stop();
  if (measuring_ && !report_.undo) executor_.cancel(*measuring_);  // nothing of an undo is cut short
}

void Application::enter(Phase phase) {
  phase_ = phase;
  if (const std::string_view what = words(phase); progress_.phase && !what.empty()) progress_.phase(what);
}

Result<Done> Application::begin() {
  TRY(report_.change_id, ledger_.begin(plan_, options_.author, options_.reason));
  if (options_.measurer == nullptr) return Done{};
  return ledger_.gate(report_.change_id, GateState::owed);
}

void Application::note(const Result<Done>& journalled) {
  if (journalled) return;
  report_.unjournalled = true;
  report_.notes.push_back(journalled.error().text());
}

// A change with a write whose end the journal did not take stays in flight there.
void Application::end_change(std::uint64_t change, const std::vector<StepResult>& steps,
                             const std::string& outcome) {
  if (std::ranges::any_of(steps, &StepResult::unjournalled))
    report_.unjournalled = true;
  else
    note(ledger_.end(change, outcome));
}

void Application::refuse_all(const std::string& why) {
  for (const Step& step : plan_.steps) {
    report_.steps.push_back(
        {.id = step.id, .state = StepState::held, .why = why, .writes = 0, .notes = {}, .took = {}});
    if (progress_.step) progress_.step(step, report_.steps.back());
  }
  report_.verdict = ApplyVerdict::partly;
  report_.owes = options_.measurer != nullptr && !owed_.empty();
}

void Application::next_wave() {
  if (wave_ >= plan_.waves() || must_stop()) {
    // What earlier runs wrote is judged where there is nothing else to do, too.
    if (plan_.waves() > 0) return waves_over();
    return pass_gate([this](bool) { waves_over(); });
  }
  ++wave_;
  if (progress_.wave) progress_.wave(wave_, plan_.waves());
  answered_ = false;
  enter(Phase::write);
  runner_->run_wave(wave_, [this] { wave_over(); });
}

void Application::wave_over() {
  if (must_stop()) return waves_over();
  wave_failed_ = runner_->wave_failed(wave_);
  if (wave_failed_ && wave_ < plan_.waves())
    runner_->skip_from(wave_ + 1, StepState::skipped, "wave " + std::to_string(wave_) + " did not succeed");
  if (!wave_failed_) return verify_wave();
  even_out([this] { verify_wave(); });
}

void Application::verify_wave() {
  std::vector<Step> touched = with_remedies(wave_);
  if (touched.empty()) return judge_wave();
  settle(std::move(touched), wave_ == plan_.waves(), [this] { judge_wave(); });
}

void Application::judge_wave() {
  pass_gate([this](bool go_on) { go_on && !wave_failed_ ? next_wave() : waves_over(); });
}

void Application::waves_over() {
  if (must_stop()) runner_->skip_from(1, StepState::stopped, "asked to stop");
  report_.steps = runner_->results();
  const std::vector<Step> all = written();
  report_.blast = blast_radius(joined(all, cures()), fleet_.wiring());
  report_.owes = options_.measurer != nullptr && !answered_ && !all.empty();
  conclude();
}

void Application::conclude() {
  report_.verdict = report_.undo ? report_.verdict : judge();
  const bool told = std::ranges::none_of(report_.steps, &StepResult::unjournalled);
  if (options_.measurer != nullptr && !report_.owes && told) {
    for (const OwedChange& one : options_.owed) note(ledger_.gate(one.change, GateState::settled));
    if (report_.change_id != 0) note(ledger_.gate(report_.change_id, GateState::settled));
  }
  if (report_.owes)
    report_.notes.push_back(
        "not all that was written has been judged: the next apply measures what it can have touched, and "
        "keeps or undoes it");
  if (report_.change_id != 0)
    end_change(report_.change_id, report_.steps, std::string(to_string(report_.verdict)));
  if (report_.unjournalled)
    report_.notes.push_back(
        "how this ended is not all in the journal: the next apply tells what is left open, and goes on from "
        "what it finds");
  finish();
}

void Application::finish() {
  enter(Phase::over);
  executor_.defer(callbacks_.bind([this] {
    const auto done = std::move(done_);  // which may end this application
    done(std::move(report_));
  }));
}

// The steps that wrote, those of earlier runs first.
std::vector<Step> Application::written() const { return joined(owed_, runner_->written()); }

// The steps that wrote, and the remedies so far: what those were for is observed too.
std::vector<Step> Application::with_remedies(std::uint32_t wave) const {
  std::vector<Step> out = runner_->written();
  for (const Step& step : plan_.steps)
    if (!step.remedy.empty() && step.wave <= wave) out.push_back(step);
  return out;
}

void Application::settle(std::vector<Step> touched, bool all, std::function<void()> then) {
  enter(Phase::verify);
  effects_.settle(std::move(touched), all, [this, then = std::move(then)](std::vector<OpenEffect> open) {
    report_.effects = std::move(open);
    for (std::string& one : effects_.take_notes()) report_.notes.push_back(std::move(one));
    then();
  });
}

// Remedies that were carried out and can have changed how traffic goes: measured as a change is.
std::vector<Step> Application::cures() const {
  std::vector<Step> out = effects_.cures();
  for (const Step& step : plan_.steps)
    if (!step.remedy.empty() && step.disruption != Disruption::none &&
        runner_->results()[step.id - 1].state == StepState::done)
      out.push_back(step);
  return out;
}

bool Application::fails(const std::optional<GateResult>& gate) const {
  if (!gate) return false;
  const bool unknown = gate->verdict == GateVerdict::unknown || gate->judged.unknown();
  return gate->judged.undoes() || (options_.strict && unknown);
}

// What no gate has answered for yet: what was written since the last one, and of that the paths that it
// left out because of steps to come. Where such a step wrote, it touches those paths itself; where one did
// not (it was found as wanted), all is measured again.
std::vector<Step> Application::due() const {
  const auto wrote_nothing = [&](std::uint32_t id) {
    return runner_->results()[id - 1].state == StepState::nothing_to_do;
  };
  const std::vector<Step> cured = cures();
  if (gates_ == 0 || std::any_of(left_out_.begin(), left_out_.end(), wrote_nothing))
    return joined(written(), cured);
  std::vector<Step> since = effects_.cures();  // they come last
  for (const Step& step : joined(runner_->written(), cured))
    if (!judged_.contains(step.id)) since.push_back(step);
  return since;
}

// What has not been done yet, or will not be in this run, and may break a path of which one end has changed
// and the other has not: such a path is judged at the end. What disturbs nothing hides no path: the first
// wave of a new sysctl is a canary although every path leads to a host that waits for it.
std::vector<Step> Application::pending() const {
  std::vector<Step> out;
  for (const Step& step : plan_.steps) {
    const StepResult& result = runner_->results()[step.id - 1];
    const bool over = result.state == StepState::done || result.state == StepState::nothing_to_do;
    if (!over && result.writes == 0 && changes_paths(step)) out.push_back(step);
  }
  return out;
}

Application::Reverse::Reverse() = default;

void Application::reverse(std::vector<Step> steps, const std::vector<DeviceState>& now,
                          const std::string& reason, std::function<void()> done) {
  reverse_.emplace();
  Plan forward;
  forward.steps = std::move(steps);
  const UndoInput back = undo_of(forward, fleet_, now, options_.policy_for);
  report_.notes.insert(report_.notes.end(), back.left_out.begin(), back.left_out.end());
  Result<Plan> planned = make_plan(back.input);
  if (!planned) {
    report_.notes.push_back("the reverse can't be planned: " + planned.error().text());
    return done();
  }
  reverse_->plan = *std::move(planned);
  // Never held back but by what protects the path to the device, and by what the device itself refuses.
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
  reverse_->nothing_left_out = back.left_out.empty();
  reverse_->done = std::move(done);
  reverse_->runner.emplace(RunContext{fleet_, executor_, ledger_, options_, {}, reverse_->change},
                           reverse_->plan, progress_);
  reverse_wave(1);
}

void Application::reverse_wave(std::uint32_t wave) {
  if (wave <= reverse_->plan.waves())
    return reverse_->runner->run_wave(wave, [this, wave] { reverse_wave(wave + 1); });
  reverse_->steps = reverse_->runner->results();
  reverse_->whole = reverse_->nothing_left_out &&
                    std::all_of(reverse_->steps.begin(), reverse_->steps.end(), [](const StepResult& one) {
                      return one.state == StepState::done || one.state == StepState::nothing_to_do;
                    });
  reverse_->done();
}

// A cable of which one end did not take its part is as it was, at both ends. What worked before must work
// again before anything more is disturbed.
void Application::even_out(std::function<void()> then) {
  std::vector<Step> short_of = half_done(plan_, runner_->results(), fleet_);
  const std::vector<Step> wrote = runner_->written();
  if (short_of.empty() || wrote.empty()) return then();
  settle(wrote, false, [this, wrote, short_of = std::move(short_of), then = std::move(then)] {
    effects_.observe_written(
        joined(wrote, short_of),
        [this, short_of, then](const std::vector<DeviceState>& now) { even_out_ends(short_of, now, then); });
  });
}

void Application::even_out_ends(const std::vector<Step>& short_of, const std::vector<DeviceState>& now,
                                const std::function<void()>& then) {
  const UnevenEnds uneven = uneven_ends(short_of, runner_->written(), fleet_, now);
  if (!uneven.take_back.empty() && !report_.effects.empty()) {
    report_.notes.push_back(
        "not yet: " + report_.effects.front().device + " does not do again what it did before (" +
        report_.effects.front().change.path.text() + "); a cable is left with ends that differ");
    return then();
  }
  report_.notes.insert(report_.notes.end(), uneven.notes.begin(), uneven.notes.end());
  if (uneven.take_back.empty()) return then();
  enter(Phase::even_out);
  reverse(uneven.take_back, now, "both ends of a cable alike: of change " + changes_text(), [this, then] {
    if (!reverse_->whole) report_.notes.push_back("a cable is left with ends that differ");
    if (reverse_->change != 0)
      end_change(reverse_->change, reverse_->steps, reverse_->whole ? "undone" : "undo failed");
    then();
  });
}

// The planned reverse of all that was written, verified and measured. `then(true)`: all is as it was.
void Application::undo(std::vector<Step> not_done, std::function<void(bool)> then) {
  enter(Phase::undo);
  effects_.hold_out();
  report_.verdict = ApplyVerdict::undo_failed;
  effects_.observe_written(written(), [this, not_done = std::move(not_done),
                                       then = std::move(then)](const std::vector<DeviceState>& now) {
    reverse(written(), now, "undo of change " + changes_text(),
            [this, not_done, then] { undone(not_done, then); });
  });
}

void Application::undone(const std::vector<Step>& not_done, std::function<void(bool)> then) {
  report_.undo = reverse_->plan;
  report_.undo_steps = reverse_->steps;
  if (reverse_->change == 0) return then(false);
  settle(written(), false, [this, not_done, then = std::move(then)] {
    measure_again(not_done, [this, then] {
      if (reverse_->whole && report_.effects.empty()) report_.verdict = ApplyVerdict::undone;
      end_change(reverse_->change, reverse_->steps, std::string(to_string(report_.verdict)));
      then(report_.verdict == ApplyVerdict::undone);
    });
  });
}

// "7", or "5, 6 and 7" where owed ones go with it.
std::string Application::changes_text() const {
  std::vector<std::uint64_t> ids;
  for (const OwedChange& one : options_.owed) ids.push_back(one.change);
  if (report_.change_id != 0) ids.push_back(report_.change_id);
  std::string text;
  for (std::size_t i = 0; i < ids.size(); ++i)
    text += (i == 0 ? "" : i + 1 == ids.size() ? " and " : ", ") + std::to_string(ids[i]);
  return text;
}

ApplyVerdict Application::judge() const {
  const std::size_t good = report_.count(StepState::done) + report_.count(StepState::nothing_to_do);
  if (must_stop()) return ApplyVerdict::stopped;
  if (fails(report_.gate) && (only_cured_ || options_.on_fail == OnFail::quarantine))
    return ApplyVerdict::quarantined;
  if (not_validated_) return ApplyVerdict::not_validated;
  // Whether remedies helped is what the effects say, however they came back.
  std::size_t useless = 0;
  for (std::size_t i = 0; i < report_.steps.size(); ++i)
    if (!plan_.steps[i].remedy.empty() && report_.steps[i].state == StepState::failed) ++useless;
  const auto waiting = static_cast<std::size_t>(std::count_if(
      report_.steps.begin(), report_.steps.end(), [](const StepResult& one) { return one.waits; }));
  if (good + useless + waiting < report_.steps.size()) return ApplyVerdict::partly;
  if (waiting > 0) return ApplyVerdict::waits;
  if (!report_.effects.empty()) return ApplyVerdict::effects_open;
  return report_.count(StepState::done) == 0 && owed_.empty() ? ApplyVerdict::nothing_to_do
                                                              : ApplyVerdict::kept;
}

}  // namespace lockstep
