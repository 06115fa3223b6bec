// Calls that come while others run: who waits, who goes on, and who is stopped.
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "dead_man_test_fixture.hpp"
#include "reconciler/agent/server_workers.hpp"
#include "tests/unit/agent/server_test_client.hpp"

namespace lockstep::agent {
namespace {

constexpr seconds kSoon{60};  // far longer than anything here takes

// A place where a driver's call waits until the test lets it go on.
class Gate {
 public:
  // By the driver.
  void pass() {
    arrived_.set_value();
    EXPECT_EQ(open_.get_future().wait_for(kSoon), std::future_status::ready);
  }
  // By the driver: as long as nobody asks this call to stop.
  void pass_when_stopped(const Call& call) {
    arrived_.set_value();
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    stopped.wait_for(lock, call.stop, kSoon, [] { return false; });
    EXPECT_TRUE(call.stop.stop_requested());
  }
  void await() { ASSERT_EQ(arrived_.get_future().wait_for(kSoon), std::future_status::ready); }
  void open() { open_.set_value(); }

 private:
  std::promise<void> arrived_;
  std::promise<void> open_;
};

// Threads that have begun a call and sleep, which are in line for their turn: nothing else makes them wait.
class Waiting {
 public:
  void begin() {
    const std::scoped_lock lock(mutex_);
    threads_.insert("/proc/self/task/" + std::to_string(::gettid()) + "/stat");
  }
  std::size_t count() {
    const std::scoped_lock lock(mutex_);
    return static_cast<std::size_t>(std::ranges::count_if(threads_, [](const std::string& stat) {
      const std::string text = text_of_file(stat);
      return text.find(") S ") != text.npos;
    }));
  }

 private:
  std::mutex mutex_;
  std::set<std::string> threads_;  // their files in /proc
};

class DeadManThreads : public ::testing::Test {
 protected:
  DeadManThreads() {
    for (const char* const port : {"rail0", "rail1", "rail2"}) {
      const Path mtu = entry("interface[" + std::string(port) + "]/mtu");
      agent_.linux().device.set(mtu, number(1500));
      mtus_.push_back(mtu);
      grow_.push_back({mtu, number(1500), number(9000), 0});
    }
  }
  Guard guard(std::uint64_t epoch = 1) const { return armed("s1", reverse_of(grow_), epoch); }
  // Waits at the nth call of this kind.
  void stop_at(StoppableDriver& driver, const std::string& what, int nth) {
    driver.at = [this, what, left = std::make_shared<int>(nth)](const std::string& moment, const Call&) {
      if (moment == what && --*left == 0) gate_.pass();
    };
  }
  std::future<std::string> apply_beside() {
    return std::async(std::launch::async, [this] {
      const auto receipt = agent_.apply(grow_, guard());
      if (!receipt) return kind_of(receipt);
      std::string out;
      for (const Receipt::Outcome& one : receipt->outcomes)
        out += one.error ? std::string(to_string(one.error->kind)) + " " : "done ";
      return out;
    });
  }
  std::vector<std::int64_t> have() {
    std::vector<std::int64_t> out;
    for (const Path mtu : mtus_) out.push_back(agent_.have(mtu).as_integer());
    return out;
  }

  std::vector<Path> mtus_;
  ChangeSet grow_;
  Gate gate_;
  AgentUnderTest agent_;
};

TEST_F(DeadManThreads, AHigherEpochStopsARunningChangeBetweenTwoSettings) {
  stop_at(agent_.linux(), "write", 2);
  auto apply = apply_beside();
  gate_.await();
  EXPECT_TRUE(agent_.observe(2, "frr"));
  EXPECT_EQ(agent_.journal().epoch, 2U);
  gate_.open();
  EXPECT_EQ(apply.get(), "done cancelled cancelled ");
  EXPECT_EQ(have(), (std::vector<std::int64_t>{9000, 1500, 1500}));
  EXPECT_EQ(kind_of(agent_.settle("s1", Settlement::keep, 1)), "denied");
  EXPECT_TRUE(agent_.settle("s1", Settlement::undo, 2));
  EXPECT_EQ(have(), (std::vector<std::int64_t>{1500, 1500, 1500}));
}

TEST_F(DeadManThreads, AHoldStopsARunningChange) {
  stop_at(agent_.linux(), "write", 3);
  auto apply = apply_beside();
  gate_.await();
  EXPECT_TRUE(agent_.dead_man().hold("maintenance"));
  gate_.open();
  EXPECT_EQ(apply.get(), "done done cancelled ");
}

TEST_F(DeadManThreads, AnOverdueChangeIsStoppedAndRolledBack) {
  agent_.linux().at = [this, writes = std::make_shared<int>(0)](const std::string& moment, const Call& call) {
    if (moment == "write" && ++*writes == 2) gate_.pass_when_stopped(call);
  };
  auto apply = apply_beside();
  gate_.await();
  agent_.pass(kUndoAfter);
  EXPECT_EQ(apply.get(), "done cancelled cancelled ");
  EXPECT_EQ(have(), (std::vector<std::int64_t>{1500, 1500, 1500}));
}

TEST_F(DeadManThreads, AnotherDriverIsObservedBesideAWrite) {
  stop_at(agent_.linux(), "write", 1);
  auto apply = apply_beside();
  gate_.await();
  const auto seen = agent_.observe(0, "frr");
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->armed, "s1");
  EXPECT_TRUE(agent_.settle("s1", Settlement::extend)) << "a long write is extended";
  gate_.open();
  EXPECT_EQ(apply.get(), "done done done ");
}

TEST_F(DeadManThreads, WritesAndCallsOfADriverWaitTheirTurnAsLongAsTheirCallMay) {
  stop_at(agent_.linux(), "write", 1);
  auto apply = apply_beside();
  gate_.await();
  const Call past{.deadline = Time::clock::now() - seconds(1), .stop = {}};
  std::stop_source source;
  source.request_stop();
  const Call stopped{.stop = source.get_token()};
  EXPECT_EQ(kind_of(agent_.dead_man().apply({"frr", {}, guard()}, past)), "transient");
  EXPECT_EQ(kind_of(agent_.dead_man().settle({"s1", Settlement::keep, 1}, past)), "transient");
  EXPECT_EQ(kind_of(agent_.dead_man().remedy({"frr", {}, 1}, stopped)), "cancelled");
  EXPECT_EQ(kind_of(agent_.dead_man().observe({"linux", {}, "", 0}, stopped)), "cancelled");
  auto keep =
      std::async(std::launch::async, [this] { return kind_of(agent_.settle("s1", Settlement::keep)); });
  gate_.open();
  EXPECT_EQ(apply.get(), "done done done ");
  EXPECT_EQ(keep.get(), "done");
  EXPECT_EQ(agent_.observe()->armed, "");
}

TEST_F(DeadManThreads, AWaitingChangeOfAnOlderLeaderIsDenied) {
  stop_at(agent_.frr(), "cure", 1);
  auto remedy = std::async(std::launch::async, [this] {
    return kind_of(agent_.dead_man().remedy({"frr", {}, 1}, {}));
  });
  gate_.await();
  auto apply = apply_beside();
  EXPECT_TRUE(agent_.observe(2));
  gate_.open();
  EXPECT_EQ(remedy.get(), "done");
  EXPECT_EQ(apply.get(), "denied");
  EXPECT_EQ(have(), (std::vector<std::int64_t>{1500, 1500, 1500}));
  EXPECT_TRUE(agent_.linux().applies.empty());
}

TEST_F(DeadManThreads, ARollbackStopsAnObservationThatItWaitsFor) {
  ASSERT_TRUE(agent_.apply(grow_, guard()));
  agent_.linux().at = [this](const std::string& moment, const Call& call) {
    if (moment != "observe") return;
    agent_.linux().at = nullptr;
    gate_.pass_when_stopped(call);
  };
  auto seen = std::async(std::launch::async, [this] { return kind_of(agent_.observe()); });
  gate_.await();
  agent_.pass(kUndoAfter);
  EXPECT_EQ(seen.get(), "transient");
  EXPECT_EQ(have(), (std::vector<std::int64_t>{1500, 1500, 1500}));
}

// All that wait are in line before the rollback is, and the holder of the turn ends only when it comes.
TEST_F(DeadManThreads, ARollbackGoesBeforeAllCallsThatWait) {
  constexpr std::size_t kThreads = 4;
  ASSERT_TRUE(agent_.apply(grow_, guard()));
  std::mutex mutex;
  std::vector<std::int64_t> written;  // under mutex
  agent_.linux().at = [&](const std::string& moment, const Call&) {
    const std::scoped_lock lock(mutex);
    if (moment == "write") written.push_back(agent_.linux().applies.back().at(0).want.as_integer());
  };
  agent_.frr().at = [&](const std::string& moment, const Call& call) {
    if (moment == "cure") gate_.pass_when_stopped(call);
  };
  auto workers = *Workers::start(kThreads);
  workers->add(false, [&] { (void)agent_.dead_man().remedy({"frr", {}, 1}, {}); });
  gate_.await();
  Waiting waiting;
  std::atomic<std::size_t> ended{0};
  for (int i = 0; i < 10; ++i)
    workers->add(false, [&, name = "late" + std::to_string(i)] {
      waiting.begin();
      const ChangeSet other{{mtus_[0], number(1500), number(4200), 0}};
      (void)agent_.apply(other, armed(name, reverse_of(other)));
      (void)agent_.settle(name, Settlement::undo);
      ++ended;
    });
  EXPECT_TRUE(soon([&] { return waiting.count() == kThreads - 1; }));
  agent_.pass(kUndoAfter);
  EXPECT_TRUE(soon([&] { return ended == 10; }));
  const std::scoped_lock lock(mutex);
  ASSERT_GE(written.size(), 4U) << "a call that finds another one's transaction armed is a conflict";
  EXPECT_EQ(std::vector(written.begin(), written.begin() + 3), (std::vector<std::int64_t>{1500, 1500, 1500}));
  EXPECT_EQ(written[3], 4200);
}

TEST_F(DeadManThreads, ARollbackGoesBeforeAllObservationsThatWait) {
  constexpr std::size_t kObservers = 6;
  ASSERT_TRUE(agent_.apply(grow_, guard()));
  agent_.linux().at = [this, first = std::make_shared<bool>(true)](const std::string& moment,
                                                                   const Call& call) {
    if (moment == "observe" && std::exchange(*first, false)) gate_.pass_when_stopped(call);
  };
  auto holder = std::async(std::launch::async, [this] { return kind_of(agent_.observe()); });
  gate_.await();
  Waiting waiting;
  std::vector<std::future<Value>> observers;
  for (std::size_t i = 0; i < kObservers; ++i)
    observers.push_back(std::async(std::launch::async, [&] {
      waiting.begin();
      const auto seen = agent_.observe();
      return seen ? seen->have.value(mtus_[0]) : Value{};
    }));
  EXPECT_TRUE(soon([&] { return waiting.count() == kObservers; }));
  agent_.pass(kUndoAfter);
  EXPECT_EQ(holder.get(), "transient");
  for (auto& one : observers) EXPECT_EQ(one.get(), number(1500));
}

TEST_F(DeadManThreads, ManyCallersLeaveAConsistentDevice) {
  std::vector<std::future<void>> callers;
  for (int i = 0; i < 4; ++i)
    callers.push_back(std::async(std::launch::async, [this, i] {
      for (int round = 0; round < 25; ++round) {
        const std::string name = "s" + std::to_string(i) + "-" + std::to_string(round);
        (void)agent_.apply(grow_, armed(name, reverse_of(grow_)));
        (void)agent_.observe(1);
        (void)agent_.settle(name, Settlement::extend);
        (void)agent_.settle(name, Settlement::undo);
        agent_.dead_man().keep_time();
        (void)agent_.dead_man().next_time();
      }
    }));
  for (auto& one : callers) one.get();
  EXPECT_EQ(agent_.observe()->armed, "");
  EXPECT_EQ(have(), (std::vector<std::int64_t>{1500, 1500, 1500}));
}

}  // namespace
}  // namespace lockstep::agent
