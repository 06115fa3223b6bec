// The gate's decision table: each row and each boundary, on constructed figures.
#include <gtest/gtest.h>

#include "reconciler/engine/gate.hpp"

namespace lockstep {
namespace {

using enum SloState;

GateFigure figure(SloState state, std::optional<double> value = std::nullopt) {
  return {.subject = "pair", .state = state, .figure = value, .noise = 0, .cpu = std::nullopt, .why = ""};
}
GateMeasurement of(GateFigure one) {
  GateMeasurement out;
  out.figures.push_back(std::move(one));
  out.selected = out.measured = 1;
  return out;
}
Attribution finding(GateFigure before, GateFigure after) {
  const GateMeasurement was = of(std::move(before));
  return judge_gate(&was, of(std::move(after))).worst();
}
int exit_code(GateFigure before, GateFigure after) {
  const GateMeasurement was = of(std::move(before));
  return judge_gate(&was, of(std::move(after))).exit_code();
}

TEST(GateJudgement, PassesWhenTheSloHoldsAfterwards) {
  for (const SloState before : {holds, broken, unknown, none}) {
    EXPECT_EQ(finding(figure(before), figure(holds, 0.9)), Attribution::holds);
    EXPECT_EQ(exit_code(figure(before, 1.0), figure(holds, 0.1)), 0) << "the SLO decides, and not the fall";
  }
  const GateMeasurement before = of(figure(holds, 1.0));
  EXPECT_EQ(judge_gate(&before, of(figure(holds, 0.9))).all.at(0).why, "90.0% of what it was before");
  EXPECT_EQ(judge_gate(&before, of(figure(holds, 0.96))).all.at(0).why, "");
}

TEST(GateJudgement, ReportsAFallWithinTheSlo) {
  const GateMeasurement before = of(figure(holds, 1.0));
  const GateMeasurement after = of(figure(holds, 0.6));
  const GateResult result = gate_result(after, judge_gate(&before, after));
  EXPECT_EQ(result.verdict, GateVerdict::pass);
  EXPECT_NE(result.why.find("worse than before, within the SLO: pair: 60.0% of what it was before"),
            std::string::npos)
      << result.why;
}

TEST(GateJudgement, HeldThenBrokenIsCausedByTheChange) {
  EXPECT_EQ(finding(figure(holds, 1.0), figure(broken, 0.5)), Attribution::caused);
  EXPECT_EQ(finding(figure(holds, 1.0), figure(broken, 0.99)), Attribution::caused)
      << "however little it fell";
  EXPECT_EQ(exit_code(figure(holds, 1.0), figure(broken, 0.5)), 2);
}

TEST(GateJudgement, BrokenBeforeIsCausedOnlyWhenWorse) {
  for (const SloState before : {broken, unknown}) {
    EXPECT_EQ(finding(figure(before, 0.5), figure(broken, 0.4)), Attribution::caused);
    EXPECT_EQ(finding(figure(before, 0.5), figure(broken, 0.5)), Attribution::not_caused);
    EXPECT_EQ(finding(figure(before, 0.5), figure(broken, 0.476)), Attribution::not_caused) << "within 5 %";
    EXPECT_EQ(finding(figure(before, 0.5), figure(broken, 0.474)), Attribution::caused) << "beyond it";
    EXPECT_EQ(finding(figure(before, 0.5), figure(broken, 0.6)), Attribution::not_caused);
    EXPECT_EQ(exit_code(figure(before, 0.5), figure(broken, 0.5)), 2);
  }
  EXPECT_EQ(finding(figure(broken, 0.0), figure(broken, 0.0)), Attribution::not_caused)
      << "nothing was carried";
  EXPECT_EQ(finding(figure(broken, 0.5), figure(broken, 0.0)), Attribution::caused);
  EXPECT_EQ(finding(figure(broken), figure(broken, 0.5)), Attribution::not_caused);
}

TEST(GateJudgement, NoiseWidensTheTolerance) {
  for (const bool earlier : {true, false}) {
    GateFigure before = figure(broken, 0.5);
    GateFigure after = figure(broken, 0.41);
    (earlier ? before : after).noise = 0.2;
    EXPECT_EQ(finding(before, after), Attribution::not_caused);
    after.figure = 0.39;
    EXPECT_EQ(finding(before, after), Attribution::caused);
  }
}

TEST(GateJudgement, BrokenWithoutAnEarlierFigureIsNotAttributed) {
  EXPECT_EQ(finding(figure(unknown), figure(broken, 0.5)), Attribution::unattributed);
  EXPECT_EQ(judge_gate(nullptr, of(figure(broken, 0.5))).worst(), Attribution::unattributed);
  EXPECT_TRUE(judge_gate(nullptr, of(figure(broken, 0.5))).undoes());
  EXPECT_EQ(exit_code(figure(unknown), figure(broken, 0.5)), 2);
}

// Receive buffers of 4 KiB reached 5.6 % of nominal, for lack of CPU.
TEST(GateJudgement, FallWithHigherCpuCostPerByteIsCaused) {
  for (const SloState state : {holds, unknown}) {
    GateFigure before = figure(state, 1.0);
    GateFigure after = figure(unknown, 0.056);
    EXPECT_EQ(finding(before, after), Attribution::not_validated) << "nobody knows whose CPU";
    before.cpu = 1.0;
    after.cpu = 1.04;
    EXPECT_EQ(finding(before, after), Attribution::not_validated) << "another's: a byte costs what it did";
    after.cpu = 6.0;
    EXPECT_EQ(finding(before, after), Attribution::caused);
    after.figure = 0.97;
    EXPECT_NE(finding(before, after), Attribution::caused) << "not worse";
  }
  GateFigure before = figure(broken, 1.0);
  GateFigure after = figure(unknown, 0.056);
  before.cpu = 1.0;
  after.cpu = 6.0;
  EXPECT_EQ(finding(before, after), Attribution::not_validated) << "it was broken before";
}

// A shared cache raises the CPU cost per byte. A fall beyond what that explains means that others took the
// CPU.
TEST(GateJudgement, FallBeyondTheCpuCostPerByteIsNotValidated) {
  GateFigure before = figure(holds, 1.0);
  GateFigure after = figure(unknown, 0.8);
  before.cpu = 1.0;
  after.cpu = 1.1;
  EXPECT_EQ(finding(before, after), Attribution::not_validated);
  after.cpu = 1.25;
  EXPECT_EQ(finding(before, after), Attribution::caused);
  after.figure = 0.1;
  EXPECT_EQ(finding(before, after), Attribution::not_validated);
  after.cpu = 2.0;
  EXPECT_EQ(finding(before, after), Attribution::caused) << "by nobody else's load";
}

TEST(GateJudgement, CpuCostNeedsCpuTimeAndTraffic) {
  GateFigure before = figure(holds, 1.0);
  GateFigure after = figure(unknown, 0.5);
  before.cpu = 0.0;
  after.cpu = 6.0;
  EXPECT_EQ(finding(before, after), Attribution::not_validated);
  before.cpu = 1.0;
  after.figure = 0.0;
  EXPECT_EQ(finding(before, after), Attribution::not_validated);
}

TEST(GateJudgement, UnknownIsNeverExitCodeZero) {
  EXPECT_EQ(finding(figure(unknown, 0.5), figure(unknown, 0.5)), Attribution::not_worse);
  EXPECT_EQ(finding(figure(unknown, 0.5), figure(unknown, 0.47)), Attribution::not_validated);
  EXPECT_EQ(finding(figure(unknown), figure(unknown)), Attribution::not_validated);
  EXPECT_EQ(finding(figure(unknown), figure(unknown, 0.5)), Attribution::not_validated);
  EXPECT_EQ(finding(figure(holds, 1.0), figure(unknown, 1.0)), Attribution::not_validated);
  EXPECT_EQ(finding(figure(broken, 0.5), figure(unknown, 0.5)), Attribution::not_validated);
  for (const SloState before : {holds, broken, unknown, none})
    for (const auto& value : {std::optional<double>(), std::optional(0.5)})
      EXPECT_EQ(exit_code(figure(before, 0.5), figure(unknown, value)), 3);
}

TEST(GateJudgement, NewPairIsJudgedWithoutABaseline) {
  EXPECT_EQ(finding(figure(none), figure(broken, 0.5)), Attribution::new_broken);
  EXPECT_EQ(finding(figure(none), figure(unknown)), Attribution::new_unknown);
  EXPECT_EQ(exit_code(figure(none), figure(holds, 1.0)), 0);
  EXPECT_EQ(exit_code(figure(none), figure(broken, 0.5)), 2);
}

TEST(GateJudgement, TooFewPairsAreNotValidated) {
  GateMeasurement after = of(figure(holds, 1.0));
  after.selected = 100;
  after.measured = 95;
  EXPECT_EQ(judge_gate(nullptr, after).worst(), Attribution::holds);
  after.measured = 94;
  const Judgement few = judge_gate(nullptr, after);
  EXPECT_EQ(few.worst(), Attribution::not_validated);
  EXPECT_EQ(few.exit_code(), 3);
  EXPECT_EQ(few.deciding()->why, "94 of 100 pairs could be measured");
  after.measured = 100;
  after.uncovered = {"leaf0:up1"};
  EXPECT_EQ(judge_gate(nullptr, after).deciding()->why, "no pair that was measured crosses leaf0:up1");
  after.uncovered.emplace_back("leaf0:up2");
  EXPECT_EQ(judge_gate(nullptr, after).deciding()->why,
            "no pair that was measured crosses leaf0:up1 (and 1 more)");
}

TEST(GateJudgement, ReportsExcludedHostsWithEveryVerdict) {
  GateMeasurement after = of(figure(holds, 1.0));
  after.sentence = "all SLOs hold over 1 measurements";
  after.left_out = "3 hosts run jobs and were not measured";
  EXPECT_EQ(gate_result(after, judge_gate(nullptr, after)).why,
            "all SLOs hold over 1 measurements; 3 hosts run jobs and were not measured");
  // No affected pair could be measured. That is not the same as a gate that was not run.
  after.figures.clear();
  after.uncovered = {"gpu1:rail0 -> leaf0:swp1 (gpu1 runs jobs: Slurm job 42)"};
  const GateResult none = gate_result(after, judge_gate(nullptr, after));
  EXPECT_EQ(none.verdict, GateVerdict::unknown);
  EXPECT_EQ(none.judged.exit_code(), 3);
  EXPECT_EQ(
      none.why,
      "not validated: no pair that was measured crosses gpu1:rail0 -> leaf0:swp1 (gpu1 runs jobs: Slurm "
      "job 42); 3 hosts run jobs and were not measured");
}

TEST(GateJudgement, WorstFigureDecides) {
  GateMeasurement before;
  GateMeasurement after;
  for (const char* const name : {"a", "b", "c"}) {
    before.figures.push_back(figure(holds, 1.0));
    after.figures.push_back(figure(holds, 1.0));
    before.figures.back().subject = after.figures.back().subject = name;
  }
  after.figures[1].state = broken;
  after.figures[2].state = unknown;
  const Judgement judged = judge_gate(&before, after);
  EXPECT_EQ(judged.worst(), Attribution::caused);
  EXPECT_EQ(judged.deciding()->subject, "b");
  EXPECT_EQ(judged.broken(), std::vector<std::string>{"b"});
}

std::vector<ConfirmingRound> rounds(std::vector<GateMeasurement> all) {
  std::vector<ConfirmingRound> out;
  for (GateMeasurement& one : all) out.push_back({std::move(one)});
  return out;
}

TEST(GateConfirmation, RequiresTheFailureInEveryRound) {
  const GateMeasurement before = of(figure(holds, 1.0));
  const GateMeasurement bad = of(figure(broken, 0.5));
  const GateMeasurement good = of(figure(holds, 1.0));
  EXPECT_EQ(judge_gate(&before, confirmed(&before, bad, rounds({bad, bad}))).worst(), Attribution::caused);
  EXPECT_EQ(judge_gate(&before, confirmed(&before, bad, rounds({good, bad}))).worst(), Attribution::holds);
  EXPECT_EQ(judge_gate(&before, confirmed(&before, bad, rounds({bad, good}))).worst(), Attribution::holds);
  EXPECT_EQ(judge_gate(&before, confirmed(&before, bad, rounds({of(figure(unknown, 0.5)), bad}))).worst(),
            Attribution::not_validated);
}

TEST(GateConfirmation, ReportsFiguresThatHeldInALaterRound) {
  const GateMeasurement bad = of(figure(broken, 0.5));
  const GateMeasurement good = of(figure(holds, 1.0));
  EXPECT_EQ(confirmed(nullptr, bad, rounds({good})).sentence,
            "all SLOs hold over 1 figures, after more rounds than the first for pair");
  EXPECT_EQ(confirmed(nullptr, good, rounds({good})).sentence, "all SLOs hold over 1 figures");
}

TEST(GateConfirmation, RequiresTheCpuCostInEveryRound) {
  const auto at = [](double value, double cpu) {
    GateFigure one = figure(value < 1 ? unknown : holds, value);
    one.cpu = cpu;
    return of(one);
  };
  const GateMeasurement before = at(1, 1);
  const GateMeasurement bad = at(0.8, 1.3);
  EXPECT_EQ(judge_gate(&before, confirmed(&before, bad, rounds({bad, bad}))).worst(), Attribution::caused);
  EXPECT_EQ(judge_gate(&before, confirmed(&before, bad, rounds({at(0.7, 1.0), bad}))).worst(),
            Attribution::not_validated);
}

// Its host started a job meanwhile and is excluded.
TEST(GateConfirmation, FigureMissingFromARoundIsNotConfirmed) {
  const GateMeasurement before = of(figure(holds, 1.0));
  const GateMeasurement bad = of(figure(broken, 0.5));
  const auto worst = [&](std::vector<ConfirmingRound> all) {
    return judge_gate(&before, confirmed(&before, bad, all)).worst();
  };
  EXPECT_EQ(worst({{bad, {"pair"}}, {{}, {"pair"}}}), Attribution::not_validated);
  EXPECT_EQ(worst({{{}, {}}, {bad, {}}}), Attribution::not_validated);
  EXPECT_EQ(worst({{bad, {"pair"}}, {{}, {"another"}}}), Attribution::caused) << "nobody asked for it";
}

// A round over some pairs selects the same number where there are only rings, and does not compute coverage.
TEST(GateConfirmation, CoverageComesOnlyFromACompleteRound) {
  const GateMeasurement before = of(figure(holds, 1.0));
  GateMeasurement after = of(figure(holds, 1.0));
  after.selected = 2;
  after.uncovered = {"leaf0:up0"};
  GateMeasurement round = of(figure(holds, 1.0));
  round.selected = round.measured = 2;
  EXPECT_EQ(judge_gate(&before, confirmed(&before, after, {{round, {"pair"}}})).worst(),
            Attribution::not_validated);
  EXPECT_EQ(judge_gate(&before, confirmed(&before, after, {{round, {}}})).worst(), Attribution::holds);
}

GateMeasurement with_controls(GateMeasurement one, const std::vector<double>& controls) {
  for (std::size_t i = 0; i < controls.size(); ++i) {
    one.controls.push_back(figure(holds, controls[i]));
    one.controls.back().subject = "control" + std::to_string(i);
  }
  return one;
}

TEST(GateConfirmation, IsUnknownWhenTheControlsFellToo) {
  const GateMeasurement before = with_controls(of(figure(holds, 1.0)), {1, 1, 1, 1});
  const GateMeasurement bad = of(figure(broken, 0.5));
  EXPECT_EQ(
      judge_gate(&before, confirmed(&before, bad, rounds({with_controls(bad, {1, 1, 1, 0.5})}))).worst(),
      Attribution::caused)
      << "one pair's own affair";
  EXPECT_EQ(
      judge_gate(&before, confirmed(&before, bad, rounds({with_controls(bad, {1, 1, 0.5, 0.5})}))).worst(),
      Attribution::not_validated);
}

// Of an earlier change that is not judged yet: a broken pair may be its doing, as that change was in place
// before.
TEST(GateJudgement, BaselineOfThisChangeDoesNotClearAPendingEarlierOne) {
  const GateMeasurement was = of(figure(broken, 0.5));
  const std::string subject = was.figures.at(0).subject;
  EXPECT_EQ(judge_gate(&was, of(figure(broken, 0.5))).worst(), Attribution::not_caused);
  EXPECT_EQ(judge_gate(&was, of(figure(broken, 0.5)), {{subject, {}}}).worst(), Attribution::unattributed);
  EXPECT_EQ(judge_gate(&was, of(figure(broken, 0.1)), {{subject, {}}}).worst(), Attribution::caused);
  EXPECT_EQ(judge_gate(&was, of(figure(holds, 1.0)), {{subject, {}}}).worst(), Attribution::holds);
  EXPECT_EQ(judge_gate(&was, of(figure(unknown)), {{subject, {}}}).worst(), Attribution::not_validated);
}

TEST(GateJudgement, PendingEarlierChangeIsComparedWithItsOwnBaseline) {
  const GateMeasurement was = of(figure(holds, 1.0));
  const std::string subject = was.figures.at(0).subject;
  const auto found = [&](GateFigure earlier, GateFigure after) {
    return judge_gate(nullptr, of(std::move(after)), {{subject, std::move(earlier)}}).worst();
  };
  EXPECT_EQ(judge_gate(&was, of(figure(broken, 0.5)), {{subject, figure(broken, 0.5)}}).worst(),
            Attribution::caused)
      << "it held before this one";
  const GateMeasurement broken_now = of(figure(broken, 0.5));
  EXPECT_EQ(judge_gate(&broken_now, of(figure(broken, 0.5)), {{subject, figure(broken, 0.5)}}).worst(),
            Attribution::not_caused)
      << "and before the earlier one";
  EXPECT_EQ(judge_gate(&broken_now, of(figure(broken, 0.5)), {{subject, figure(holds, 1.0)}}).worst(),
            Attribution::caused);
  EXPECT_EQ(found(figure(unknown), figure(unknown)), Attribution::not_validated);
}

// A figure of RDMA can't be compared with one of TCP, nor a bound of 15 % of nominal with one of 90 %.
TEST(GateJudgement, FiguresWithDifferentTermsAreNotCompared) {
  GateFigure rdma = figure(holds, 1.0);
  rdma.terms = "rdma, >= 90% of nominal";
  GateFigure tcp = figure(broken, 0.5);
  tcp.terms = "tcp, >= 90% of nominal";
  EXPECT_EQ(finding(rdma, tcp), Attribution::unattributed);
  EXPECT_EQ(judge_gate(nullptr, of(tcp), {{rdma.subject, rdma}}).worst(), Attribution::unattributed);
  rdma.terms = tcp.terms;
  EXPECT_EQ(finding(rdma, tcp), Attribution::caused);
}

Guilt guilt(GateFigure before, GateFigure after, GateFigure again) {
  const GateMeasurement was = of(std::move(before));
  return guilt_of(judge_gate(&was, of(std::move(after))).broken(), &was, of(std::move(again)));
}

TEST(GateGuilt, FollowsFromTheMeasurementAfterTheRollback) {
  EXPECT_EQ(guilt(figure(holds, 1.0), figure(broken, 0.5), figure(holds, 1.0)), Guilt::guilty);
  EXPECT_EQ(guilt(figure(holds, 1.0), figure(broken, 0.5), figure(broken, 0.5)), Guilt::open);
  EXPECT_EQ(guilt(figure(holds, 1.0), figure(broken, 0.5), figure(unknown)), Guilt::not_proven);
  EXPECT_EQ(guilt(figure(broken, 0.5), figure(broken, 0.3), figure(broken, 0.3)), Guilt::exonerated);
  EXPECT_EQ(guilt(figure(unknown), figure(broken, 0.3), figure(broken, 0.3)), Guilt::exonerated);
  EXPECT_EQ(guilt(figure(unknown), figure(broken, 0.3), figure(holds, 1.0)), Guilt::guilty);
  const GateMeasurement was = with_controls(of(figure(holds, 1.0)), {1, 1});
  const Judgement failed = judge_gate(&was, of(figure(broken, 0.5)));
  EXPECT_EQ(guilt_of(failed.broken(), &was, with_controls(of(figure(broken, 0.5)), {0.5, 0.5})),
            Guilt::exonerated);
  EXPECT_EQ(guilt_of(failed.broken(), &was, GateMeasurement{}), Guilt::not_proven);
}

}  // namespace
}  // namespace lockstep
