#include "reconciler/engine/application.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <utility>

#include "reconciler/engine/link_ends.hpp"
#include "reconciler/engine/step_order.hpp"
#include "reconciler/engine/windows.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

LinkMatter matter(const PlannedChange& change) {
  return change.transient ? LinkMatter::none : link_matter(schema_row(change.path.row()));
}

// The name of a phase for Progress::phase; empty: it is not reported.
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
      earlier_(earlier_of(options_.owed)),
      owed_(steps_of_all(earlier_)),
      effects_(fleet, executor, options_) {}

Application::~Application() {
  if (measuring_) executor_.cancel(*measuring_);
}

void Application::start(std::function<void(ApplyReport)> done) {
  done_ = std::move(done);
  if (plan_.empty() && owed_.empty()) return finish();
  // An automatic run retries held steps again and again, and does not journal a change for that.
  if (!plan_.empty() && (options_.choice.person || !may_begin().empty()))
    if (const Result<Done> begun = begin(); !begun) {
      refuse_all(begun.error().text());
      return finish();
    }
  if (!plan_.refusals.empty() && !options_.refusals_approved) {
    refuse_all(plan_.refusals.front());
    return conclude();
  }
  if (options_.before_writing && !may_begin().empty())
    if (const Result<Done> stored = options_.before_writing(); !stored) {
      refuse_all(stored.error().text());
      return conclude();
    }
  enter(Phase::remember);
  effects_.remember(joined(owed_, plan_.steps), [this](std::set<std::string> unseen) {
    if (takes_back()) effects_.forget_what_came_with(options_.takes_back);
    set_aside_neighbours();
    runner_.emplace(RunContext{.fleet = fleet_,
                               .executor = executor_,
                               .ledger = ledger_,
                               .options = options_,
                               .stop = stop_.get_token(),
                               .change = report_.change_id,
                               .unseen = std::move(unseen),
                               .comes_back = takes_back() ? comes_back_after(options_.takes_back) : nullptr,
                               .open_changes = [this] { return open_changes(); }},
                    plan_, progress_);
    drop_what_is_gone([this] { measure_before([this] { next_wave(); }); });
  });
}

// Of devices that have accepted another leader, those that this run writes to end it; one beside them does
// not.
void Application::set_aside_neighbours() {
  if (options_.epoch == nullptr) return;
  std::set<std::string> written_to;
  for (const Step& step : may_begin()) written_to.insert(step.device);
  options_.epoch->set_aside_but(written_to);
}

void Application::stop() {
  stop_.request_stop();
  effects_.stop();
  if (runner_) runner_->stop();
  if (measuring_ && !undoing_) executor_.cancel(*measuring_);  // a rollback is not cut short
}

void Application::enter(Phase phase) {
  phase_ = phase;
  if (const std::string_view what = words(phase); progress_.phase && !what.empty()) progress_.phase(what);
}

// Steps without a hold from the start. Without remedies for effects that are not open: most are not needed.
std::vector<Step> Application::may_begin() const {
  std::vector<Step> out;
  for (const Step& step : plan_.steps)
    if (!step.stands_by() && standing_holds(step, options_.approved).empty()) out.push_back(step);
  return out;
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

// A change with a write whose outcome the journal did not record stays in flight there.
void Application::end_change(std::uint64_t change, const std::vector<StepResult>& steps,
                             const std::string& outcome) {
  const auto untold = std::ranges::find_if(steps, &StepResult::unjournalled);
  if (untold == steps.end()) return note(ledger_.end(change, outcome));
  report_.unjournalled = true;
  if (!untold->notes.empty()) report_.notes.push_back(untold->notes.back());
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
    // Changes of earlier runs are judged even if there is nothing else to do.
    if (plan_.waves() > 0) return waves_over();
    return pass_gate([this](bool) { waves_over(); });
  }
  ++wave_;
  runner_->leave_without_forerunner(wave_);
  if (progress_.wave) progress_.wave(wave_, plan_.waves());
  answered_ = false;
  unsure_ = {""};
  remedy_rounds_ = 0;
  enter(Phase::write);
  const auto write = [this] { runner_->run_wave(wave_, [this] { wave_over(); }); };
  std::set<std::uint32_t> first;
  for (const Step& step : remedies_left())
    if (step.before_writes && step.wave == wave_) first.insert(step.id);
  first.empty() ? write() : runner_->run_remedies(first, write);
}

void Application::wave_over() {
  if (is_over()) return waves_over();
  if (must_stop()) return even_out([this] { waves_over(); });
  wave_failed_ = runner_->wave_failed(wave_);
  if (wave_failed_ && wave_ < plan_.waves())
    runner_->skip_from(wave_ + 1, StepState::skipped, "wave " + std::to_string(wave_) + " did not succeed");
  if (!wave_failed_ && !runner_->wave_held(wave_)) return verify_wave();
  even_out([this] { verify_wave(); });
}

void Application::verify_wave() {
  std::vector<Step> touched = joined(runner_->written(), runner_->tried());
  if (touched.empty() && remedies_left().empty() && remedy_rounds_ == 0) return judge_wave();
  std::vector<Step> remedies;
  for (const Step& step : plan_.steps)
    if (!step.remedy.empty() && step.wave <= wave_) remedies.push_back(step);
  settle(std::move(touched), remedies, wave_ == plan_.waves() && !takes_back(), [this] {
    judge_remedies();
    carry_out_remedies();
  });
}

// A failed wave is judged at once: nothing comes after it.
void Application::judge_wave() {
  if (!wave_failed_ && !plan_.is_gated(wave_)) return next_wave();
  pass_gate([this](bool go_on) { go_on && !wave_failed_ ? next_wave() : waves_over(); });
}

void Application::waves_over() {
  if (must_stop()) runner_->skip_from(1, StepState::stopped, options_.why_over().value_or("asked to stop"));
  remedies_over();
  report_.steps = runner_->results();
  report_.blast = blast_radius(joined(written(), cures()), fleet_.wiring());
  conclude();
}

void Application::conclude() {
  if (!undoing_) {
    report_.verdict = judge();
    report_.fell_short = any_failed();
  }
  if (const auto why = options_.why_over()) report_.notes.push_back(*why + "; nothing more was begun");
  note_unplanned_remedies();
  note_owed();
  accept_kept();
  if (report_.owes)
    report_.notes.push_back(
        "not all that was written has been judged: the next apply measures what it can have touched, and "
        "keeps or undoes it");
  if (report_.change_id != 0)
    end_change(report_.change_id, report_.steps, std::string(to_string(report_.verdict)));
  if (report_.unjournalled)
    report_.notes.push_back(
        "how this ended is not all in the journal: the next apply reports what is left open, and goes on "
        "from "
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

// Changes of earlier runs that are not validated yet.
std::vector<OwedChange> Application::open_changes() const {
  std::vector<OwedChange> out = options_.open;
  if (judged_any_) return out;
  for (const OwedChange& one : options_.owed)
    if (std::ranges::find(earlier_, one.change, &Written::change) != earlier_.end()) out.push_back(one);
  return out;
}

// The steps that wrote, those of earlier runs first.
std::vector<Step> Application::written() const { return joined(owed_, runner_->written()); }

std::vector<Application::Written> Application::earlier_of(const std::vector<OwedChange>& owed) {
  std::vector<Written> out;
  for (const OwedChange& one : owed)
    out.push_back({one.change, steps_of(one), false, one.subjects, pointer(one.before)});
  std::sort(out.begin(), out.end(), [](const Written& a, const Written& b) { return a.change > b.change; });
  return out;
}

std::vector<Step> Application::steps_of_all(const std::vector<Written>& newest_first) {
  std::vector<Step> out;
  for (auto one = newest_first.rbegin(); one != newest_first.rend(); ++one) out = joined(out, one->steps);
  return out;
}

// Changes that wrote and may have to be rolled back, newest first.
std::vector<Application::Written> Application::changes() const {
  std::vector<Written> out;
  if (std::vector<Step> wrote = runner_->written(); !wrote.empty())
    out.push_back({report_.change_id, std::move(wrote), true, {}, pointer(before_)});
  out.insert(out.end(), earlier_.begin(), earlier_.end());
  return out;
}

void Application::settle(std::vector<Step> touched, const std::vector<Step>& remedies, bool all,
                         std::function<void()> then) {
  enter(Phase::verify);
  effects_.settle(std::move(touched), remedies, all,
                  [this, then = std::move(then)](std::vector<OpenEffect> open) {
                    report_.effects = std::move(open);
                    report_.open_before = effects_.open_before();
                    then();
                  });
}

// Remedies that can have changed how traffic flows: measured like a change.
std::vector<Step> Application::cures() const {
  std::vector<Step> out = runner_->tried();
  std::erase_if(out, [this](const Step& step) {
    return step.disruption == Disruption::none || runner_->results()[step.id - 1].writes == 0;
  });
  return out;
}

bool Application::fails(const std::optional<GateResult>& gate) const {
  if (!gate) return false;
  const bool unknown = gate->verdict == GateVerdict::unknown || gate->judged.unknown();
  return gate->judged.undoes() || (options_.strict && unknown);
}

// What no gate has covered yet: what was written since the last gate, and the paths that it left out because
// of later steps (`later`: the current ones). If such a step wrote, it touches those paths itself; if one did
// not and will not any more, everything is measured again.
std::vector<Step> Application::due(const std::vector<Step>& later) const {
  const auto came_to_nothing = [&](std::uint32_t id) {
    return runner_->results()[id - 1].writes == 0 && std::ranges::find(later, id, &Step::id) == later.end();
  };
  const std::vector<Step> cured = cures();
  if (gates_ == 0 || std::any_of(left_out_.begin(), left_out_.end(), came_to_nothing))
    return joined(joined(never_measured(), runner_->written()), cured);
  std::vector<Step> since;
  for (const Step& step : joined(runner_->written(), cured))
    if (!judged_.contains(step.id)) since.push_back(step);
  return since;
}

// Steps of this run that may still write and complete what is half done: a step that comes after one that
// wrote, or its changes that must be alike along a path with what was written (the MTU, a lossless class).
// Their paths are judged once they are done. The paths of any other later step are still as before the
// change, so they are measured; a step that is held, or left alone because of a held one, leaves its paths as
// they are.
std::vector<Step> Application::pending() const {
  std::set<std::uint32_t> begun;
  std::set<LinkMatter> matters;
  for (const Step& step : joined(never_measured(), runner_->written())) {
    if (step.id != 0) begun.insert(step.id);
    for (const PlannedChange& change : step.changes) matters.insert(matter(change));
  }
  matters.erase(LinkMatter::none);
  Before follows(
      plan_.barriers, false, [&begun](std::uint32_t id) { return begun.contains(id); }, std::logical_or<>{});
  std::vector<Step> out;
  std::vector<Step> to_come = runner_->to_come();
  for (Step& step : to_come) {
    if (!step.remedy.empty()) continue;
    if (follows.of(step))
      begun.insert(step.id);
    else
      std::erase_if(step.changes,
                    [&](const PlannedChange& change) { return !matters.contains(matter(change)); });
    if (!step.changes.empty()) out.push_back(std::move(step));
  }
  return out;
}

// Without remedies: the effects show whether they helped.
bool Application::any_failed() const {
  for (std::size_t i = 0; i < report_.steps.size(); ++i)
    if (plan_.steps[i].remedy.empty() && report_.steps[i].state == StepState::failed) return true;
  return false;
}

ApplyVerdict Application::judge() const {
  const auto good =
      static_cast<std::size_t>(std::ranges::count_if(report_.steps, is_good, &StepResult::state));
  if (is_over()) return ApplyVerdict::taken_over;
  if (must_stop()) return ApplyVerdict::stopped;
  if (fails(report_.gate) && stays_) return ApplyVerdict::quarantined;
  if (not_validated_) return ApplyVerdict::not_validated;
  // The effects show whether remedies helped, however these ended.
  std::size_t useless = 0;
  for (std::size_t i = 0; i < report_.steps.size(); ++i)
    if (!plan_.steps[i].remedy.empty() && report_.steps[i].state == StepState::failed) ++useless;
  const auto waiting = static_cast<std::size_t>(std::count_if(
      report_.steps.begin(), report_.steps.end(), [](const StepResult& one) { return one.waits; }));
  const auto asking = static_cast<std::size_t>(std::count_if(report_.steps.begin(), report_.steps.end(),
                                                             [](const StepResult& one) { return one.asks; }));
  if (good + useless + waiting + asking < report_.steps.size()) return ApplyVerdict::partly;
  if (asking > 0) return ApplyVerdict::asks;
  if (waiting > 0) return ApplyVerdict::waits;
  if (!report_.effects.empty()) return ApplyVerdict::effects_open;
  return report_.count(StepState::done) == 0 && owed_.empty() ? ApplyVerdict::nothing_to_do
                                                              : ApplyVerdict::kept;
}

}  // namespace lockstep
