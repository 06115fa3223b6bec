#include "reconciler/engine/apply.hpp"

#include <algorithm>
#include <utility>

#include "reconciler/engine/effects.hpp"
#include "reconciler/engine/link_ends.hpp"
#include "reconciler/engine/runner.hpp"
#include "reconciler/engine/windows.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

class Application {
 public:
  Application(Fleet& fleet, Executor& executor, Ledger& ledger, const Plan& plan, const ApplyOptions& options,
              const Progress& progress, std::stop_token stop)
      : fleet_(fleet),
        executor_(executor),
        ledger_(ledger),
        plan_(plan),
        options_(options),
        progress_(progress),
        stop_(stop),
        owed_(steps_of(options.owed)),
        effects_(fleet, executor, ledger, options, std::move(stop)) {}

  ApplyReport run() {
    if (plan_.empty() && owed_.empty()) return std::move(report_);
    if (!plan_.empty()) {
      const Result<Done> begun = begin();
      if (!begun) return refuse_all(begun.error().text());
    }
    if (!plan_.refusals.empty() && !options_.refusals_approved) {
      refuse_all(plan_.refusals.front());
    } else {
      effects_.remember(joined(owed_, plan_.steps));
      run_waves();
    }
    report_.verdict = report_.undo ? report_.verdict : judge();
    end();
    return std::move(report_);
  }

 private:
  Result<Done> begin() {
    TRY(report_.change_id, ledger_.begin(plan_, options_.author, options_.reason));
    if (options_.measurer == nullptr) return Done{};
    return ledger_.gate(report_.change_id, GateState::owed);
  }

  void note(const Result<Done>& journalled) {
    if (!journalled) report_.notes.push_back(journalled.error().text());
  }

  void end() {
    if (options_.measurer != nullptr && !report_.owes) {
      for (const OwedChange& one : options_.owed) note(ledger_.gate(one.change, GateState::settled));
      if (report_.change_id != 0) note(ledger_.gate(report_.change_id, GateState::settled));
    }
    if (report_.owes)
      report_.notes.push_back(
          "not all that was written has been judged: the next apply measures what it can have touched, and "
          "keeps or undoes it");
    if (report_.change_id != 0) note(ledger_.end(report_.change_id, std::string(to_string(report_.verdict))));
  }

  ApplyReport refuse_all(const std::string& why) {
    for (const Step& step : plan_.steps) {
      report_.steps.push_back(
          {.id = step.id, .state = StepState::held, .why = why, .writes = 0, .notes = {}, .took = {}});
      if (progress_.step) progress_.step(step, report_.steps.back());
    }
    report_.verdict = ApplyVerdict::partly;
    report_.owes = options_.measurer != nullptr && !owed_.empty();
    return report_;
  }

  void run_waves() {
    Runner runner(fleet_, executor_, ledger_, plan_, report_.change_id, options_, progress_, stop_);
    const std::uint32_t waves = plan_.waves();
    for (std::uint32_t wave = 1; wave <= waves && !stop_.stop_requested(); ++wave) {
      if (progress_.wave) progress_.wave(wave, waves);
      answered_ = false;
      runner.run_wave(wave);
      if (stop_.stop_requested()) break;
      const bool failed = runner.wave_failed(wave);
      const bool last = wave == waves;
      if (failed && !last)
        runner.skip_from(wave + 1, StepState::skipped, "wave " + std::to_string(wave) + " did not succeed");
      if (failed) even_out(runner);
      const std::vector<Step> written = runner.written();
      if (const std::vector<Step> touched = with_remedies(written, wave); !touched.empty())
        settle(touched, last);
      if ((last || failed || is_live(wave)) && !pass_gate(runner, wave)) break;
      if (failed) break;
    }
    if (waves == 0) pass_gate(runner, 0);
    if (stop_.stop_requested()) runner.skip_from(1, StepState::stopped, "asked to stop");
    report_.steps = runner.results();
    const std::vector<Step> written = joined(owed_, runner.written());
    report_.blast = blast_radius(joined(written, cures(runner)), fleet_.wiring());
    report_.owes = options_.measurer != nullptr && !answered_ && !written.empty();
  }

  static std::vector<Step> joined(std::vector<Step> first, const std::vector<Step>& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  }

  // The steps that wrote, and the remedies so far: what those were for is looked at too.
  std::vector<Step> with_remedies(std::vector<Step> written, std::uint32_t wave) const {
    for (const Step& step : plan_.steps)
      if (!step.remedy.empty() && step.wave <= wave) written.push_back(step);
    return written;
  }

  bool is_live(std::uint32_t wave) const {
    return std::any_of(plan_.steps.begin(), plan_.steps.end(),
                       [wave](const Step& step) { return step.wave == wave && step.live; });
  }

  void settle(const std::vector<Step>& touched, bool all) {
    if (progress_.phase) progress_.phase("verify");
    report_.effects = effects_.settle(touched, all);
    for (std::string& one : effects_.take_notes()) report_.notes.push_back(std::move(one));
  }

  // Remedies that were carried out and can have changed how traffic goes: measured as a change is.
  std::vector<Step> cures(const Runner& runner) const {
    std::vector<Step> out = effects_.cures();
    for (const Step& step : plan_.steps)
      if (!step.remedy.empty() && step.disruption != Disruption::none &&
          runner.results()[step.id - 1].state == StepState::done)
        out.push_back(step);
    return out;
  }

  // What the benchmarks said, `judged` if they said anything: none: there was nothing to ask.
  struct Answer {
    GateResult gate;
    bool judged = false;
  };
  std::optional<Answer> measure(const BlastRadius& affected, const BlastRadius& pending) {
    if (options_.measurer == nullptr || affected.empty()) return std::nullopt;
    if (progress_.phase) progress_.phase("measure");
    auto answer = std::make_shared<std::optional<Result<GateResult>>>();
    bool over = false;
    Measurer* const measurer = options_.measurer;
    const std::uint64_t job = executor_.start(
        Job{.key = "measure",
            .lane = Lane::bench,
            .deadline = executor_.now() + options_.measure_timeout,
            .run = [answer, measurer, affected,
                    pending](const Call& call) { *answer = measurer->measure(affected, pending, call); },
            .done = [&over](Outcome) { over = true; }});
    bool cancelled = false;
    while (!over && executor_.step())
      if (effects_.must_stop() && !std::exchange(cancelled, true)) executor_.cancel(job);
    Answer out{{GateVerdict::unknown, "no verdict in time"}, false};
    if (*answer && **answer) out = {***answer, true};
    if (*answer && !**answer) out.gate.why = (*answer)->error().text();
    if (progress_.gate) progress_.gate(out.gate);
    return out;
  }

  bool fails(const std::optional<GateResult>& gate) const {
    if (!gate) return false;
    return gate->verdict == GateVerdict::fail || (options_.strict && gate->verdict == GateVerdict::unknown);
  }

  // What no gate has answered for yet: what was written since the last one, and of that the paths that it
  // left out because of steps to come. Where such a step wrote, it touches those paths itself; where one did
  // not (it was found as wanted), all is measured again.
  std::vector<Step> due(const Runner& runner) const {
    const std::vector<Step> all = joined(owed_, runner.written());
    const auto wrote_nothing = [&](std::uint32_t id) {
      return runner.results()[id - 1].state == StepState::nothing_to_do;
    };
    const std::vector<Step> cured = cures(runner);
    if (gates_ == 0 || std::any_of(left_out_.begin(), left_out_.end(), wrote_nothing))
      return joined(all, cured);
    std::vector<Step> since = effects_.cures();  // they come last
    for (const Step& step : joined(runner.written(), cured))
      if (!judged_.contains(step.id)) since.push_back(step);
    return since;
  }

  // What has not been done yet, or will not be in this run: what ails those paths is not this change's doing.
  std::vector<Step> pending(const Runner& runner) const {
    std::vector<Step> out;
    for (const Step& step : plan_.steps) {
      const StepResult& result = runner.results()[step.id - 1];
      const bool over = result.state == StepState::done || result.state == StepState::nothing_to_do;
      if (!over && result.writes == 0) out.push_back(step);
    }
    return out;
  }

  // False: the gate failed and nothing further may run.
  bool pass_gate(Runner& runner, std::uint32_t wave) {
    const std::vector<Step> written = joined(owed_, runner.written());
    const std::vector<Step> cured = cures(runner);
    if ((written.empty() && cured.empty()) || stop_.stop_requested()) return true;
    // What a remedy did not bring back needs no measurement to be known.
    if (written.empty() && !report_.effects.empty()) return true;
    const std::vector<Step> later = pending(runner);
    const std::optional<Answer> answer =
        measure(blast_radius(due(runner), fleet_.wiring()), blast_radius(later, fleet_.wiring()));
    if (answer) report_.gate = answer->gate;
    if (stop_.stop_requested()) return true;
    if (!answer || answer->judged) {
      ++gates_;
      answered_ = later.empty();
      left_out_.clear();
      for (const Step& step : later) left_out_.insert(step.id);
      for (const Step& step : joined(runner.written(), cured)) judged_.insert(step.id);
    }
    if (!answer || !fails(answer->gate)) return true;
    const GateResult& gate = answer->gate;
    if (options_.on_fail == OnFail::alert) {
      report_.notes.push_back("the gate failed after wave " + std::to_string(wave) + ": " + gate.why);
      return true;
    }
    runner.skip_from(wave + 1, StepState::skipped, "the gate failed after wave " + std::to_string(wave));
    only_cured_ = written.empty();
    if (only_cured_) report_.notes.push_back("nothing was written that could be undone: a remedy stays");
    answered_ = only_cured_ || options_.on_fail == OnFail::quarantine || undo(written, later);
    return false;
  }

  // A plan from what is to what was before some steps, under the same rules, carried through.
  struct Reverse {
    Plan plan;
    std::uint64_t change = 0;  // of the journal; 0: it was not begun
    std::vector<StepResult> steps;
    bool whole = false;
  };
  Reverse reverse(std::vector<Step> written, const std::vector<DeviceState>& now, const std::string& reason) {
    Reverse out;
    Plan done;
    done.steps = std::move(written);
    const UndoInput back = undo_of(done, fleet_, now, options_.policy_for);
    report_.notes.insert(report_.notes.end(), back.left_out.begin(), back.left_out.end());
    Result<Plan> planned = make_plan(back.input);
    if (!planned) {
      report_.notes.push_back("the reverse can't be planned: " + planned.error().text());
      return out;
    }
    out.plan = std::move(*planned);
    // Never held back but by what protects the path to the device.
    for (Step& step : out.plan.steps)
      std::erase_if(step.holds, [](const Hold& hold) { return hold.kind != Hold::Kind::management; });
    const auto begun = ledger_.begin(out.plan, options_.author, reason);
    if (!begun) {
      report_.notes.push_back(begun.error().text());
      return out;
    }
    out.change = *begun;
    Runner runner(fleet_, executor_, ledger_, out.plan, out.change, options_, progress_, {});
    for (std::uint32_t wave = 1; wave <= out.plan.waves(); ++wave) runner.run_wave(wave);
    out.steps = runner.results();
    out.whole =
        back.left_out.empty() && std::all_of(out.steps.begin(), out.steps.end(), [](const StepResult& one) {
          return one.state == StepState::done || one.state == StepState::nothing_to_do;
        });
    return out;
  }

  // A cable of which one end did not take its part is as it was, at both ends. What worked before must work
  // again before anything more is disturbed.
  void even_out(const Runner& runner) {
    const std::vector<Step> short_of = half_done(plan_, runner.results(), fleet_);
    const std::vector<Step> written = runner.written();
    if (short_of.empty() || written.empty()) return;
    settle(written, false);
    const std::vector<DeviceState> now = effects_.look_well(joined(written, short_of));
    const UnevenEnds uneven = uneven_ends(short_of, written, fleet_, now);
    if (!uneven.take_back.empty() && !report_.effects.empty()) {
      report_.notes.push_back(
          "not yet: " + report_.effects.front().device + " does not do again what it did before (" +
          report_.effects.front().change.path.text() + "); a cable is left with ends that differ");
      return;
    }
    report_.notes.insert(report_.notes.end(), uneven.notes.begin(), uneven.notes.end());
    if (uneven.take_back.empty()) return;
    if (progress_.phase) progress_.phase("even out");
    const Reverse back =
        reverse(uneven.take_back, now, "both ends of a cable alike: of change " + changes_text());
    if (!back.whole) report_.notes.push_back("a cable is left with ends that differ");
    if (back.change != 0) note(ledger_.end(back.change, back.whole ? "undone" : "undo failed"));
  }

  // The planned reverse of all that was written, verified and measured. True: all is as it was.
  bool undo(const std::vector<Step>& written, const std::vector<Step>& not_done) {
    if (progress_.phase) progress_.phase("undo");
    effects_.hold_out();
    report_.verdict = ApplyVerdict::undo_failed;
    Reverse back = reverse(written, effects_.look_well(written), "undo of change " + changes_text());
    report_.undo = std::move(back.plan);
    report_.undo_steps = std::move(back.steps);
    if (back.change == 0) return false;
    settle(written, false);
    if (const auto again =
            measure(blast_radius(written, fleet_.wiring()), blast_radius(not_done, fleet_.wiring())))
      report_.gate_after_undo = again->gate;
    if (back.whole && report_.effects.empty()) report_.verdict = ApplyVerdict::undone;
    note(ledger_.end(back.change, std::string(to_string(report_.verdict))));
    return report_.verdict == ApplyVerdict::undone;
  }

  // "7", or "5, 6 and 7" where owed ones go with it.
  std::string changes_text() const {
    std::vector<std::uint64_t> ids;
    for (const OwedChange& one : options_.owed) ids.push_back(one.change);
    if (report_.change_id != 0) ids.push_back(report_.change_id);
    std::string text;
    for (std::size_t i = 0; i < ids.size(); ++i)
      text += (i == 0 ? "" : i + 1 == ids.size() ? " and " : ", ") + std::to_string(ids[i]);
    return text;
  }

  ApplyVerdict judge() const {
    const std::size_t good = report_.count(StepState::done) + report_.count(StepState::nothing_to_do);
    if (stop_.stop_requested()) return ApplyVerdict::stopped;
    if (fails(report_.gate) && (only_cured_ || options_.on_fail == OnFail::quarantine))
      return ApplyVerdict::quarantined;
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

  Fleet& fleet_;
  Executor& executor_;
  Ledger& ledger_;
  const Plan& plan_;
  const ApplyOptions& options_;
  const Progress& progress_;
  std::stop_token stop_;
  const std::vector<Step> owed_;  // what earlier runs wrote
  ApplyReport report_;
  bool answered_ = false;             // all that was written was judged, or taken back
  std::size_t gates_ = 0;             // that judged some of it
  std::set<std::uint32_t> judged_;    // steps that wrote before the last of them
  std::set<std::uint32_t> left_out_;  // steps whose paths it did not measure
  bool only_cured_ = false;           // the gate failed, and there is nothing to take back
  Effects effects_;
};

}  // namespace

ApplyReport apply(Fleet& fleet, Executor& executor, Ledger& ledger, const Plan& plan,
                  const ApplyOptions& options, const Progress& progress, std::stop_token stop) {
  const Plan held = hold_for_windows(plan, fleet, options, options.measurer != nullptr, executor.wall_time());
  return Application(fleet, executor, ledger, held, options, progress, std::move(stop)).run();
}

}  // namespace lockstep
