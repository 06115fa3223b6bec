// What a rollback changes and leaves, in which order, and what follows when it fails.
#include "dead_man_test_fixture.hpp"

namespace lockstep::agent {
namespace {

const Value kUp = Value::boolean(true);
const Value kShut = Value::boolean(false);

class DeadManRollback : public ::testing::Test {
 protected:
  DeadManRollback() {
    device().set(mtu_, number(1500));
    device().set(up_, kUp);
    device().set(tos_, number(0));
  }
  SimulatedDevice& device() { return agent_.linux().device; }
  // Applies them, with the reverse as their undo unless another is given.
  void arm(const ChangeSet& changes, std::optional<ChangeSet> undo = std::nullopt) {
    const auto receipt = agent_.apply(changes, armed(name_, undo ? *undo : reverse_of(changes)));
    ASSERT_TRUE(receipt) << receipt.error().text();
    for (const Receipt::Outcome& one : receipt->outcomes) ASSERT_FALSE(one.error) << one.error->text();
    agent_.linux().applies.clear();
  }
  Result<Done> undo() { return agent_.settle(name_, Settlement::undo); }
  void next_transaction() { name_ += "'"; }
  std::string failed_undo() {
    wire::Hello hello;
    agent_.dead_man().describe(hello);
    return hello.failed_undo;
  }

  const Path mtu_ = entry("interface[rail0]/mtu");
  const Path up_ = entry("interface[rail0]/admin");
  const Path tos_ = entry("interface[rail0]/roce-tos");
  const ChangeSet both_{{mtu_, number(1500), number(9000), 0}, {tos_, number(0), number(106), 0}};
  std::string name_ = "s1";
  AgentUnderTest agent_;
};

TEST_F(DeadManRollback, KeepsWhatAnotherWriterHasChanged) {
  arm(both_);
  device().set(mtu_, number(4200));
  EXPECT_TRUE(undo());
  EXPECT_EQ(agent_.have(mtu_), number(4200));
  EXPECT_EQ(agent_.have(tos_), number(0));
}

TEST_F(DeadManRollback, RestoresWhatWasAbsentAndRemoved) {
  const Path lock = entry("memlock");
  const Path power = entry("gpu/persistence");
  device().set(power, kUp);
  arm({{lock, {}, Value::text("unlimited"), 0}, {power, kUp, {}, 0}});
  EXPECT_TRUE(undo());
  EXPECT_FALSE(agent_.have(lock));
  EXPECT_EQ(agent_.have(power), kUp);
}

TEST_F(DeadManRollback, FollowsThePlannedOrderUnderItsGuard) {
  const ChangeSet undo_changes{{up_, kUp, kShut, 0},
                               {mtu_, number(9000), number(1500), 0},
                               {tos_, number(106), number(0), 0},
                               {up_, kShut, kUp, 0}};
  arm(both_, undo_changes);
  EXPECT_TRUE(undo());
  ASSERT_EQ(agent_.linux().applies.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(agent_.linux().applies[i], ChangeSet{undo_changes[i]});
}

TEST_F(DeadManRollback, ChangesAnEntryTwiceWhereThatIsPlanned) {
  const ChangeSet undo_changes{{mtu_, number(9000), {}, 0}, {mtu_, {}, number(1500), 0}};
  arm({both_[0]}, undo_changes);
  EXPECT_TRUE(undo());
  EXPECT_EQ(agent_.have(mtu_), number(1500));
  ASSERT_EQ(agent_.linux().applies.size(), 2U);
  EXPECT_EQ(agent_.linux().applies[0], ChangeSet{undo_changes[0]});
}

TEST_F(DeadManRollback, TouchesNothingWhereNothingIsToBeRestored) {
  arm(both_, ChangeSet{{up_, kUp, kShut, 0}, {mtu_, number(9000), number(1500), 0}, {up_, kShut, kUp, 0}});
  device().set(mtu_, number(1500));
  EXPECT_TRUE(undo());
  EXPECT_TRUE(agent_.linux().applies.empty()) << "the port is not shut for nothing";
}

TEST_F(DeadManRollback, ADriverThatOrdersItselfGetsAllAtOnce) {
  arm(both_);
  agent_.linux().orders_itself = true;
  EXPECT_TRUE(undo());
  ASSERT_EQ(agent_.linux().applies.size(), 1U);
  EXPECT_EQ(agent_.linux().applies[0], reverse_of(both_));
}

TEST_F(DeadManRollback, WhatCanNotBeMadeTogetherIsMadeAsFarAsItCan) {
  arm(both_);
  agent_.linux().orders_itself = true;
  agent_.linux().forbidden.insert(tos_);
  EXPECT_EQ(kind_of(undo()), "transient");
  EXPECT_EQ(agent_.have(mtu_), number(1500));
  EXPECT_EQ(agent_.have(tos_), number(106));
  agent_.linux().forbidden.clear();
  EXPECT_TRUE(undo());
  EXPECT_EQ(agent_.have(tos_), number(0));
}

TEST_F(DeadManRollback, AUnitIsWholeAlsoWhereOneOtherEntryIsRefused) {
  const Path share0 = entry("interface[rail0]/class[0]/share");
  const Path share3 = entry("interface[rail0]/class[3]/share");
  for (const Path path : {share0, share3}) device().set(path, number(700));
  agent_.linux().orders_itself = true;
  const ChangeSet undo_changes{{tos_, number(106), number(0), 0},
                               {share0, number(700), number(500), 0},
                               {share3, number(700), number(500), 0}};
  device().set(tos_, number(106));
  ASSERT_TRUE(agent_.apply({}, armed(name_, undo_changes)));
  agent_.linux().applies.clear();
  agent_.linux().forbidden.insert(tos_);
  EXPECT_EQ(kind_of(undo()), "transient");
  EXPECT_EQ(agent_.have(share0), number(500));
  EXPECT_EQ(agent_.have(share3), number(500));
  for (const ChangeSet& one : agent_.linux().applies)
    EXPECT_FALSE(one.size() == 1 && one[0].path != tos_) << "a class of a scheduler alone";
}

// A port that was shut down for a change of something else, by a driver that died then: at each moment.
TEST_F(DeadManRollback, WhatAnApplySetOnItsWayIsPutRight) {
  int shut = 0;  // found so by the agent that came after
  for (int moment = 0; moment < 12; ++moment) {
    name_ = "m" + std::to_string(moment);
    device().set(mtu_, number(1500));
    device().set(up_, kUp);
    agent_.linux().on_the_way = {up_};
    agent_.kill_at(moment);
    (void)agent_.apply({both_[0]}, armed(name_, reverse_of({both_[0]})));
    const bool killed = agent_.is_killed();
    const bool was_shut = agent_.have(up_) == kShut;
    agent_.restart();
    agent_.kill_at(1);  // in the rollback as well
    agent_.pass(kUndoAfter + minutes(1));
    agent_.restart();
    agent_.pass(minutes(1));
    EXPECT_EQ(agent_.have(mtu_), number(1500)) << moment;
    EXPECT_EQ(agent_.have(up_), kUp) << moment;
    EXPECT_FALSE(agent_.journal().armed) << moment;
    if (!killed) {
      EXPECT_GT(shut, 0);
      return;
    }
    shut += was_shut ? 1 : 0;
  }
  FAIL() << "it was killed at every moment";
}

// An attempt that did all but that; the next one does not shut the port down, as it is down.
TEST_F(DeadManRollback, AnotherAttemptPutsRightWhatTheOneBeforeItLeft) {
  agent_.linux().on_the_way = {up_};
  agent_.linux().stays_on_the_way = true;
  const Guard guard = armed(name_, reverse_of({both_[0]}));
  ASSERT_TRUE(agent_.apply({both_[0]}, guard));
  EXPECT_EQ(agent_.have(up_), kShut);
  agent_.linux().stays_on_the_way = false;
  const auto second = agent_.apply({{mtu_, number(9000), number(9000), 0}}, guard);
  ASSERT_TRUE(second) << second.error().text();
  EXPECT_EQ(second->outcomes.size(), 1U) << "as many as were asked for";
  EXPECT_EQ(agent_.have(up_), kUp);
}

TEST_F(DeadManRollback, NothingIsKeptWhileWhatAnApplySetOnItsWayIsLeft) {
  agent_.linux().on_the_way = {up_};
  agent_.linux().stays_on_the_way = true;
  ASSERT_TRUE(agent_.apply({both_[0]}, armed(name_, reverse_of({both_[0]}))));
  agent_.linux().forbidden.insert(up_);
  EXPECT_EQ(kind_of(agent_.settle(name_, Settlement::keep)), "transient");
  EXPECT_TRUE(agent_.journal().armed);
  agent_.linux().forbidden.clear();
  agent_.linux().on_the_way.clear();
  EXPECT_TRUE(agent_.settle(name_, Settlement::keep));
  EXPECT_EQ(agent_.have(up_), kUp);
  EXPECT_EQ(agent_.have(mtu_), number(9000));
}

// Once an apply has ended well, a port that is down was shut by another hand.
TEST_F(DeadManRollback, LeavesAPortDownThatSomebodyHasShutSince) {
  agent_.linux().on_the_way = {up_};
  arm(both_);
  EXPECT_EQ(agent_.have(up_), kUp);
  EXPECT_TRUE(agent_.journal().armed->way_back.empty());
  device().set(up_, kShut);
  agent_.linux().on_the_way.clear();
  EXPECT_TRUE(undo());
  EXPECT_EQ(agent_.have(mtu_), number(1500));
  EXPECT_EQ(agent_.have(up_), kShut);
}

TEST_F(DeadManRollback, NeverSplitsACommitUnit) {
  const auto share = [](const char* of) { return entry(std::string("interface[") + of + "/share"); };
  ChangeSet undo_changes;
  for (const char* const one : {"rail0]/class[0]", "rail0]/class[3]", "rail1]/class[0]"}) {
    device().set(share(one), number(700));
    undo_changes.push_back({share(one), number(700), number(500), 0});
  }
  ASSERT_TRUE(agent_.apply({}, armed("s1", undo_changes)));
  agent_.linux().applies.clear();
  EXPECT_TRUE(undo());
  ASSERT_EQ(agent_.linux().applies.size(), 2U) << "the classes of a port are one scheduler";
  EXPECT_EQ(agent_.linux().applies[0].size(), 2U);
}

TEST_F(DeadManRollback, ADeniedEntryLeavesTheOthersOfItsRowRestored) {
  ChangeSet changes;
  for (int i = 0; i < 3; ++i)
    changes.push_back({entry("sysctl[net.core.x" + std::to_string(i) + "]"), {}, Value::text("1"), 0});
  arm(changes);
  agent_.linux().forbidden.insert(changes[1].path);
  EXPECT_EQ(kind_of(undo()), "transient");
  EXPECT_FALSE(agent_.have(changes[0].path));
  EXPECT_TRUE(agent_.have(changes[1].path));
  EXPECT_FALSE(agent_.have(changes[2].path));
  agent_.linux().forbidden.clear();
  EXPECT_TRUE(undo());
  EXPECT_FALSE(agent_.have(changes[1].path));
}

TEST_F(DeadManRollback, RestoresWhatShowsOnlyAfterARestart) {
  const Path setting = entry("interface[rail0]/setting[SRIOV_EN]");
  // A driver that reads what holds in this boot: the write does not show.
  device().set(setting, Value::text("false"));
  ASSERT_TRUE(agent_.apply({}, armed("s1", {{setting, Value::text("true"), Value::text("false"), 0}})));
  agent_.linux().applies.clear();
  EXPECT_TRUE(undo());
  ASSERT_EQ(agent_.linux().applies.size(), 1U);
  EXPECT_EQ(agent_.linux().applies[0].at(0).want, Value::text("false"));
  EXPECT_EQ(agent_.observe()->armed, "");
}

TEST_F(DeadManRollback, RestoresANumberThatTheDeviceRounded) {
  const Path size = entry("interface[rail0]/buffer[3]/size");
  device().set(size, number(1000));
  arm({{size, number(1000), number(5000), 0}});
  device().set(size, number(5100));  // in cells of its own
  EXPECT_TRUE(undo());
  EXPECT_EQ(agent_.have(size), number(1000));
}

TEST_F(DeadManRollback, RetriesWhatCannotBeRead) {
  arm(both_);
  agent_.linux().unreadable.insert(mtu_);
  const auto answer = undo();
  EXPECT_EQ(kind_of(answer), "transient");
  EXPECT_NE(answer.error().text().find("interface[rail0]/mtu"), std::string::npos) << answer.error().text();
  EXPECT_EQ(agent_.have(mtu_), number(9000));
  EXPECT_EQ(agent_.have(tos_), number(0));
  EXPECT_EQ(agent_.observe()->armed, "s1");
  EXPECT_EQ(kind_of(agent_.settle("s1", Settlement::keep)), "conflict");
  EXPECT_EQ(kind_of(agent_.settle("s1", Settlement::extend)), "conflict");
  EXPECT_EQ(kind_of(agent_.apply(both_, armed("s1", {}))), "conflict");
  EXPECT_EQ(kind_of(agent_.dead_man().remedy({"linux", {}, 1}, {})), "conflict");
  agent_.linux().unreadable.clear();
  agent_.pass(*agent_.dead_man().next_time() - agent_.now());
  EXPECT_EQ(agent_.have(mtu_), number(1500));
  EXPECT_TRUE(undo());
}

TEST_F(DeadManRollback, AnEntryThatAFailedWriteLeftHalfMadeIsRestored) {
  arm(both_);
  agent_.linux().at = [this](const std::string& moment, const Call&) {
    if (moment != "write" || agent_.linux().applies.back()[0].path != mtu_) return;
    device().set(mtu_, {});
    device().refuses = {mtu_.row()};
  };
  EXPECT_EQ(kind_of(undo()), "transient");
  EXPECT_FALSE(agent_.have(mtu_));
  agent_.linux().at = nullptr;
  device().refuses = {};
  agent_.pass(minutes(1));
  EXPECT_EQ(agent_.have(mtu_), number(1500));
}

TEST_F(DeadManRollback, AWriterBetweenTwoTriesIsLeftAlone) {
  arm(both_);
  device().refuses = {mtu_.row()};
  EXPECT_EQ(kind_of(undo()), "transient");
  device().set(mtu_, number(4200));
  device().refuses = {};
  agent_.pass(minutes(1));
  EXPECT_EQ(agent_.have(mtu_), number(4200));
  EXPECT_EQ(agent_.observe()->armed, "");
}

TEST_F(DeadManRollback, ThatFailsForTenMinutesStopsAllWritesUntilAcknowledged) {
  arm(both_);
  device().refuses = {mtu_.row()};
  agent_.pass(kUndoAfter);
  const nanoseconds first = agent_.now();
  EXPECT_EQ(agent_.have(tos_), number(0)) << "the rest is restored";
  std::size_t tries = 0;
  while (failed_undo().empty() && agent_.now() < first + 2 * kRollbackTries) {
    ++tries;
    ASSERT_EQ(agent_.observe()->armed, "s1");
    ASSERT_GT(*agent_.dead_man().next_time(), agent_.now());
    agent_.pass(*agent_.dead_man().next_time() - agent_.now());
  }
  EXPECT_EQ(agent_.now(), first + kRollbackTries);
  EXPECT_GT(tries, 10U);
  EXPECT_LT(tries, 60U);
  EXPECT_NE(failed_undo().find("s1: interface[rail0]/mtu: "), std::string::npos) << failed_undo();
  EXPECT_EQ(agent_.dead_man().next_time(), std::nullopt);
  device().refuses = {};
  agent_.pass(kRollbackTries);
  agent_.restart();
  EXPECT_EQ(agent_.have(mtu_), number(9000)) << "left for whoever restores it";
  EXPECT_EQ(agent_.journal().failed->left, (ChangeSet{{mtu_, number(9000), number(1500), 0}}));
  for (const char* const transaction : {"s1", "s2"})
    EXPECT_EQ(kind_of(agent_.apply(both_, armed(transaction, {}))), "refused");
  EXPECT_EQ(kind_of(agent_.dead_man().remedy({"linux", {}, 1}, {})), "refused");
  EXPECT_EQ(kind_of(undo()), "refused");
  EXPECT_EQ(kind_of(agent_.settle("s1", Settlement::keep)), "conflict");
  EXPECT_TRUE(agent_.observe(1));

  EXPECT_TRUE(agent_.dead_man().acknowledge());
  EXPECT_TRUE(agent_.dead_man().acknowledge());
  agent_.restart();
  EXPECT_EQ(failed_undo(), "");
  EXPECT_EQ(kind_of(agent_.settle("s1", Settlement::keep)), "conflict");
  EXPECT_TRUE(agent_.apply(both_, armed("s2", {})));
}

TEST_F(DeadManRollback, TheTenMinutesGoOnInARestartedAgentAndBeginAnewInAnotherBoot) {
  arm(both_);
  device().refuses = {mtu_.row()};
  agent_.pass(kUndoAfter);
  agent_.skip(kRollbackTries - seconds(1));
  agent_.restart();
  EXPECT_EQ(failed_undo(), "");
  agent_.reboot();
  device().refuses = {mtu_.row()};
  agent_.pass(kRollbackTries - seconds(1));
  EXPECT_EQ(failed_undo(), "");
  agent_.restart();
  agent_.pass(seconds(1));
  EXPECT_NE(failed_undo(), "");
}

TEST_F(DeadManRollback, AnotherBootRollsBackAtOnceWhatIsStillThere) {
  const Path route = entry("sysctl[net.core.x]");  // lost with the boot
  ChangeSet changes = both_;
  changes.push_back({route, Value::text("0"), Value::text("1"), 0});
  device().set(route, Value::text("0"));
  arm(changes);
  agent_.reboot();
  EXPECT_EQ(agent_.have(mtu_), number(1500));
  EXPECT_FALSE(agent_.have(route)) << "it does not hold what was written";
  EXPECT_EQ(kind_of(agent_.settle("s1", Settlement::keep)), "conflict");
  EXPECT_TRUE(undo());
}

TEST_F(DeadManRollback, ARestartedAgentGoesOnWithTheTime) {
  arm(both_);
  agent_.pass(kUndoAfter / 2);
  agent_.restart();
  EXPECT_EQ(agent_.have(mtu_), number(9000));
  agent_.pass(kUndoAfter / 2 - seconds(1));
  EXPECT_EQ(agent_.have(mtu_), number(9000));
  agent_.kill();
  agent_.skip(seconds(1));
  agent_.restart();
  EXPECT_EQ(agent_.have(mtu_), number(1500)) << "overdue while no agent ran";
}

TEST_F(DeadManRollback, WaitsForADriverThatIsNotAttachedAnyMore) {
  arm(both_);
  agent_.kill();
  {
    const std::string folder = agent_.folder() + "-2";
    std::filesystem::copy(agent_.folder(), folder);
    nanoseconds later{};
    std::string log;
    DeadMan other(*AgentJournal::open(folder), {},
                  Machine{[this, &later] { return agent_.now() + kUndoAfter + later; }, "boot1"},
                  [&log](const std::string& line) { log += line + "\n"; });
    other.keep_time();
    later = minutes(1);
    other.keep_time();
    EXPECT_EQ(log, "transaction s1 is not rolled back yet: no driver 'linux' is attached to this agent\n");
    wire::Hello hello;
    other.describe(hello);
    EXPECT_EQ(hello.armed, "s1");
    EXPECT_GT(other.next_time(), agent_.now() + kUndoAfter + later);
  }
  agent_.skip(kUndoAfter);
  agent_.restart();
  EXPECT_EQ(agent_.have(mtu_), number(1500));
}

TEST_F(DeadManRollback, GoesOnWhenItsCallerHasGone) {
  arm(both_);
  std::stop_source caller;
  agent_.linux().at = [&](const std::string& moment, const Call&) {
    if (moment == "write") caller.request_stop();
  };
  const Call call{.stop = caller.get_token()};
  EXPECT_TRUE(agent_.dead_man().settle({"s1", Settlement::undo, 1}, call));
  EXPECT_EQ(agent_.have(mtu_), number(1500));
  EXPECT_EQ(agent_.have(tos_), number(0));
}

// Killed wherever a driver is called, again and again, on the way back.
TEST_F(DeadManRollback, IsFinishedByTheNextAgentWhereverItIsKilled) {
  for (const bool reboots : {false, true}) {
    for (int moment = 0; moment < 12; ++moment) {
      SCOPED_TRACE(moment);
      next_transaction();
      arm(both_);
      agent_.kill_at(moment);
      (void)undo();
      for (int again = 0; again < 6 && agent_.is_killed(); ++again) {
        reboots ? agent_.reboot() : agent_.restart();
        agent_.kill_at(again);
        agent_.pass(minutes(1));
      }
      agent_.restart();
      EXPECT_EQ(agent_.have(mtu_), number(1500));
      EXPECT_EQ(agent_.have(tos_), number(0));
      EXPECT_TRUE(undo());
      EXPECT_EQ(kind_of(agent_.settle(name_, Settlement::keep)), "conflict");
    }
  }
}

// Killed before, between and after the writes of an apply, and before anything.
TEST_F(DeadManRollback, AnAgentKilledWhileItAppliesRollsBack) {
  for (const bool reboots : {false, true}) {
    bool survived = false;
    for (int moment = 0; !survived; ++moment) {
      SCOPED_TRACE(moment);
      ASSERT_LT(moment, 100);
      next_transaction();
      agent_.kill_at(moment);
      (void)agent_.apply(both_, armed(name_, reverse_of(both_)));
      survived = !agent_.is_killed();
      reboots ? agent_.reboot() : agent_.restart();
      if (!reboots) {
        EXPECT_EQ(agent_.observe()->armed, name_);
        agent_.pass(kUndoAfter - seconds(1));
        EXPECT_EQ(agent_.observe()->armed, name_);
        agent_.pass(seconds(1));
      }
      EXPECT_EQ(agent_.observe()->armed, "");
      EXPECT_EQ(agent_.have(mtu_), number(1500));
      EXPECT_EQ(agent_.have(tos_), number(0));
      EXPECT_EQ(kind_of(agent_.settle(name_, Settlement::keep)), "conflict");
    }
  }
}

TEST_F(DeadManRollback, AnAgentKilledBetweenWriteAndSettlementCanStillBeSettled) {
  for (const Settlement settlement : {Settlement::keep, Settlement::undo}) {
    device().set(mtu_, number(1500));
    device().set(tos_, number(0));
    next_transaction();
    arm(both_);
    agent_.restart();
    EXPECT_TRUE(agent_.settle(name_, Settlement::extend));
    agent_.restart();
    EXPECT_TRUE(agent_.settle(name_, settlement));
    EXPECT_EQ(agent_.have(mtu_), number(settlement == Settlement::keep ? 9000 : 1500));
  }
}

}  // namespace
}  // namespace lockstep::agent
