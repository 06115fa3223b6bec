// How an application measures: before its first write, after each wave, and to confirm; and what follows.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "reconciler/engine/application.hpp"
#include "reconciler/engine/new_ends.hpp"

namespace lockstep {
void Application::ask(GateQuestion question, std::function<void(const Result<GateMeasurement>&)> then) {
  enter(Phase::measure);
  auto answer = std::make_shared<std::optional<Result<GateMeasurement>>>();
  Measurer* const measurer = options_.measurer;
  const auto answered = [answer, then = std::move(then)](const Outcome& outcome) {
    const bool returned = outcome == Outcome::returned;  // otherwise the worker may still write the answer
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

// Measures what the change is compared with. A change of an earlier run that was never measured may be half
// of one that this run completes: its paths have no measurement before it.
void Application::measure_before(std::function<void()> then) {
  std::vector<Step> all = plan_.steps;
  std::erase_if(all, &Step::stands_by);  // each would cause a measurement of its whole device
  whole_ = blast_radius(joined(owed_, all), fleet_.wiring());
  const BlastRadius affected = blast_radius(may_begin(), fleet_.wiring());
  compare_with_earlier();
  if (options_.measurer == nullptr || affected.empty() || must_stop()) return then();
  ask({.when = GateQuestion::When::before,
       .affected = affected,
       .pending = blast_radius(never_measured(), fleet_.wiring()),
       .whole = whole_},
      [this, then = std::move(then)](const Result<GateMeasurement>& said) {
        if (said) {
          before_ = *said;
          forget_what_is_to_come(*before_);
          for (const GateFigure& one : before_->figures) states_before_.emplace(one.subject, one.state);
          compare_with_earlier();
          note(ledger_.keep_before(report_.change_id, *before_));
        } else
          report_.notes.push_back("not measured before the change: " + said.error().text());
        then();
      });
}

// Removes pairs of hosts that are new with this run and have not been written yet.
void Application::forget_what_is_to_come(GateMeasurement& measured) const {
  std::vector<Step> steps = may_begin();
  std::erase_if(steps, [this](const Step& step) {
    const StepResult& result = runner_->results()[step.id - 1];
    return result.writes > 0 || result.state == StepState::nothing_to_do;
  });
  forget_pairs(measured.figures, new_ends(steps, fleet_, options_.was_written), *options_.measurer);
}

// `later`: steps whose paths are left out.
void Application::measure(const std::vector<Step>& later, std::function<void(std::optional<Verdict>)> then) {
  if (options_.measurer == nullptr) return then(std::nullopt);
  GateQuestion question{.when = GateQuestion::When::after,
                        .affected = blast_radius(due(later), fleet_.wiring()),
                        .pending = blast_radius(later, fleet_.wiring()),
                        .whole = whole_,
                        .also = gates_ == 0 ? owed_subjects() : std::set<std::string>{}};
  for (const Step& step : later) question.pending_until = std::max(question.pending_until, step.wave);
  if (question.affected.empty() && question.also.empty()) return then(std::nullopt);
  ask(question, [this, question, then = std::move(then)](const Result<GateMeasurement>& said) {
    const auto over = [this, then](const Result<GateMeasurement>& best) {
      const Verdict out = best
                              ? Verdict{gate_result(*best, judge_gate(before(), *best, owed_figures())), true}
                              : Verdict{{GateVerdict::unknown, best.error().text()}, false};
      by_this_run_.clear();
      if (!best)
        by_this_run_.insert("");  // without a measurement, every subject may be affected
      else
        for (const Judged& one : judge_gate(before(), *best).all)
          if (one.attribution != Attribution::holds && one.attribution != Attribution::not_caused)
            by_this_run_.insert(one.subject);
      if (progress_.gate) progress_.gate(out.gate);
      then(out);
    };
    if (!said) return over(said);
    GateMeasurement measured = *said;
    forget_what_is_to_come(measured);
    confirm({.question = question,
             .before = before(),
             .owed = owed_figures(),
             .measured = std::move(measured),
             .then = over});
  });
}

// Measures again what would roll the change back or clear it; if nothing is broken any more, measures once
// more what could not be judged.
void Application::confirm(Confirmation one) {
  GateMeasurement best = confirmed(one.before, one.measured, one.rounds);
  const Judgement judged = judge_gate(one.before, best, one.owed);
  const auto decides = [&one](const std::string& each) {
    return !one.subjects || one.subjects->contains(each);
  };
  const auto to_ask = [&](std::vector<std::string> of, std::ptrdiff_t times) {
    std::erase_if(of, [&](const std::string& each) {
      const auto asks = [&each](const ConfirmingRound& round) { return round.asks(each); };
      return !decides(each) || std::ranges::count_if(one.rounds, asks) >= times;
    });
    return of;
  };
  const std::vector<std::string> broken = judged.broken();
  std::vector<std::string> unsure = to_ask(broken, kConfirmingRounds);
  if (std::ranges::none_of(broken, decides)) unsure = to_ask(judged.unsure(), 1);
  if (unsure.empty() || (must_stop() && !undoing_) || is_over()) return one.then(best);
  one.question.when = GateQuestion::When::confirm;
  one.question.only = {unsure.begin(), unsure.end()};
  if (one.question.only.contains("")) one.question.only.clear();  // too little was measured: all of it again
  const GateQuestion question = one.question;
  ask(question, [this, one = std::move(one)](const Result<GateMeasurement>& said) mutable {
    if (!said) return one.then(Error{said.error().kind, "not confirmed: " + said.error().text()});
    one.rounds.push_back({*said, one.question.only});
    confirm(std::move(one));
  });
}

// After a rollback: determines whether that change was to blame, and what is still broken without it.
void Application::measure_again(std::function<void(std::set<std::string> broken)> then) {
  const Undoing& undoing = *undoing_;
  GateQuestion question{.when = GateQuestion::When::again,
                        .affected = blast_radius(undoing.now.steps, fleet_.wiring()),
                        .pending = blast_radius(undoing.not_done, fleet_.wiring()),
                        .whole = whole_,
                        .also = undoing.broken};
  question.also.erase("");
  if (question.affected.empty()) return then({});
  if (is_over()) return then(undoing.broken);
  ask(question, [this, question, then = std::move(then)](const Result<GateMeasurement>& said) {
    const auto over = [this, then](const Result<GateMeasurement>& again) { then(measured_again(again)); };
    if (!said) return over(said);
    GateMeasurement measured = *said;
    forget_pairs(measured.figures, new_ends(undoing_->now.steps, fleet_), *options_.measurer);
    const auto gone = std::ranges::count(measured.figures, SloState::none, &GateFigure::state);
    if (gone > 0)
      measured.sentence = fmt::format("all SLOs hold; {} of {} figures are of pairs that went with it", gone,
                                      measured.figures.size());
    confirm({.question = question, .measured = measured, .subjects = undoing_->broken, .then = over});
  });
}

// Returns the subjects that are still broken.
std::set<std::string> Application::measured_again(const Result<GateMeasurement>& again) {
  UndoneChange& one = report_.undone.back();
  one.guilt = Guilt::not_proven;
  if (!again) {
    one.again = GateResult{GateVerdict::unknown, again.error().text()};
    return still_broken(again);
  }
  one.again = gate_result(*again, judge_gate(nullptr, *again));
  const Written& change = undoing_->now;
  std::set<std::string> blamed = blamed_on(change, undoing_->broken);
  const bool lay_on_top = blamed.empty();
  std::erase_if(blamed, [this](const std::string& subject) { return !is_broken(subject); });
  one.guilt = guilt_of({blamed.begin(), blamed.end()}, change.before, *again);
  if (lay_on_top) one.guilt.reset();
  return still_broken(again);
}

// Of the subjects that caused the rollback, those still broken, compared with the measurement before older
// changes that are not validated yet; subjects that can't be judged stay not validated for those changes.
std::set<std::string> Application::still_broken(const Result<GateMeasurement>& again) {
  std::map<std::string, Judged> found;
  if (again)
    for (Judged& one : judge_gate(before(), *again, owed_figures()).all) found.emplace(one.subject, one);
  std::set<std::string> out;
  for (const std::string& subject : undoing_->broken) {
    const auto now = found.find(subject);
    const Judged one = now != found.end()
                           ? now->second
                           : Judged{subject, Attribution::not_validated, "not measured without the change"};
    last_.insert_or_assign(subject, one);
    if (one.attribution >= Attribution::new_broken) out.insert(subject);
    if (!is_unsure(one.attribution)) continue;
    unsure_.insert(subject);
    answered_ = false;
  }
  return out;
}

// By the last gate's finding; false if it could not be judged.
bool Application::is_broken(const std::string& subject) const {
  const auto found = last_.find(subject);
  return found != last_.end() && found->second.attribution >= Attribution::new_broken;
}

// Keeps the last finding on each pair, from any gate, for the report.
void Application::remember_verdict(const Verdict& verdict) {
  if (!verdict.judged || verdict.gate.verdict == GateVerdict::not_run) {
    if (!verdict.judged || !report_.gate) report_.gate = verdict.gate;
    return;
  }
  last_.erase("");  // coverage is that of the last gate
  for (const Judged& one : verdict.gate.judged.all) last_.insert_or_assign(one.subject, one);
  Judgement all;
  for (const auto& [subject, one] : last_) all.all.push_back(one);
  report_.gate = all.worst() == verdict.gate.judged.worst() ? verdict.gate : gate_result({}, std::move(all));
}

// `then(false)`: the gate failed and nothing further may run.
void Application::pass_gate(std::function<void(bool)> then) {
  const std::vector<Step> all = written();
  if ((all.empty() && cures().empty()) || must_stop()) return then(true);
  // If a remedy did not restore an effect, no measurement is needed to know that.
  if (all.empty() && !report_.effects.empty()) return then(true);
  const std::vector<Step> later = pending();
  measure(later, [this, later, then = std::move(then)](const std::optional<Verdict>& verdict) {
    gate_answered(later, verdict, then);
  });
}

void Application::gate_answered(const std::vector<Step>& later, const std::optional<Verdict>& verdict,
                                const std::function<void(bool)>& then) {
  if (verdict) remember_verdict(*verdict);
  if (must_stop()) return then(true);
  left_out_later_ = !later.empty();
  unsure_ = {""};
  if (!verdict) unsure_.clear();
  if (verdict && verdict->judged) {
    const std::vector<std::string> unsure = verdict->gate.judged.unsure();
    unsure_ = {unsure.begin(), unsure.end()};
  }
  uncovered_ = verdict && verdict->gate.judged.has(Attribution::uncovered);
  if (unsure_.empty()) {
    ++gates_;
    judged_any_ = judged_any_ || verdict.has_value();
    answered_ = later.empty();
    left_out_.clear();
    for (const Step& step : later) left_out_.insert(step.id);
    for (const Step& step : joined(runner_->written(), cures())) judged_.insert(step.id);
  }
  not_validated_ = held_later_;
  if (!unsure_.empty() && !fails(verdict->gate)) return then(leave_unvalidated(verdict->gate.why));
  if (verdict && fails(verdict->gate)) return gate_failed(later, verdict->gate, then);
  if (answered_) settle_earlier();
  then(!uncovered_ || leave_unvalidated(verdict->gate.why));
}

// The subjects that roll the change back: those that only alert do not.
std::set<std::string> Application::undone_for(const GateResult& gate) {
  std::set<std::string> out;
  bool cordons = gate.judged.all.empty() && options_.on_fail == OnFail::quarantine;
  const auto add = [&](const Judged& one) {
    const OnFail on_fail = one.on_fail.value_or(options_.on_fail);
    if (on_fail == OnFail::alert) return;
    cordons = cordons || on_fail == OnFail::quarantine;
    out.insert(one.subject);
  };
  for (const Judged& one : gate.judged.all)
    if (one.attribution >= Attribution::new_broken) add(one);
  if (out.empty() && options_.strict)
    for (const Judged& one : gate.judged.all)
      if (one.attribution != Attribution::holds && one.attribution < Attribution::not_caused) add(one);
  // Nothing could be measured, under --strict.
  if (gate.judged.all.empty() && options_.on_fail != OnFail::alert) out.insert("");
  if (cordons)
    report_.notes.emplace_back(
        "onViolation: quarantine is not possible here: no driver cordons or drains a device; what was "
        "written is rolled back instead");
  return out;
}

void Application::gate_failed(const std::vector<Step>& later, const GateResult& gate,
                              const std::function<void(bool)>& then) {
  const std::string after = "the gate failed after wave " + std::to_string(wave_);
  std::set<std::string> broken = undone_for(gate);
  if (broken.empty()) {
    report_.notes.push_back(after + ": " + gate.why);
    return then((unsure_.empty() && !uncovered_) || leave_unvalidated(gate.why));
  }
  runner_->skip_from(wave_ + 1, StepState::skipped, after);
  undoing_ = Undoing{.left = changes(), .broken = std::move(broken)};
  bool any = false;
  for (std::size_t place = 0; place < undoing_->left.size(); ++place) any = any || is_to_be_undone(place);
  if (any) return undo(later, [then](bool) { then(false); });
  undoing_.reset();
  stays_ = true;
  report_.notes.emplace_back("nothing was written that could be rolled back for it: what was done stays");
  then(false);
}

}  // namespace lockstep
