// What a service makes of the answers of its source, and of those who ask it to look.
#include "service_lab.hpp"

namespace lockstep {
namespace {

using std::chrono::seconds;

// The one before it had failed for so long that its next try is minutes away.
TEST_F(ServiceLab, ABranchThatGoesBackIsGoneForAtOnce) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  devices.at("gpu2")->refuses = {Path::parse("sysctl[net.ipv4.tcp_mtu_probing]")->row()};
  commit("bbbb1", 1);
  run_for(seconds(3600));
  ASSERT_EQ(probing("gpu1"), Value::text("1"));
  commit("aaaa1", 0);
  run_for(seconds(15));
  EXPECT_EQ(probing("gpu1"), Value::text("0"));
  EXPECT_EQ(good(), "aaaa1");
}

TEST_F(ServiceLab, ACommitWhoseAnswerCameTooLateIsTakenByTheNextFetch) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  executor.delays().slow = 1;
  executor.delays().slow_max = seconds(300);  // a fetch may take 120 s
  int last = 0;
  while (!service->status()->source.trouble && last < 20) {
    ++last;
    commit("bbbb" + std::to_string(last), last);
    run_for(seconds(125));
  }
  ASSERT_EQ(service->status()->source.trouble, SourceTrouble::unreachable);
  executor.delays().slow = 0;
  run_for(seconds(600));
  EXPECT_EQ(good(), "bbbb" + std::to_string(last));
  expect_probing(last);
}

// A commit that is not allowed is no reason to ask for the next one less often.
TEST_F(ServiceLab, TheCommitAfterOneThatIsNotAllowedIsFetchedWithinTheInterval) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  source->trouble = SourceError{SourceTrouble::not_allowed, {ErrorKind::refused, "a symbolic link"}};
  run_for(seconds(3600));
  source->commit("bbbb1", files(1));  // nobody tells it
  run_for(seconds(80));
  expect_probing(1);
}

// As its documentation says.
// So that many services do not ask one forge in step.
TEST_F(ServiceLab, FetchesAreAnIntervalAndUpToATenthOfItApart) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  std::set<int> apart;
  int before = source->fetches;
  for (int second = 0, last = -1; second < 3600; ++second) {
    run_for(seconds(1));
    if (std::exchange(before, source->fetches) == source->fetches) continue;
    if (last >= 0) apart.insert(second - last);
    last = second;
  }
  EXPECT_GT(apart.size(), 2U);
  EXPECT_GE(*apart.begin(), 60);
  EXPECT_LE(*apart.rbegin(), 67);
}

TEST_F(ServiceLab, ASourceThatIsGoneIsAskedAtLeastEveryElevenMinutes) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  source->trouble = SourceError{SourceTrouble::unreachable, {ErrorKind::transient, "no route"}};
  run_for(seconds(4 * 3600));
  for (int time = 0; time < 50; ++time) {
    const int before = source->fetches;
    run_for(seconds(11 * 60));
    ASSERT_GT(source->fetches, before) << time;
  }
  EXPECT_LT(source->fetches, 100) << "and less and less often";
}

TEST_F(ServiceLab, WhoeverAsksLooksAtTheDevicesAlsoWhileItIsSuspended) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  ASSERT_TRUE(service->suspend(ann));
  run_for(seconds(60));
  int looks = 0;
  devices.at("gpu1")->seen = [&looks](const SimulatedCall& call) {
    looks += call.kind == SimulatedCall::Kind::observe ? 1 : 0;
  };
  service->reconcile_now();
  run_for(seconds(5));
  EXPECT_GT(looks, 0);
}

}  // namespace
}  // namespace lockstep
