#include "drivers/runtime/real_executor.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <optional>
#include <thread>

namespace lockstep {
namespace {

using std::chrono::milliseconds;

// Blocks until told to stop by the wake descriptor; the limit only keeps a broken build from hanging.
void block_until_woken(const Call& call) {
  pollfd wait{call.wake_fd, POLLIN, 0};
  poll(&wait, 1, 20'000);
}

Job job(std::string key, std::function<void(const Call&)> run, std::function<void(Outcome)> done,
        Time deadline = Time::max(), Lane lane = Lane::local) {
  return Job{std::move(key), lane, deadline, std::move(run), std::move(done)};
}

TEST(RealExecutor, CallsOfOneKeyNeverOverlapAndAllAnswer) {
  RealExecutor executor({.local = 4, .remote = 4, .suspect = 1, .bench = 1});
  std::map<std::string, std::atomic<int>> open;
  for (int k = 0; k < 8; ++k) open["k" + std::to_string(k)] = 0;
  std::atomic<bool> overlapped = false;
  int answered = 0;
  for (int i = 0; i < 400; ++i) {
    const std::string key = "k" + std::to_string(i % 8);
    executor.start(job(
        key,
        [&, key](const Call&) {
          if (open.at(key).fetch_add(1) != 0) overlapped = true;
          std::this_thread::yield();
          open.at(key).fetch_sub(1);
        },
        [&](Outcome outcome) { answered += outcome == Outcome::returned; }));
  }
  while (executor.step()) {
  }
  EXPECT_FALSE(overlapped);
  EXPECT_EQ(answered, 400);
}

TEST(RealExecutor, PassedDeadlineAbandonsAndTheKeyStaysBusy) {
  RealExecutor executor({.local = 2, .remote = 1, .suspect = 1, .bench = 1});
  std::atomic<bool> let_go = false;
  std::optional<Outcome> first;
  std::optional<Outcome> second;
  const auto hang = [&let_go](const Call&) {
    while (!let_go) std::this_thread::yield();
  };
  executor.start(job(
      "d", hang, [&](Outcome o) { first = o; }, executor.now() + milliseconds(20)));
  executor.start(job(
      "d", [](const Call&) {}, [&](Outcome o) { second = o; }, executor.now() + milliseconds(40)));
  while (!second && executor.step()) {
  }
  EXPECT_EQ(first, Outcome::abandoned);
  EXPECT_EQ(second, Outcome::never_started);
  let_go = true;
}

TEST(RealExecutor, HungBodiesOfOneLaneDoNotStarveAnother) {
  RealExecutor executor({.local = 1, .remote = 1, .suspect = 1, .bench = 1});
  executor.start(job(
      "hung", block_until_woken, [](Outcome) {}, executor.now() + std::chrono::seconds(15), Lane::suspect));
  bool done = false;
  executor.start(job(
      "live", [](const Call&) {}, [&](Outcome) { done = true; }));
  while (!done && executor.step()) {
  }
  EXPECT_TRUE(done);
}

TEST(RealExecutor, CancelWakesTheBody) {
  RealExecutor executor;
  std::atomic<bool> stopped = false;
  std::optional<Outcome> outcome;
  const auto id = executor.start(job(
      "d",
      [&](const Call& call) {
        block_until_woken(call);
        stopped = call.stop.stop_requested();
      },
      [&](Outcome o) { outcome = o; }));
  executor.at(executor.now() + milliseconds(5), [&] { executor.cancel(id); });
  while (executor.step()) {
  }
  EXPECT_TRUE(stopped);
  EXPECT_EQ(outcome, Outcome::returned);
}

TEST(RealExecutor, WatchedDescriptorIsReportedUntilForgotten) {
  RealExecutor executor;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  int seen = 0;
  executor.watch(ends[0], [&] {
    char byte;
    ASSERT_EQ(read(ends[0], &byte, 1), 1);
    if (++seen == 2) executor.forget(ends[0]);
  });
  ASSERT_EQ(write(ends[1], "ab", 2), 2);
  while (executor.step()) {
  }
  EXPECT_EQ(seen, 2);
  close(ends[0]);
  close(ends[1]);
}

TEST(RealExecutor, NothingLeftIsSaidAtOnce) {
  RealExecutor executor;
  EXPECT_FALSE(executor.step());
}

}  // namespace
}  // namespace lockstep
