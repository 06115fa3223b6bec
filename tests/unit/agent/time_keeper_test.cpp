// What is due is rolled back while everything else waits, and a rollback that hangs keeps nobody from an
// answer.
#include "reconciler/agent/time_keeper.hpp"

#include <future>

#include "dead_man_test_fixture.hpp"
#include "reconciler/agent/calls.hpp"
#include "tests/unit/agent/server_test_client.hpp"

namespace lockstep::agent {
namespace {

constexpr seconds kFarBeyond{60};

class TimeKeeperTest : public ::testing::Test {
 protected:
  TimeKeeperTest() { agent_.linux().device.set(mtu_, number(1500)); }
  void arm() {
    const ChangeSet grow{{mtu_, number(1500), number(9000), 0}};
    ASSERT_TRUE(agent_.apply(grow, armed("s1", reverse_of(grow))));
  }
  // The driver's next write waits until the test lets it go on.
  void hang_at_a_write() {
    agent_.linux().at = [this](const std::string& moment, const Call&) {
      if (moment != "write") return;
      hangs_.set_value();
      EXPECT_EQ(go_on_.get_future().wait_for(kFarBeyond), std::future_status::ready);
    };
  }
  std::unique_ptr<TimeKeeper> keep_time() {
    auto out = TimeKeeper::start(dead_man(), Machine{[this] { return agent_.now(); }, "boot1"});
    EXPECT_TRUE(out) << out.error().text();
    return *std::move(out);
  }
  std::shared_ptr<DeadMan> dead_man() {
    return {&agent_.dead_man(), [](DeadMan*) {}};
  }
  template <class F>
  auto answered(F call) {
    auto out = std::async(std::launch::async, std::move(call));
    EXPECT_EQ(out.wait_for(kFarBeyond), std::future_status::ready);
    return out.get();
  }

  const Path mtu_ = entry("interface[rail0]/mtu");
  std::promise<void> hangs_;
  std::promise<void> go_on_;
  AgentUnderTest agent_;
};

TEST_F(TimeKeeperTest, RollsBackWithoutBeingAsked) {
  const auto keeper = keep_time();
  arm();
  EXPECT_EQ(keeper->busy_for(), nanoseconds::zero());
  agent_.skip(kUndoAfter);
  EXPECT_TRUE(soon([&] { return !agent_.journal().armed; }));
  EXPECT_EQ(agent_.have(mtu_), number(1500));
}

TEST_F(TimeKeeperTest, EverybodyIsAnsweredWhileARollbackHangs) {
  arm();
  hang_at_a_write();
  auto keeper = keep_time();
  agent_.skip(kUndoAfter);
  ASSERT_EQ(hangs_.get_future().wait_for(kFarBeyond), std::future_status::ready);
  EXPECT_GT(keeper->busy_for(), nanoseconds::zero());
  DeviceCalls calls({.cluster = "pod", .device = "gpu1"}, dead_man(), agent_.attached());
  const Reply hello = answered([&] { return calls.handle("hello", "{}", PeerRole::controller, {}); });
  EXPECT_EQ(hello.status, 200);
  EXPECT_EQ(wire::decode_hello(hello.body)->armed, "s1");
  EXPECT_EQ(answered([&] { return kind_of(agent_.observe(0, "frr")); }), "done");
  EXPECT_EQ(answered([&] { return kind_of(agent_.settle("s1", Settlement::extend)); }), "conflict");
  EXPECT_EQ(answered([&] { return kind_of(agent_.dead_man().hold("fans")); }), "done");
  EXPECT_EQ(agent_.journal().hold, "fans") << "status reads the journal";
  const Call past{.deadline = Time::clock::now() - seconds(1), .stop = {}};
  const wire::SettleRequest keep{"s1", Settlement::keep, 1};
  EXPECT_EQ(answered([&] { return kind_of(agent_.dead_man().settle(keep, past)); }), "transient");
  go_on_.set_value();
  EXPECT_TRUE(soon([&] { return keeper->busy_for() == nanoseconds::zero(); }));
  EXPECT_EQ(agent_.have(mtu_), number(1500));
}

TEST_F(TimeKeeperTest, EndsAfterTheTryThatRuns) {
  arm();
  hang_at_a_write();
  auto keeper = keep_time();
  agent_.skip(kUndoAfter);
  ASSERT_EQ(hangs_.get_future().wait_for(kFarBeyond), std::future_status::ready);
  auto ended = std::async(std::launch::async, [&] { keeper.reset(); });
  go_on_.set_value();
  ended.get();
  EXPECT_EQ(agent_.have(mtu_), number(1500));
  EXPECT_FALSE(agent_.journal().armed);
}

}  // namespace
}  // namespace lockstep::agent
