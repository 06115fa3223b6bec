// A run that was interrupted, and the next one: the baseline is used as long as it is comparable.
#include "fake_traffic.hpp"
#include "lab.hpp"
#include "tests/unit/store/oracle.hpp"

namespace lockstep {
namespace {

// gpu2 is unreachable both before and after the change, so the change did not cause it.
class KeptBefore : public Lab {
 protected:
  KeptBefore() : KeptBefore({}) {}
  explicit KeptBefore(std::vector<std::string> of) {
    traffic = [this](const auto& plan, const auto& ends) {
      if (cuts && at("gpu1", "sysctl[net.ipv4.tcp_mtu_probing]") == Value::text("2")) cut.request_stop();
      return fake.measure(plan, ends);
    };
    said("1");
    EXPECT_EQ(run().report.verdict, ApplyVerdict::kept);
    only = std::move(of);
    fake.unreachable = {"gpu2"};
    said("2");
    cuts = true;
    EXPECT_EQ(run().report.verdict, ApplyVerdict::stopped);
    cuts = false;
    cut = std::stop_source();
  }
  void said(const std::string& probing) const {
    folder.write("specs/hosts.yaml", R"yaml(apiVersion: lockstep.dev/v1alpha1
kind: HostProfile
metadata: {name: training}
spec:
  selector: {matchLabels: {pool: lab}}
  sysctl: {net.ipv4.tcp_mtu_probing: )yaml" +
                                         probing + "}\n");
  }
  Applied run() {
    stop = cut;
    ClusterSession& lab = open(on_the_clock);
    if (!only.empty()) {
      EXPECT_TRUE(lab.choose(only));
    }
    Applied applied = apply(lab);
    session.reset();
    return applied;
  }
  std::vector<std::string> only;  // devices; empty: all
  FakeTraffic fake{1};
  bool cuts = false;  // the run is stopped while it measures its change
  std::stop_source cut;
  SimulatedExecutor on_the_clock{1, {}, std::chrono::steady_clock::now()};
};

TEST_F(KeptBefore, IsUsedByTheNextRun) {
  const Applied applied = run();
  ASSERT_TRUE(applied.report.gate);
  EXPECT_EQ(applied.report.verdict, ApplyVerdict::kept) << applied.report.gate->why;
  EXPECT_TRUE(applied.report.gate->why.starts_with("not caused")) << applied.report.gate->why;
  EXPECT_EQ(applied.report.exit_code(), 2);
}

class KeptBeforeOfSome : public KeptBefore {
 protected:
  KeptBeforeOfSome() : KeptBefore({"gpu1"}) {}
};

// The validity of the baseline depends on all devices that it crossed, including those outside the run.
TEST_F(KeptBeforeOfSome, IsUsedByTheNextRunOfThoseDevices) {
  const Applied applied = run();
  EXPECT_EQ(applied.report.verdict, ApplyVerdict::kept) << applied.report.gate->why;
  EXPECT_EQ(applied.report.exit_code(), 2);
}

TEST_F(KeptBeforeOfSome, IsNotUsedAfterARebootOfAnotherDevice) {
  devices.at("gpu2")->reboot();
  EXPECT_EQ(run().report.verdict, ApplyVerdict::undone);
}

TEST_F(KeptBefore, ExpiresAfterHalfAnHour) {
  on_the_clock.wall_epoch += kBeforeAge + std::chrono::seconds(1);
  EXPECT_EQ(run().report.verdict, ApplyVerdict::undone);
}

TEST_F(KeptBefore, IsNotUsedAfterAReboot) {
  devices.at("gpu1")->reboot();
  const Applied applied = run();
  ASSERT_TRUE(applied.report.gate);
  EXPECT_FALSE(applied.report.gate->why.starts_with("not caused")) << applied.report.gate->why;
}

TEST_F(KeptBefore, IsNotUsedWithAnotherBound) {
  std::string suite = kSuite;
  suite.replace(suite.find("85%"), 3, "80%");
  folder.write("specs/slo.yaml", suite);
  EXPECT_EQ(run().report.verdict, ApplyVerdict::undone);
}

TEST_F(KeptBefore, IsNotUsedWithoutItsRun) {
  EXPECT_EQ(Oracle(state() + "/journal.sqlite").ask("DELETE FROM runs WHERE purpose = 'before'"), "");
  EXPECT_EQ(run().report.verdict, ApplyVerdict::undone);
}

TEST_F(KeptBefore, DamagedOneIsReportedAndNotUsed) {
  EXPECT_EQ(Oracle(state() + "/journal.sqlite")
                .ask("UPDATE changes SET measured_before = 'garbage' WHERE measured_before IS NOT NULL"),
            "");
  const Applied applied = run();
  EXPECT_EQ(applied.report.verdict, ApplyVerdict::undone);
  ASSERT_FALSE(applied.report.notes.empty());
  EXPECT_TRUE(std::ranges::any_of(applied.report.notes, [](const std::string& one) {
    return one.starts_with("judged without what was measured before it: ") &&
           one.find("what was measured before change 2 is damaged: ") != one.npos;
  })) << applied.report.notes.front();
}

}  // namespace
}  // namespace lockstep
