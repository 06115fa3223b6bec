// Rollback of figures (a session's timers) that had other values before the change.
#include "gate_lab.hpp"

namespace lockstep {
namespace {

// A session whose timers in use follow the ones that its device proposes.
class GateOfFigures : public Gate {
 protected:
  GateOfFigures() {
    SimulatedDevice& leaf0 = *cluster.devices["leaf0"];
    cluster.want("leaf0", "bgp/neighbor[swp1]", there());
    want(9);
    leaf0.effects = [this](Tree& tree) { tree.set(in_use, tree.value(hold)); };
    cluster.options.measurer = nullptr;
    cluster.converge();
    cluster.options.measurer = &measurer;
    cluster.ledger = MemoryLedger{};
    before = truth();
    want(6);
  }
  void want(int seconds) {
    cluster.want("leaf0", hold.text(), number(seconds));
    cluster.want("leaf0", in_use.text(), number(seconds));
  }
  const Path hold = entry("bgp/neighbor[swp1]/hold");
  const Path in_use = entry("bgp/neighbor[swp1]/hold-in-use");
};

// The restored timers in use differ from the specs and equal those of before.
TEST_F(GateOfFigures, RollbackRestoresTheEarlierFigures) {
  measurer.answer = [this] { return measurer.asked.size() < 2 ? GateVerdict::fail : GateVerdict::pass; };
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::undone);
  EXPECT_EQ(truth(), before);
}

TEST_F(GateOfFigures, RollbackOfAnEarlierRunRestoresTheEarlierFigures) {
  stopped_run();
  EXPECT_NE(truth(), before);
  measurer.answer = [this] { return measurer.asked.size() < 3 ? GateVerdict::fail : GateVerdict::pass; };
  EXPECT_EQ(next_run().verdict, ApplyVerdict::undone);
  EXPECT_EQ(truth(), before);
}

}  // namespace
}  // namespace lockstep
