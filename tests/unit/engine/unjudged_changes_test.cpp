// Changes of an earlier run that were not judged: compared with the baseline measured before them, and rolled
// back.
#include "pairs_lab.hpp"

namespace lockstep {
namespace {

struct Killed {};

class Unjudged : public GateOfPairs {
 protected:
  // A run that is killed while it measures its change.
  void killed_run() {
    pairs.tell = [this](const GateQuestion& question, GateFigure& one) {
      if (question.when == GateQuestion::When::after) throw Killed{};
      if (shape) shape(question, one);
    };
    EXPECT_THROW(cluster.converge(), Killed);
    pairs.tell = [this](const GateQuestion& question, GateFigure& one) {
      if (shape) shape(question, one);
    };
    pairs.asked.clear();
  }
  // Without the baseline, as when it is too old or from another boot.
  ApplyReport next_run_without() {
    cluster.ledger.befores.clear();
    return next_run();
  }
  std::function<void(const GateQuestion&, GateFigure&)> shape;
};

TEST_F(Unjudged, BaselineIsStoredBeforeTheFirstWriteUntilTheVerdict) {
  want_new_mtu({"gpu1"});
  std::optional<GateMeasurement> kept;  // the baseline when the device was written to
  cluster.devices["gpu1"]->seen = [&](const SimulatedCall& call) {
    if (call.kind != SimulatedCall::Kind::apply || kept) return;
    const auto found = cluster.ledger.befores.find(1);
    kept = found == cluster.ledger.befores.end() ? GateMeasurement{} : found->second;
  };
  EXPECT_EQ(cluster.converge().verdict, ApplyVerdict::kept);
  ASSERT_TRUE(kept);
  ASSERT_EQ(kept->figures.size(), 1U);
  EXPECT_EQ(kept->figures[0].subject, "gpu1");
  EXPECT_TRUE(cluster.ledger.befores.empty()) << "it was judged";
}

TEST_F(Unjudged, BaselineIsDeletedByTheNextRunsVerdict) {
  want_new_mtu({"gpu1"});
  killed_run();
  ASSERT_EQ(cluster.ledger.owed().size(), 1U);
  ASSERT_TRUE(cluster.ledger.owed()[0].before);
  EXPECT_EQ(next_run().verdict, ApplyVerdict::kept);
  EXPECT_EQ(pairs.asked.at(0).also, std::set<std::string>{"gpu1"}) << "the same pair is asked for";
  EXPECT_TRUE(cluster.ledger.befores.empty());
}

// The next run must know that the pair was broken before.
TEST_F(Unjudged, BrokenBeforeAKilledRunIsNotCausedByIt) {
  want_new_mtu({"gpu1"});
  pairs.before["gpu1"] = pairs.after["gpu1"] = SloState::broken;
  killed_run();
  const ApplyReport report = next_run();
  EXPECT_EQ(report.verdict, ApplyVerdict::kept);
  EXPECT_EQ(report.exit_code(), 2);
  EXPECT_TRUE(report.undone.empty());
  EXPECT_EQ(mtu("gpu1"), number(4000));
  EXPECT_TRUE(cluster.ledger.owed().empty());
}

TEST_F(Unjudged, BrokenWithoutABaselineIsRolledBack) {
  want_new_mtu({"gpu1"});
  pairs.before["gpu1"] = pairs.after["gpu1"] = SloState::broken;
  killed_run();
  EXPECT_EQ(next_run_without().verdict, ApplyVerdict::undone);
}

// Each byte costs the probes twice as much CPU. The verdict must not stay "not validated" run after run.
TEST_F(Unjudged, NextRunDetectsAHigherCpuCostPerByte) {
  want_new_mtu({"gpu1"});
  pairs.after["gpu1"] = SloState::unknown;
  shape = [](const GateQuestion& question, GateFigure& one) {
    const bool fell =
        question.when == GateQuestion::When::after || question.when == GateQuestion::When::confirm;
    one.figure = fell ? 0.5 : 1.0;
    one.cpu = fell ? 2.0 : 1.0;
  };
  killed_run();
  const ApplyReport report = next_run();
  EXPECT_EQ(report.verdict, ApplyVerdict::undone);
  EXPECT_EQ(report.guilt(), Guilt::guilty);
  EXPECT_EQ(mtu("gpu1"), number(9000));
}

TEST_F(Unjudged, FallByCpuLoadOfOthersStaysNotValidated) {
  want_new_mtu({"gpu1"});
  pairs.after["gpu1"] = SloState::unknown;
  shape = [](const GateQuestion& question, GateFigure& one) {
    one.figure = question.when == GateQuestion::When::before ? 1.0 : 0.5;
    one.cpu = 1.0;
  };
  killed_run();
  EXPECT_EQ(next_run().verdict, ApplyVerdict::not_validated);
  EXPECT_EQ(next_run().verdict, ApplyVerdict::not_validated);
  ASSERT_EQ(cluster.ledger.owed().size(), 1U);
  EXPECT_TRUE(cluster.ledger.owed()[0].before) << "it is owed, so it is kept";
}

// A fault that appeared after the kill: as the pair held before and the rollback does not help, the cause is
// something else.
TEST_F(Unjudged, GuiltIsOpenWhenTheRollbackDoesNotHelp) {
  want_new_mtu({"gpu1"});
  killed_run();
  pairs.after["gpu1"] = pairs.again["gpu1"] = pairs.confirmed_again["gpu1"] = SloState::broken;
  const ApplyReport report = next_run();
  EXPECT_EQ(report.verdict, ApplyVerdict::undone);
  EXPECT_EQ(report.guilt(), Guilt::open);
  EXPECT_EQ(report.exit_code(), 1);
}

TEST_F(Unjudged, PendingPairIsComparedWithTheBaselineOfItsChange) {
  want_new_mtu({"gpu1"});
  pairs.before["gpu1"] = SloState::broken;
  pairs.after["gpu1"] = SloState::unknown;
  ASSERT_EQ(cluster.converge().verdict, ApplyVerdict::not_validated);
  ASSERT_EQ(cluster.ledger.owed().at(0).subjects, std::set<std::string>{"gpu1"});
  pairs.after["gpu1"] = SloState::broken;
  want_new_mtu({"gpu2"});
  const ApplyReport report = next_run();
  EXPECT_EQ(report.verdict, ApplyVerdict::kept);
  EXPECT_EQ(mtu("gpu1"), number(4000));
  EXPECT_TRUE(cluster.ledger.owed().empty());
}

// Each of two killed runs is compared with its own baseline. The second changed another host.
TEST_F(Unjudged, EachKilledRunIsComparedWithItsOwnBaseline) {
  want_new_mtu({"gpu1"});
  pairs.before["gpu1"] = pairs.after["gpu1"] = SloState::broken;
  killed_run();
  want_new_mtu({"gpu2"});
  cluster.options.owed = cluster.ledger.owed();
  killed_run();
  ASSERT_EQ(cluster.ledger.owed().size(), 2U);
  pairs.after["gpu2"] = SloState::broken;
  const ApplyReport report = next_run();
  ASSERT_EQ(report.undone.size(), 1U);
  EXPECT_EQ(report.undone[0].change, 2U);
  EXPECT_EQ(mtu("gpu1"), number(4000));
  EXPECT_EQ(mtu("gpu2"), number(9000));
}

// Either may have broken the pair. The older change stays, as the pair works without the newer one.
TEST_F(Unjudged, NewerOfTwoKilledRunsIsRolledBackFirst) {
  want_new_mtu({"gpu1"});
  killed_run();
  cluster.want("gpu1", "interface[rail0]/autoneg", yes());
  cluster.options.owed = cluster.ledger.owed();
  killed_run();
  pairs.after["gpu1"] = SloState::broken;
  const ApplyReport report = next_run();
  ASSERT_EQ(report.undone.size(), 1U);
  EXPECT_EQ(report.undone[0].change, 2U);
  EXPECT_EQ(mtu("gpu1"), number(4000));
}

// Two changes, the older of which was never measured. Each makes the probes of its host need more CPU.
class TwoByOwnCpu : public Unjudged {
 protected:
  TwoByOwnCpu() {
    shape = [this](const GateQuestion& question, GateFigure& one) {
      // gpu1 stays degraded until its own change is rolled back.
      const bool is_back = mtu(one.subject) == number(9000);
      const bool fell = !is_back && question.when != GateQuestion::When::before;
      one.state = fell ? SloState::unknown : SloState::holds;
      one.figure = fell ? 0.5 : 1.0;
      one.cpu = fell && !by_others ? 2.0 : 1.0;
      if (question.when == GateQuestion::When::again && undone_by_others) by_others = true;
      if (by_others && fell) one.cpu = 1.0;
    };
    want_new_mtu({"gpu1"});
    killed_run();
    want_new_mtu({"gpu2"});
  }
  bool by_others = false;
  bool undone_by_others = false;  // from the first rollback on, others take the CPU
};

// After the rollback of the newer change, the older one's pair is no longer "broken" but unknown. That must
// not count as judged.
TEST_F(TwoByOwnCpu, BothAreRolledBack) {
  const ApplyReport report = next_run();
  EXPECT_EQ(report.verdict, ApplyVerdict::undone);
  EXPECT_EQ(report.undone.size(), 2U);
  EXPECT_EQ(mtu("gpu1"), number(9000));
  EXPECT_EQ(mtu("gpu2"), number(9000));
  EXPECT_TRUE(cluster.ledger.owed().empty());
}

TEST_F(TwoByOwnCpu, OlderStaysPendingWhenItsVerdictIsUnknown) {
  undone_by_others = true;
  const ApplyReport report = next_run();
  EXPECT_EQ(report.undone.size(), 1U);
  EXPECT_EQ(mtu("gpu1"), number(4000));
  EXPECT_EQ(mtu("gpu2"), number(9000));
  ASSERT_EQ(cluster.ledger.owed().size(), 1U);
  EXPECT_EQ(cluster.ledger.owed()[0].change, 1U);
  EXPECT_EQ(cluster.ledger.owed()[0].subjects, std::set<std::string>{"gpu1"});
  EXPECT_TRUE(report.owes);
}

// All hosts have a new MTU, and no benchmark can determine its effect.
class PuttingBack : public Unjudged {
 protected:
  PuttingBack() {
    want_new_mtu({"gpu1", "gpu2", "gpu3"});
    pairs.after = {{"gpu1", SloState::unknown}, {"gpu2", SloState::unknown}, {"gpu3", SloState::unknown}};
    EXPECT_EQ(cluster.converge().verdict, ApplyVerdict::not_validated);
    in_waves(1);
  }
  void want_mtu(const std::vector<const char*>& hosts, std::int64_t bytes) {
    for (const char* const host : hosts) cluster.want(host, kMtu, number(bytes));
  }
};

// A revert must not be limited to one host per apply because the others' verdict is unknown.
TEST_F(PuttingBack, IsNotHeldByTheChangeItReverts) {
  want_mtu({"gpu1", "gpu2", "gpu3"}, 9000);
  ASSERT_GT(cluster.plan().waves(), 1U);
  const ApplyReport report = next_run();
  for (const char* const host : {"gpu1", "gpu2", "gpu3"}) EXPECT_EQ(mtu(host), number(9000)) << host;
  EXPECT_EQ(report.verdict, ApplyVerdict::not_validated) << "it is not told yet what it did";
  EXPECT_EQ(report.exit_code(), 3);
  EXPECT_EQ(report.count(StepState::held), 0U);
  EXPECT_TRUE(report.owes);
}

TEST_F(PuttingBack, HoldsOtherChangesWithANoteOnHowToContinue) {
  want_mtu({"gpu1", "gpu3"}, 9000);
  want_mtu({"gpu2"}, 8000);
  const ApplyReport report = next_run();
  EXPECT_EQ(mtu("gpu1"), number(9000));
  EXPECT_EQ(mtu("gpu2"), number(4000));
  EXPECT_EQ(mtu("gpu3"), number(9000));
  EXPECT_EQ(report.verdict, ApplyVerdict::not_validated);
  EXPECT_EQ(report.count(StepState::held), 1U);
  EXPECT_EQ(std::ranges::count_if(report.notes,
                                  [](const std::string& one) {
                                    return one.find("run the apply again") != one.npos &&
                                           one.find("apply --no-measure") != one.npos;
                                  }),
            1);
}

// The gate after the last wave determines the verdict.
TEST_F(PuttingBack, IsKeptOnceTheLastGatePasses) {
  want_mtu({"gpu1", "gpu2", "gpu3"}, 9000);
  pairs.asked.clear();
  pairs.tell = [this](const GateQuestion& question, GateFigure& one) {
    using enum GateQuestion::When;
    if (question.when != after || std::ranges::count(pairs.asked, after, &GateQuestion::when) < 2) return;
    one.state = SloState::holds;
    one.figure = 1.0;
  };
  const ApplyReport report = next_run();
  EXPECT_EQ(report.verdict, ApplyVerdict::kept);
  EXPECT_EQ(report.exit_code(), 0);
  EXPECT_TRUE(cluster.ledger.owed().empty());
}

TEST_F(Unjudged, UnrelatedUnknownPairHoldsARevertToo) {
  want_new_mtu({"gpu3"});
  pairs.after["gpu3"] = SloState::unknown;
  ASSERT_EQ(cluster.converge().verdict, ApplyVerdict::not_validated);
  in_waves(1);
  want_new_mtu({"gpu1"});
  cluster.want("gpu3", kMtu, number(9000));
  pairs.after = {{"gpu1", SloState::unknown}};
  EXPECT_EQ(next_run().verdict, ApplyVerdict::not_validated);
  EXPECT_EQ(mtu("gpu1"), number(4000));
  EXPECT_EQ(mtu("gpu3"), number(4000));
}

// The newer change is no suspect, as the pair was broken before it. It overwrites one of the older change's
// two entries.
TEST_F(Unjudged, ChangeOnTopOfASuspectIsRolledBackFirst) {
  want_new_mtu({"gpu1"});
  cluster.want("gpu1", "interface[rail0]/autoneg", yes());
  ASSERT_EQ(cluster.plan().steps.size(), 1U);
  pairs.after["gpu1"] = SloState::unknown;
  ASSERT_EQ(cluster.converge().verdict, ApplyVerdict::not_validated);
  cluster.want("gpu1", kMtu, number(5000));
  for (auto* const states : {&pairs.before, &pairs.after, &pairs.again, &pairs.confirmed_again})
    (*states)["gpu1"] = SloState::broken;
  const ApplyReport report = next_run();
  ASSERT_EQ(report.undone.size(), 2U);
  EXPECT_EQ(report.undone[0].change, 2U);
  EXPECT_EQ(mtu("gpu1"), number(9000));
}

}  // namespace
}  // namespace lockstep
