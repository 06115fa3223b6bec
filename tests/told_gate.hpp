// A measurer of one pair whose verdicts the test chooses. Before a change the pair passes, or is not run if
// an earlier change is pending; a confirmation repeats the last verdict.
#pragma once

#include "reconciler/engine/apply.hpp"

namespace lockstep {

inline GateMeasurement told_measurement(GateVerdict verdict) {
  GateMeasurement out;
  if (verdict == GateVerdict::not_run) return out;
  GateFigure one;
  one.subject = "bandwidth";
  one.state = verdict == GateVerdict::pass   ? SloState::holds
              : verdict == GateVerdict::fail ? SloState::broken
                                             : SloState::unknown;
  if (verdict != GateVerdict::unknown) one.figure = verdict == GateVerdict::pass ? 1.0 : 0.5;
  out.figures.push_back(one);
  out.selected = out.measured = 1;
  out.sentence = "as the test wants it";
  return out;
}

class ToldGate : public Measurer {
 public:
  Result<GateMeasurement> measure(const GateQuestion& question, const Call&) final {
    if (question.when == GateQuestion::When::before)
      return told_measurement(question.pending.empty() ? GateVerdict::pass : GateVerdict::not_run);
    if (question.when != GateQuestion::When::confirm) {
      TRY(last_, tell(question));
    }
    return told_measurement(last_);
  }
  // The verdict after a change, or after its rollback.
  virtual Result<GateVerdict> tell(const GateQuestion& question) = 0;

 private:
  GateVerdict last_ = GateVerdict::pass;
};

}  // namespace lockstep
