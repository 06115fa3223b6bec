#include "drivers/sim/simulated_executor.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace lockstep {
namespace {

using std::chrono::milliseconds;

std::vector<int> history(std::uint64_t seed) {
  SimulatedExecutor executor(seed, SimulatedDelays{.lost_request = 0.1, .lost_reply = 0.1, .slow = 0.1});
  std::vector<int> all;
  for (int i = 0; i < 200; ++i)
    executor.start(Job{.key = "d" + std::to_string(i % 50),
                       .lane = Lane::remote,
                       .timeout = milliseconds(400),
                       .run = [](const Call&) {},
                       .done = [&all, i](Outcome o) { all.push_back(i * 4 + static_cast<int>(o.end)); }});
  while (executor.step()) {
  }
  return all;
}

TEST(SimulatedExecutor, SameSeedGivesTheSameHistory) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) EXPECT_EQ(history(seed), history(seed));
  EXPECT_NE(history(1), history(2));
}

TEST(SimulatedExecutor, AnswersEveryJobOnce) { EXPECT_EQ(history(3).size(), 200U); }

TEST(SimulatedExecutor, CallsOfOneKeyNeverOverlap) {
  SimulatedExecutor executor(5);
  int open = 0;
  int most = 0;
  for (int i = 0; i < 20; ++i)
    executor.start(Job{.key = "one",
                       .lane = Lane::local,
                       .timeout = kNoTimeout,
                       .run = [&](const Call&) { most = std::max(most, ++open); },
                       .done = [&](Outcome) { --open; }});
  while (executor.step()) {
  }
  EXPECT_EQ(most, 1);
}

TEST(SimulatedExecutor, LostReplyIsAbandonedAfterTheBodyRan) {
  SimulatedExecutor executor(5, SimulatedDelays{.lost_reply = 1});
  bool ran = false;
  std::optional<Outcome> outcome;
  Time deadline{};
  executor.start(Job{.key = "one",
                     .lane = Lane::local,
                     .timeout = milliseconds(500),
                     .run =
                         [&](const Call& call) {
                           ran = true;
                           deadline = call.deadline;
                         },
                     .done = [&](Outcome o) { outcome = o; }});
  while (executor.step()) {
  }
  EXPECT_TRUE(ran);
  EXPECT_EQ(outcome, Outcome::abandoned);
  EXPECT_EQ(executor.now(), deadline);
}

TEST(SimulatedExecutor, CancelledTimerDoesNotAdvanceTheClock) {
  SimulatedExecutor executor(5);
  const auto late = executor.at(executor.now() + std::chrono::hours(1), [] {});
  executor.at(executor.now() + milliseconds(1), [&] { executor.cancel(late); });
  while (executor.step()) {
  }
  EXPECT_EQ(executor.now(), Time{} + milliseconds(1));
}

TEST(SimulatedExecutor, EqualTimesFireInScheduledOrder) {
  SimulatedExecutor executor(5);
  std::vector<int> order;
  for (int i = 0; i < 5; ++i) executor.at(Time{} + milliseconds(7), [&order, i] { order.push_back(i); });
  while (executor.step()) {
  }
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(SimulatedExecutor, DoneIsNeverCalledInsideStart) {
  SimulatedExecutor executor(5);
  bool done = false;
  executor.start(Job{.key = "one",
                     .lane = Lane::local,
                     .timeout = milliseconds(1),
                     .run = [](const Call&) {},
                     .done = [&](Outcome) { done = true; }});
  EXPECT_FALSE(done);
  while (executor.step()) {
  }
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace lockstep
