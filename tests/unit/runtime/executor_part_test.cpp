#include "drivers/runtime/executor_part.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <optional>

#include "drivers/runtime/real_executor.hpp"

namespace lockstep {
namespace {

// A body that goes on after its deadline, until the test lets it end.
struct Stubborn {
  std::mutex mutex;
  std::condition_variable ends;
  bool may_end = false;
  void run() {
    std::unique_lock lock(mutex);
    ends.wait(lock, [this] { return may_end; });
  }
  void let_end() {
    const std::scoped_lock lock(mutex);
    may_end = true;
    ends.notify_all();
  }
};

TEST(ExecutorPart, IsNotIdleWhileAnAbandonedBodyRuns) {
  Stubborn body;
  RealExecutor whole;
  ExecutorPart part(whole);
  ExecutorPart other(whole);
  EXPECT_TRUE(part.is_idle());
  std::optional<Outcome> ended;
  part.start({.key = "leaf0",
              .timeout = std::chrono::milliseconds(20),
              .run = [&body](const Call&) { body.run(); },
              .done = [&ended](const Outcome& outcome) { ended = outcome; }});
  EXPECT_FALSE(part.is_idle());
  while (!ended && whole.step()) {
  }
  ASSERT_TRUE(ended);
  EXPECT_EQ(*ended, Outcome::abandoned);
  EXPECT_FALSE(part.is_idle()) << "what it uses must stay";
  EXPECT_TRUE(other.is_idle());
  body.let_end();
  // Behind it, by the same key: the executor has dropped the first job when this one has ended.
  bool second = false;
  other.start({.key = "leaf0",
               .timeout = std::chrono::seconds(20),
               .run = [](const Call&) {},
               .done = [&second](const Outcome&) { second = true; }});
  while (!second && whole.step()) {
  }
  EXPECT_TRUE(part.is_idle());
}

TEST(ExecutorPart, IsIdleAfterABodyThatNeverBegan) {
  Stubborn body;
  RealExecutor whole;
  ExecutorPart part(whole);
  int ended = 0;
  const auto start = [&](auto run) {
    part.start({.key = "leaf0",
                .timeout = std::chrono::milliseconds(20),
                .run = run,
                .done = [&ended](const Outcome&) { ++ended; }});
  };
  bool ran = false;
  start([&body](const Call&) { body.run(); });
  start([&ran](const Call&) { ran = true; });
  while (ended < 2 && whole.step()) {
  }
  EXPECT_FALSE(part.is_idle());
  body.let_end();
  bool third = false;
  whole.start({.key = "leaf0",
               .timeout = std::chrono::seconds(20),
               .run = [](const Call&) {},
               .done = [&third](const Outcome&) { third = true; }});
  while (!third && whole.step()) {
  }
  EXPECT_FALSE(ran);
  EXPECT_TRUE(part.is_idle());
}

}  // namespace
}  // namespace lockstep
