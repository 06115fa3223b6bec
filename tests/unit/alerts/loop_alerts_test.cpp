// The alerts of a real service over simulated devices, in virtual time: the status is looked at each second.
#include "reconciler/alerts/alerts.hpp"
#include "tests/unit/service/service_lab.hpp"

namespace lockstep {
namespace {

using std::chrono::seconds;

class LoopAlerts : public ServiceLab {
 protected:
  void watch_for(int times) {
    for (int i = 0; i < times; ++i) {
      run_for(seconds(1));
      const WallTime now = executor.wall_time();
      AlertBook next = next_alerts(book_, *service->status(), now);
      for (const AlertChange& one : changes_between(book_, next, now))
        changes_.push_back((one.opened ? "+" : "-") + std::string(one.alert.name()) + " " + one.alert.object);
      book_ = std::move(next);
    }
  }
  std::vector<std::string> take() { return std::exchange(changes_, {}); }

  AlertBook book_;
  std::vector<std::string> changes_;
};
using Changes = std::vector<std::string>;

TEST_F(LoopAlerts, DriftThatIsHealedIsNotToldAndWhatStaysIs) {
  commit("aaaa1", 0);
  watch_for(60);
  EXPECT_EQ(take(), Changes{}) << "a first change is no drift";
  const auto drift = [&] {
    devices.at("gpu1")->set(*Path::parse("sysctl[net.ipv4.tcp_mtu_probing]"), Value::text("1"));
    service->reconcile_now();
  };
  drift();
  watch_for(300);
  expect_probing(0);
  EXPECT_EQ(take(), Changes{});
  ASSERT_TRUE(service->cordon("gpu1", ann));
  watch_for(60);
  drift();
  watch_for(120);
  EXPECT_EQ(take(), Changes{"+LockstepDeviceDrifted Device/gpu1"});
  ASSERT_TRUE(service->uncordon("gpu1", ann));
  watch_for(300);
  expect_probing(0);
  EXPECT_EQ(take(), Changes{"-LockstepDeviceDrifted Device/gpu1"});
  EXPECT_TRUE(book_.open.empty());
}

TEST_F(LoopAlerts, ARefusedRevisionIsToldUntilThereIsAnother) {
  commit("aaaa1", 0);
  watch_for(60);
  measurer.verdict = GateVerdict::fail;
  commit("bbbb1", 1);
  watch_for(300);
  EXPECT_EQ(take(), Changes{"+LockstepGateRefused Revision/bbbb1"});
  EXPECT_EQ(service->status()->counts.gates[static_cast<std::size_t>(GateVerdict::fail)], 1U);
  measurer.verdict = GateVerdict::pass;
  commit("cccc1", 2);
  watch_for(300);
  EXPECT_EQ(take(), Changes{"-LockstepGateRefused Revision/bbbb1"});
}

TEST_F(LoopAlerts, AnInvalidRevisionIsToldUntilThereIsAValidOne) {
  commit("aaaa1", 0);
  watch_for(60);
  commit("bbbb1", 1, {{"hosts.yaml", "apiVersion: lockstep.dev/v1alpha1\nkind: HostProfil\n"}});
  watch_for(60);
  ASSERT_EQ(take(), Changes{"+LockstepStalled Cluster/" + service->status()->cluster});
  EXPECT_EQ(book_.open.begin()->second.reason, "InvalidRevision");
  commit("cccc1", 1);
  watch_for(60);
  EXPECT_EQ(take(), Changes{"-LockstepStalled Cluster/" + service->status()->cluster});
}

// A receiver that knows the id is not told of a second one.
TEST_F(LoopAlerts, WhoseStartIsStoredHaveTheSameIdAfterARestart) {
  const auto ids = [this] {
    std::vector<std::string> out;
    for (const auto& [key, alert] : book_.open) out.push_back(alert.id());
    return out;
  };
  commit("aaaa1", 0);
  watch_for(60);
  measurer.verdict = GateVerdict::fail;
  commit("bbbb1", 1);
  watch_for(300);
  ASSERT_EQ(take(), Changes{"+LockstepGateRefused Revision/bbbb1"});
  const std::vector<std::string> before = ids();
  kill();
  book_ = {};
  start_service();
  watch_for(300);
  EXPECT_EQ(take(), Changes{"+LockstepGateRefused Revision/bbbb1"});
  EXPECT_EQ(ids(), before);
}

}  // namespace
}  // namespace lockstep
