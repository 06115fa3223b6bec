// How an application measures: before its first write, after each wave, to confirm, and what follows from it.
#include <memory>
#include <utility>

#include "reconciler/engine/application.hpp"

namespace lockstep {

void Application::ask(GateQuestion question, std::function<void(const Result<GateMeasurement>&)> then) {
  enter(Phase::measure);
  auto answer = std::make_shared<std::optional<Result<GateMeasurement>>>();
  Measurer* const measurer = options_.measurer;
  const auto answered = [answer, then = std::move(then)](const Outcome& outcome) {
    const bool returned = outcome == Outcome::returned;  // else the worker may yet write the answer
    if (returned && *answer) return then(**answer);
    then(Error{ErrorKind::transient, outcome.reason_or("no verdict in time")});
  };
  measuring_ =
      executor_.start(Job{.key = "measure",
                          .lane = Lane::bench,
                          .timeout = options_.measure_timeout,
                          .run = [answer, measurer, question = std::move(question)](
                                     const Call& call) { *answer = measurer->measure(question, call); },
                          .done = callbacks_.bind([this, answered](const Outcome& outcome) {
                            measuring_.reset();
                            executor_.defer(callbacks_.bind([answered, outcome] { answered(outcome); }));
                          })});
}

// What the change is compared with. What earlier runs wrote is there already: its paths have no before.
void Application::measure_before(std::function<void()> then) {
  whole_ = blast_radius(joined(owed_, plan_.steps), fleet_.wiring());
  std::vector<Step> may_begin;
  for (const Step& step : plan_.steps)
    if (standing_holds(step, options_.approved).empty()) may_begin.push_back(step);
  const BlastRadius affected = blast_radius(may_begin, fleet_.wiring());
  if (options_.measurer == nullptr || affected.empty() || must_stop()) return then();
  ask({.when = GateQuestion::When::before,
       .affected = affected,
       .pending = blast_radius(owed_, fleet_.wiring()),
       .whole = whole_},
      [this, then = std::move(then)](const Result<GateMeasurement>& said) {
        if (said)
          before_ = *said;
        else
          report_.notes.push_back("not measured before the change: " + said.error().text());
        then();
      });
}

void Application::measure(const BlastRadius& affected, const BlastRadius& pending,
                          std::function<void(std::optional<Verdict>)> then) {
  if (options_.measurer == nullptr || affected.empty()) return then(std::nullopt);
  GateQuestion question{
      .when = GateQuestion::When::after, .affected = affected, .pending = pending, .whole = whole_};
  ask(question, [this, question, then = std::move(then)](const Result<GateMeasurement>& said) {
    const auto over = [this, then](const Result<GateMeasurement>& best) {
      const Verdict out = best ? Verdict{gate_result(*best, judge_gate(before(), *best)), true}
                               : Verdict{{GateVerdict::unknown, best.error().text()}, false};
      if (progress_.gate) progress_.gate(out.gate);
      then(out);
    };
    if (!said) return over(said);
    confirm({.question = question, .before = before(), .measured = *said, .then = over});
  });
}

// What would undo the change, or clear it, is measured again, and what can't be told once more.
void Application::confirm(Confirmation one) {
  GateMeasurement best = confirmed(one.before, one.measured, one.rounds);
  const Judgement judged = judge_gate(one.before, best);
  const auto deciding = [&one](std::vector<std::string> of) {
    if (one.subjects)
      std::erase_if(of, [&one](const std::string& each) { return !one.subjects->contains(each); });
    return of;
  };
  std::vector<std::string> unsure = deciding(judged.broken());
  const std::size_t wanted = unsure.empty() ? 1 : kConfirmingRounds;
  if (unsure.empty()) unsure = deciding(judged.of(Attribution::not_validated));
  if (unsure.empty() || one.rounds.size() >= wanted || (must_stop() && !report_.undo)) return one.then(best);
  one.question.when = GateQuestion::When::confirm;
  one.question.only = {unsure.begin(), unsure.end()};
  if (one.question.only.contains("")) one.question.only.clear();  // too little was measured: all of it again
  const GateQuestion question = one.question;
  ask(question, [this, one = std::move(one)](const Result<GateMeasurement>& said) mutable {
    if (!said) return one.then(Error{said.error().kind, "not confirmed: " + said.error().text()});
    one.rounds.push_back(*said);
    confirm(std::move(one));
  });
}

// After an undo: whether the change was to blame. Whatever is broken now is so without the change.
void Application::measure_again(const std::vector<Step>& not_done, std::function<void()> then) {
  const GateQuestion question{.when = GateQuestion::When::again,
                              .affected = blast_radius(written(), fleet_.wiring()),
                              .pending = blast_radius(not_done, fleet_.wiring()),
                              .whole = whole_};
  if (question.affected.empty()) return then();
  ask(question, [this, question, then = std::move(then)](const Result<GateMeasurement>& said) {
    const auto over = [this, then](const Result<GateMeasurement>& again) {
      report_.gate_after_undo = again ? gate_result(*again, judge_gate(nullptr, *again))
                                      : GateResult{GateVerdict::unknown, again.error().text()};
      report_.guilt = again ? guilt_of(failed_, before(), *again) : Guilt::not_proven;
      then();
    };
    if (!said) return over(said);
    const std::vector<std::string> undone_for = failed_.broken();
    confirm({.question = question,
             .measured = *said,
             .subjects = std::set<std::string>(undone_for.begin(), undone_for.end()),
             .then = over});
  });
}

// Told is the last finding on each pair, whichever gate it comes from.
void Application::remember_verdict(const Verdict& verdict) {
  if (!verdict.judged || verdict.gate.verdict == GateVerdict::not_run) {
    if (!verdict.judged || !report_.gate) report_.gate = verdict.gate;
    return;
  }
  last_.erase("");  // coverage is the last gate's
  for (const Judged& one : verdict.gate.judged.all) last_.insert_or_assign(one.subject, one);
  Judgement all;
  for (const auto& [subject, one] : last_) all.all.push_back(one);
  report_.gate = all.worst() == verdict.gate.judged.worst() ? verdict.gate : gate_result({}, std::move(all));
}

// `then(false)`: the gate failed and nothing further may run.
void Application::pass_gate(std::function<void(bool)> then) {
  const std::vector<Step> all = written();
  if ((all.empty() && cures().empty()) || must_stop()) return then(true);
  // What a remedy did not bring back needs no measurement to be known.
  if (all.empty() && !report_.effects.empty()) return then(true);
  std::vector<Step> later = pending();
  const BlastRadius left_out = blast_radius(later, fleet_.wiring());
  measure(blast_radius(due(), fleet_.wiring()), left_out,
          [this, later = std::move(later), then = std::move(then)](const std::optional<Verdict>& verdict) {
            gate_answered(later, verdict, then);
          });
}

void Application::gate_answered(const std::vector<Step>& later, const std::optional<Verdict>& verdict,
                                const std::function<void(bool)>& then) {
  if (verdict) remember_verdict(*verdict);
  if (must_stop()) return then(true);
  const bool told =
      !verdict || (verdict->judged && verdict->gate.judged.of(Attribution::not_validated).empty());
  if (told) {
    ++gates_;
    answered_ = later.empty();
    left_out_.clear();
    for (const Step& step : later) left_out_.insert(step.id);
    for (const Step& step : joined(runner_->written(), cures())) judged_.insert(step.id);
  }
  if (!told && !fails(verdict->gate)) {
    not_validated_ = true;
    runner_->skip_from(wave_ + 1, StepState::held,
                       "wave " + std::to_string(wave_) + " is not validated: " + verdict->gate.why);
    return then(false);
  }
  if (!verdict || !fails(verdict->gate)) return then(true);
  const std::string after = "the gate failed after wave " + std::to_string(wave_);
  if (options_.on_fail == OnFail::alert) {
    report_.notes.push_back(after + ": " + verdict->gate.why);
    return then(true);
  }
  runner_->skip_from(wave_ + 1, StepState::skipped, after);
  only_cured_ = written().empty();
  if (only_cured_) report_.notes.push_back("nothing was written that could be undone: a remedy stays");
  answered_ = only_cured_ || options_.on_fail == OnFail::quarantine;
  if (answered_) return then(false);
  failed_ = verdict->gate.judged;
  undo(later, [this, then](bool whole) {
    answered_ = whole;
    then(false);
  });
}

}  // namespace lockstep
