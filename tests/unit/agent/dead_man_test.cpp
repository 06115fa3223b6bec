// The promises of dead_man.hpp about transactions, settlements, epochs, holds and rollback.
#include "dead_man_test_fixture.hpp"
#include "reconciler/agent/server.hpp"

namespace lockstep::agent {
namespace {

class DeadManRules : public ::testing::Test {
 protected:
  DeadManRules() {
    agent_.linux().device.set(mtu_, number(1500));
    agent_.linux().device.set(up_, Value::boolean(true));
  }
  ChangeSet grow() const { return {{mtu_, number(1500), number(9000), 0}}; }
  Guard guard(const std::string& transaction) const { return armed(transaction, reverse_of(grow())); }
  void arm(const std::string& transaction) {
    const auto receipt = agent_.apply(grow(), guard(transaction));
    ASSERT_TRUE(receipt) << receipt.error().text();
    ASSERT_EQ(receipt->outcomes.size(), 1U);
    ASSERT_FALSE(receipt->outcomes[0].error);
    ASSERT_EQ(agent_.have(mtu_), number(9000));
  }
  wire::Hello hello() {
    wire::Hello out;
    agent_.dead_man().describe(out);
    return out;
  }

  const Path mtu_ = entry("interface[rail0]/mtu");
  const Path other_mtu_ = entry("interface[rail1]/mtu");
  const Path up_ = entry("interface[rail0]/admin");
  AgentUnderTest agent_;
};

TEST_F(DeadManRules, AKeptChangeStays) {
  arm("s1");
  EXPECT_EQ(agent_.observe()->armed, "s1");
  EXPECT_EQ(agent_.observe(0, "frr")->armed, "s1") << "whichever driver is asked";
  EXPECT_EQ(hello().armed, "s1");
  EXPECT_TRUE(agent_.settle("s1", Settlement::keep));
  EXPECT_EQ(agent_.observe()->armed, "");
  agent_.pass(2 * kUndoAfter);
  agent_.restart();
  EXPECT_TRUE(agent_.settle("s1", Settlement::keep)) << "the first answer may have been lost";
  EXPECT_EQ(kind_of(agent_.settle("s1", Settlement::undo)), "conflict");
  EXPECT_EQ(kind_of(agent_.settle("s1", Settlement::extend)), "conflict");
  EXPECT_EQ(agent_.have(mtu_), number(9000));
}

TEST_F(DeadManRules, AnUnsettledChangeIsRolledBackInTimeAndNotBefore) {
  arm("s1");
  ASSERT_EQ(agent_.dead_man().next_time(), agent_.now() + kUndoAfter);
  agent_.pass(kUndoAfter - nanoseconds(1));
  EXPECT_EQ(agent_.have(mtu_), number(9000));
  agent_.pass(nanoseconds(1));
  EXPECT_EQ(agent_.have(mtu_), number(1500));
  EXPECT_EQ(agent_.dead_man().next_time(), std::nullopt);
  EXPECT_EQ(kind_of(agent_.settle("s1", Settlement::keep)), "conflict");
  EXPECT_EQ(kind_of(agent_.settle("s1", Settlement::extend)), "conflict");
  EXPECT_TRUE(agent_.settle("s1", Settlement::undo));
}

TEST_F(DeadManRules, ALateSettlementCannotKeepWhatIsOverdue) {
  for (const Settlement late : {Settlement::keep, Settlement::extend}) {
    const std::string name = late == Settlement::keep ? "s1" : "s2";
    arm(name);
    agent_.skip(kUndoAfter);
    EXPECT_EQ(kind_of(agent_.settle(name, late)), "conflict");
    agent_.pass(seconds(0));
    EXPECT_EQ(agent_.have(mtu_), number(1500));
  }
}

TEST_F(DeadManRules, SuspendedTimeCounts) {
  arm("s1");
  agent_.pass(std::chrono::hours(9));  // at once: the loop did not run meanwhile
  EXPECT_EQ(agent_.have(mtu_), number(1500));
}

TEST_F(DeadManRules, AnUndoneChangeIsAsBefore) {
  arm("s1");
  EXPECT_TRUE(agent_.settle("s1", Settlement::undo));
  EXPECT_EQ(agent_.have(mtu_), number(1500));
  EXPECT_TRUE(agent_.settle("s1", Settlement::undo)) << "the first answer may have been lost";
  agent_.restart();
  EXPECT_TRUE(agent_.settle("s1", Settlement::undo));
  EXPECT_EQ(kind_of(agent_.settle("s1", Settlement::keep)), "conflict");
  EXPECT_EQ(agent_.have(mtu_), number(1500));
}

TEST_F(DeadManRules, AnExtendedTransactionIsRolledBackLater) {
  arm("s1");
  for (int i = 0; i < 3; ++i) {
    agent_.pass(kUndoAfter - seconds(1));
    EXPECT_TRUE(agent_.settle("s1", Settlement::extend));
    EXPECT_EQ(agent_.have(mtu_), number(9000));
  }
  agent_.restart();
  agent_.pass(kUndoAfter - seconds(1));
  EXPECT_EQ(agent_.have(mtu_), number(9000));
  agent_.pass(seconds(1));
  EXPECT_EQ(agent_.have(mtu_), number(1500));
}

TEST_F(DeadManRules, WhatIsNotKnownHoldsNothing) {
  EXPECT_TRUE(agent_.settle("s9", Settlement::keep));
  EXPECT_EQ(kind_of(agent_.settle("s9", Settlement::undo)), "unsupported");
  EXPECT_EQ(kind_of(agent_.settle("s9", Settlement::extend)), "unsupported");
}

TEST_F(DeadManRules, OnlyArmedChangesAreMade) {
  Guard unarmed = guard("s1");
  unarmed.undo_after.reset();
  EXPECT_EQ(kind_of(agent_.apply(grow(), unarmed)), "refused");
  EXPECT_EQ(kind_of(agent_.apply(grow(), guard(""))), "conflict");
  EXPECT_EQ(kind_of(agent_.apply(grow(), guard("s1"), "sonic")), "unsupported");
  EXPECT_EQ(agent_.have(mtu_), number(1500));
  EXPECT_TRUE(agent_.linux().applies.empty());
  EXPECT_EQ(agent_.observe()->armed, "");
}

TEST_F(DeadManRules, OneTransactionAtATimeOfWhicheverDriver) {
  arm("s1");
  const ChangeSet bgp{{entry("bgp/max-paths"), {}, number(8), 0}};
  Guard none;
  none.epoch = 1;
  for (const auto& [other, driver] : std::vector<std::pair<Guard, std::string>>{
           {guard("s2"), "linux"}, {guard("s2"), "frr"}, {guard("s1"), "frr"}, {none, "linux"}}) {
    EXPECT_EQ(kind_of(agent_.apply(bgp, other, driver)), "conflict") << other.transaction << driver;
    EXPECT_TRUE(agent_.frr().applies.empty());
    EXPECT_EQ(agent_.linux().applies.size(), 1U);
  }
  ASSERT_TRUE(agent_.settle("s1", Settlement::keep));
  EXPECT_TRUE(agent_.apply(bgp, armed("s2", reverse_of(bgp)), "frr"));
  EXPECT_TRUE(agent_.settle("s2", Settlement::undo));
  EXPECT_FALSE(agent_.frr().device.truth().value(entry("bgp/max-paths")));
  EXPECT_EQ(agent_.have(mtu_), number(9000));
}

TEST_F(DeadManRules, ARetryAddsItsChangesAndBringsTheUndo) {
  agent_.linux().device.set(other_mtu_, number(1500));
  arm("s1");
  const ChangeSet more{{other_mtu_, number(1500), number(4200), 0}};
  ChangeSet undo = reverse_of(more);
  undo.push_back(reverse_of(grow()).front());
  agent_.pass(kUndoAfter / 2);
  ASSERT_TRUE(agent_.apply(more, armed("s1", undo)));
  const auto armed_now = *agent_.journal().armed;
  EXPECT_EQ(armed_now.changes, (ChangeSet{grow()[0], more[0]}));
  EXPECT_EQ(armed_now.undo, undo);
  agent_.pass(kUndoAfter - seconds(1));
  EXPECT_EQ(agent_.have(mtu_), number(9000)) << "the time of the last attempt counts";
  agent_.pass(seconds(1));
  EXPECT_EQ(agent_.have(mtu_), number(1500));
  EXPECT_EQ(agent_.have(other_mtu_), number(1500));
}

// A request can stand still on its connection while a later attempt is made and settled.
TEST_F(DeadManRules, AnAttemptThatComesAfterTheSettlementIsAConflictAndChangesNothing) {
  arm("kept");
  ASSERT_TRUE(agent_.settle("kept", Settlement::keep));
  arm("undone");
  ASSERT_TRUE(agent_.settle("undone", Settlement::undo));
  arm("overdue");
  agent_.pass(kUndoAfter);
  for (const bool restarted : {false, true}) {
    if (restarted) agent_.restart();
    agent_.linux().device.set(mtu_, number(1500));
    agent_.linux().applies.clear();
    const std::string before = text_of_file(journal_file(agent_.folder()));
    for (const auto& [name, how] : std::map<std::string, std::string>{
             {"kept", "was kept"}, {"undone", "was rolled back"}, {"overdue", "was rolled back"}}) {
      const auto late = agent_.apply(grow(), guard(name));
      EXPECT_EQ(kind_of(late), "conflict");
      EXPECT_NE(late.error().text().find("transaction " + name + " " + how), std::string::npos)
          << late.error().text();
    }
    EXPECT_TRUE(agent_.linux().applies.empty());
    EXPECT_EQ(text_of_file(journal_file(agent_.folder())), before);
    EXPECT_EQ(agent_.dead_man().next_time(), std::nullopt);
  }
  EXPECT_TRUE(agent_.settle("kept", Settlement::keep)) << "the settlements are as they were";
  EXPECT_TRUE(agent_.settle("undone", Settlement::undo));
  EXPECT_TRUE(agent_.settle("overdue", Settlement::undo));
}

TEST_F(DeadManRules, AnAttemptPastItsTimeIsAConflictAfterTheRollback) {
  arm("s1");
  agent_.skip(kUndoAfter);
  EXPECT_EQ(kind_of(agent_.apply(grow(), guard("s1"))), "conflict");
  EXPECT_EQ(agent_.have(mtu_), number(1500));
  arm("s2");
  agent_.skip(kUndoAfter);
  std::vector<Value> written;
  agent_.linux().at = [&](const std::string& moment, const Call&) {
    if (moment == "write") written.push_back(agent_.linux().applies.back().at(0).want);
  };
  arm("s3");
  EXPECT_EQ(written, (std::vector<Value>{number(1500), number(9000)})) << "of s2, then of s3";
  EXPECT_EQ(agent_.dead_man().next_time(), agent_.now() + kUndoAfter);
  EXPECT_EQ(kind_of(agent_.settle("s2", Settlement::keep)), "conflict");
}

// A newer leader comes while the call waits for something else: for what is overdue to be rolled back.
TEST_F(DeadManRules, AnOlderLeaderIsDeniedUpToTheFirstWrite) {
  std::string transaction;
  const std::vector<std::function<std::string(std::uint64_t)>> calls{
      [&](std::uint64_t epoch) { return kind_of(agent_.apply(grow(), armed("s2", {}, epoch))); },
      [&](std::uint64_t epoch) { return kind_of(agent_.settle(transaction, Settlement::keep, epoch)); },
      [&](std::uint64_t epoch) { return kind_of(agent_.settle(transaction, Settlement::undo, epoch)); },
      [&](std::uint64_t epoch) {
        return kind_of(agent_.dead_man().remedy({"linux", {}, epoch}, {}));
      }};
  std::uint64_t epoch = 1;
  for (const auto& call : calls) {
    transaction = "s1-" + std::to_string(epoch);
    ASSERT_TRUE(agent_.apply(grow(), armed(transaction, reverse_of(grow()), epoch)));
    agent_.skip(kUndoAfter);
    bool led_anew = false;
    agent_.linux().at = [&](const std::string& moment, const Call&) {
      if (moment == "write") led_anew = static_cast<bool>(agent_.observe(epoch + 1, "frr"));
    };
    EXPECT_EQ(call(epoch), "denied");
    agent_.linux().at = nullptr;
    EXPECT_TRUE(led_anew);
    EXPECT_EQ(agent_.have(mtu_), number(1500));
    ++epoch;
  }
  EXPECT_EQ(agent_.linux().cures, 0);
}

TEST_F(DeadManRules, TheUndoIsOnDiskBeforeTheFirstWrite) {
  std::vector<JournalState> seen;
  agent_.linux().at = [&](const std::string& moment, const Call&) {
    if (moment == "write") seen.push_back(agent_.journal());
  };
  arm("s1");
  ASSERT_EQ(seen.size(), 1U);
  ASSERT_TRUE(seen[0].armed);
  EXPECT_EQ(seen[0].armed->undo, reverse_of(grow()));
  EXPECT_EQ(seen[0].armed->changes, grow());
  EXPECT_EQ(seen[0].armed->deadline, agent_.now() + kUndoAfter);
}

TEST_F(DeadManRules, NothingIsWrittenWithoutAJournal) {
  ASSERT_TRUE(agent_.observe(1));
  std::filesystem::rename(agent_.folder(), agent_.folder() + "-away");
  EXPECT_FALSE(agent_.apply(grow(), guard("s1")));
  EXPECT_TRUE(agent_.linux().applies.empty());
  EXPECT_FALSE(agent_.observe(2)) << "the epoch could not be kept";
  std::filesystem::rename(agent_.folder() + "-away", agent_.folder());
  arm("s1");
  std::filesystem::rename(agent_.folder(), agent_.folder() + "-away");
  EXPECT_FALSE(agent_.settle("s1", Settlement::keep));
  agent_.pass(kUndoAfter);
  EXPECT_EQ(agent_.have(mtu_), number(1500)) << "time goes on all the same";
  std::filesystem::rename(agent_.folder() + "-away", agent_.folder());
  agent_.pass(minutes(1));
  EXPECT_EQ(kind_of(agent_.settle("s1", Settlement::keep)), "conflict");
  EXPECT_TRUE(agent_.settle("s1", Settlement::undo));
}

TEST_F(DeadManRules, WhatTheDriverRefusesStaysArmedAndIsSettledAsNothing) {
  Guard stale = guard("s1");
  stale.revision = "of yesterday";
  EXPECT_EQ(kind_of(agent_.apply(grow(), stale)), "conflict");
  EXPECT_EQ(agent_.observe()->armed, "s1");
  EXPECT_TRUE(agent_.settle("s1", Settlement::undo));
  EXPECT_EQ(agent_.have(mtu_), number(1500));
}

TEST_F(DeadManRules, TheHighestEpochIsKeptBeforeTheAnswer) {
  std::vector<std::uint64_t> on_disk;
  agent_.linux().at = [&](const std::string&, const Call&) { on_disk.push_back(agent_.journal().epoch); };
  ASSERT_TRUE(agent_.observe(5));
  ASSERT_TRUE(agent_.apply(grow(), armed("s1", reverse_of(grow()), 6)));
  EXPECT_EQ(on_disk, (std::vector<std::uint64_t>{5, 6, 6}));
  ASSERT_TRUE(agent_.settle("s1", Settlement::keep, 7));
  EXPECT_EQ(agent_.journal().epoch, 7U);
  ASSERT_TRUE(agent_.dead_man().remedy({"linux", {}, 8}, {}));
  EXPECT_EQ(agent_.journal().epoch, 8U);
  EXPECT_EQ(hello().epoch, 8U);
}

TEST_F(DeadManRules, ALowerEpochIsDenied) {
  ASSERT_TRUE(agent_.apply(grow(), armed("s1", reverse_of(grow()), 5)));
  agent_.restart();
  const std::size_t before = agent_.linux().applies.size();
  for (const std::uint64_t old : {1U, 4U}) {
    EXPECT_EQ(kind_of(agent_.observe(old)), "denied");
    EXPECT_EQ(kind_of(agent_.apply(grow(), armed("s1", {}, old))), "denied");
    for (const Settlement one : {Settlement::keep, Settlement::undo, Settlement::extend})
      EXPECT_EQ(kind_of(agent_.settle("s1", one, old)), "denied");
    EXPECT_EQ(kind_of(agent_.dead_man().remedy({"linux", {}, old}, {})), "denied");
  }
  EXPECT_EQ(kind_of(agent_.settle("s1", Settlement::keep, 0)), "denied") << "only reading needs no leader";
  EXPECT_TRUE(agent_.observe(0));
  EXPECT_EQ(agent_.linux().applies.size(), before);
  EXPECT_EQ(agent_.linux().cures, 0);
  EXPECT_TRUE(agent_.settle("s1", Settlement::undo, 5));
}

// Two controllers with copies of one store give out the same epochs.
TEST_F(DeadManRules, TheSameEpochOfAnotherLeaderIsDenied) {
  const auto observe = [this](const std::string& leader, std::uint64_t epoch = 5) {
    return kind_of(agent_.dead_man().observe({"linux", {}, "", epoch, leader}, {}));
  };
  const auto apply = [this](const std::string& leader) {
    return kind_of(
        agent_.dead_man().apply({"linux", grow(), armed("s1", reverse_of(grow()), 5), leader}, {}));
  };
  EXPECT_EQ(observe("ann"), "done");
  agent_.restart();
  EXPECT_EQ(hello().leader, "ann");
  EXPECT_EQ(observe("bob"), "denied");
  EXPECT_EQ(apply("bob"), "denied");
  EXPECT_EQ(kind_of(agent_.dead_man().remedy({"linux", {}, 5, "bob"}, {})), "denied");
  EXPECT_EQ(agent_.observe()->armed, "");
  EXPECT_EQ(apply("ann"), "done");
  for (const Settlement one : {Settlement::keep, Settlement::undo, Settlement::extend})
    EXPECT_EQ(kind_of(agent_.dead_man().settle({"s1", one, 5, "bob"}, {})), "denied");
  EXPECT_EQ(observe(""), "done") << "a controller of an earlier version";
  EXPECT_EQ(observe("bob"), "denied") << "after it, too";
  EXPECT_EQ(observe("bob", 6), "done");
  EXPECT_EQ(observe("ann", 6), "denied");
  EXPECT_EQ(observe("", 7), "done");
  EXPECT_EQ(observe("ann", 7), "done") << "nobody said whose it is";
  EXPECT_EQ(observe("bob", 7), "denied");
}

TEST_F(DeadManRules, AnAbandonedCallChangesNothing) {
  std::stop_source gone;
  gone.request_stop();
  const Call call{.stop = gone.get_token()};
  EXPECT_EQ(kind_of(agent_.dead_man().apply({"linux", grow(), guard("s1")}, call)), "cancelled");
  EXPECT_EQ(agent_.observe()->armed, "");
  arm("s1");
  EXPECT_EQ(kind_of(agent_.dead_man().settle({"s1", Settlement::keep, 1}, call)), "cancelled");
  EXPECT_EQ(agent_.observe()->armed, "s1");
  const Call late{.deadline = Time::min(), .stop = {}};
  EXPECT_EQ(kind_of(agent_.dead_man().settle({"s1", Settlement::undo, 1}, late)), "transient");
  EXPECT_EQ(agent_.have(mtu_), number(9000));
}

TEST_F(DeadManRules, AHoldRefusesWritesAndRollsBack) {
  arm("s1");
  ASSERT_TRUE(agent_.dead_man().hold("fans are being replaced"));
  EXPECT_EQ(hello().hold, "fans are being replaced");
  agent_.restart();
  const auto refused = agent_.apply(grow(), guard("s1"));
  EXPECT_EQ(kind_of(refused), "refused");
  EXPECT_NE(refused.error().text().find("fans are being replaced"), std::string::npos);
  EXPECT_EQ(kind_of(agent_.dead_man().remedy({"linux", {}, 1}, {})), "refused");
  EXPECT_TRUE(agent_.settle("s1", Settlement::extend));
  agent_.pass(kUndoAfter);
  EXPECT_EQ(agent_.have(mtu_), number(1500));
  ASSERT_TRUE(agent_.dead_man().hold(""));
  EXPECT_EQ(hello().hold, "");
  arm("s2");
  ASSERT_TRUE(agent_.dead_man().hold("again"));
  EXPECT_TRUE(agent_.settle("s2", Settlement::keep));
  EXPECT_EQ(agent_.have(mtu_), number(9000));
}

TEST_F(DeadManRules, RemediesGoThroughTheirDriver) {
  ASSERT_TRUE(agent_.dead_man().remedy({"frr", {}, 1}, {}));
  EXPECT_EQ(agent_.frr().cures, 1);
  EXPECT_EQ(kind_of(agent_.dead_man().remedy({"sonic", {}, 1}, {})), "unsupported");
  EXPECT_EQ(kind_of(agent_.dead_man().usage({"linux", mtu_}, {})), "unsupported");
  arm("s1");
  EXPECT_TRUE(agent_.dead_man().remedy({"linux", {}, 1}, {})) << "an armed step may wait for one";
}

TEST_F(DeadManRules, TheLastSettlementsAreRememberedAndAllOfTenMinutes) {
  const auto settle = [this](const std::string& name) {
    ASSERT_TRUE(agent_.apply(grow(), guard(name)));
    ASSERT_TRUE(agent_.settle(name, Settlement::undo));
  };
  for (std::size_t i = 0; i <= kSettledMin; ++i) settle("s" + std::to_string(i));
  EXPECT_EQ(agent_.journal().settled.size(), kSettledMin + 1);
  EXPECT_EQ(kind_of(agent_.apply(grow(), guard("s0"))), "conflict");
  agent_.pass(kSettledFor - nanoseconds(1));
  settle("early");
  EXPECT_EQ(kind_of(agent_.apply(grow(), guard("s0"))), "conflict");
  agent_.pass(nanoseconds(1));
  settle("later");
  EXPECT_EQ(agent_.journal().settled.size(), kSettledMin);
  EXPECT_EQ(agent_.journal().settled.front().transaction, "s3");
  EXPECT_EQ(kind_of(agent_.settle("s3", Settlement::keep)), "conflict");
  EXPECT_EQ(kind_of(agent_.settle("s2", Settlement::undo)), "unsupported") << "forgotten";
}

TEST(SettledTransactions, AreRememberedLongerThanARequestCanStandStill) {
  const ServerOptions server;
  EXPECT_LT(server.idle_time + server.request_time + server.call_time, kSettledFor);
}

TEST_F(DeadManRules, MoreTransactionsThanAreRememberedWaitUntilTheOldestIsOld) {
  agent_.kill();
  JournalState full;
  for (std::size_t i = 0; i < kSettledMax; ++i)
    full.settled.push_back({"s" + std::to_string(i), Settlement::keep, agent_.now()});
  agent_.restart(journal_text(full));
  EXPECT_EQ(kind_of(agent_.apply(grow(), guard("new"))), "transient");
  EXPECT_EQ(kind_of(agent_.apply(grow(), guard("s0"))), "conflict");
  EXPECT_TRUE(agent_.linux().applies.empty());
  agent_.pass(kSettledFor);
  arm("new");
  EXPECT_TRUE(agent_.settle("new", Settlement::keep));
  EXPECT_EQ(agent_.journal().settled.size(), kSettledMin);
  agent_.kill();
  for (SettledTransaction& one : full.settled) one.at = agent_.now() + seconds(1);
  agent_.restart(journal_text(full));
  EXPECT_TRUE(agent_.apply(grow(), guard("other"))) << "they are of an earlier boot";
}

TEST_F(DeadManRules, WritesNeedAKnownBoot) {
  AgentUnderTest other;
  auto journal = AgentJournal::open(other.folder() + "-2");
  DeadMan unknown(*std::move(journal), other.attached(), Machine{[] { return seconds(1); }, ""});
  EXPECT_EQ(kind_of(unknown.apply({"linux", grow(), guard("s1")}, {})), "refused");
  EXPECT_TRUE(other.linux().applies.empty());
}

TEST(ThisMachine, KnowsItsBootAndATimeThatOnlyGrows) {
  const Machine machine = this_machine();
  EXPECT_EQ(machine.boot_id.size(), 36U);
  const nanoseconds first = machine.boot_time();
  EXPECT_GT(first, nanoseconds(0));
  EXPECT_GE(machine.boot_time(), first);
}

}  // namespace
}  // namespace lockstep::agent
