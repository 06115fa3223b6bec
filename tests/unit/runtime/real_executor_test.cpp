#include "drivers/runtime/real_executor.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

#include "drivers/posix/wait.hpp"
#include "tests/unit/linux/no_descriptors.hpp"

namespace lockstep {
namespace {

using std::chrono::milliseconds;

// Blocks until the wake descriptor signals a stop; the limit only keeps a broken build from hanging.
void block_until_woken(const Call& call) {
  pollfd wait{call.wake_fd, POLLIN, 0};
  poll(&wait, 1, 20'000);
}

Job job(std::string key, std::function<void(const Call&)> run, std::function<void(Outcome)> done,
        milliseconds timeout = kNoTimeout, Lane lane = Lane::local) {
  return Job{std::move(key), lane, timeout, std::move(run), std::move(done)};
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
      "d", hang, [&](Outcome o) { first = o; }, milliseconds(20)));
  executor.start(job(
      "d", [](const Call&) {}, [&](Outcome o) { second = o; }, milliseconds(40)));
  while (!second && executor.step()) {
  }
  EXPECT_EQ(first, Outcome::abandoned);
  EXPECT_EQ(second, Outcome::never_started);
  let_go = true;
}

TEST(RealExecutor, HungBodiesOfOneLaneDoNotStarveAnother) {
  RealExecutor executor({.local = 1, .remote = 1, .suspect = 1, .bench = 1});
  executor.start(job(
      "hung", block_until_woken, [](Outcome) {}, std::chrono::seconds(15), Lane::suspect));
  bool done = false;
  executor.start(job(
      "live", [](const Call&) {}, [&](Outcome) { done = true; }));
  while (!done && executor.step()) {
  }
  EXPECT_TRUE(done);
}

TEST(RealExecutor, WaitingForALaneIsNotPartOfTheCall) {
  RealExecutor executor({.local = 1, .remote = 1, .suspect = 1, .bench = 1});
  std::vector<Outcome> outcomes;
  for (int i = 0; i < 6; ++i)
    executor.start(job(
        "d" + std::to_string(i), [](const Call&) { poll(nullptr, 0, 40); },
        [&](const Outcome& one) { outcomes.push_back(one); }, std::chrono::seconds(1)));
  while (executor.step()) {
  }
  ASSERT_EQ(outcomes.size(), 6U);
  for (const Outcome& one : outcomes) EXPECT_EQ(one, Outcome::returned);
}

// Hangs until it is released, even if its call is stopped. Must outlive its bodies.
class Hung {
 public:
  ~Hung() {
    let_go();
    while (running_ > 0) std::this_thread::yield();
  }
  std::function<void(const Call&)> body() {
    return [this](const Call&) {
      ++begun;
      ++running_;
      while (!let_go_) std::this_thread::yield();
      --running_;
    };
  }
  void let_go() { let_go_ = true; }
  std::atomic<int> begun = 0;

 private:
  std::atomic<bool> let_go_ = false;
  std::atomic<int> running_ = 0;
};

// The call of a driver that keeps its deadline ends at the moment at which it would be abandoned.
TEST(RealExecutor, ADeviceThatReturnsAtTwoDeadlinesIsSuspectToo) {
  RealExecutor executor({.local = 1, .remote = 1, .suspect = 1, .bench = 1});
  const auto run = [&executor](Job one) {
    bool over = false;
    one.done = [&over](const Outcome&) { over = true; };
    executor.start(std::move(one));
    while (!over && executor.step()) {
    }
  };
  const auto until_its_deadline = [](const Call& call) {
    EXPECT_FALSE(pause(std::chrono::seconds(60), call));
  };
  for (int i = 0; i < 2; ++i) {
    run(job("bad", until_its_deadline, {}, milliseconds(10), Lane::remote));
    run(job("behind", [](const Call&) {}, {}));
  }
  // Its third call does not take the only place of the remote lane.
  Hung third;
  bool bad = false;
  executor.start(job(
      "bad", third.body(), [&bad](const Outcome&) { bad = true; }, std::chrono::seconds(60), Lane::remote));
  run(job(
      "live", [](const Call&) {}, {}, std::chrono::seconds(60), Lane::remote));
  EXPECT_FALSE(bad);
  third.let_go();
  while (!bad && executor.step()) {
  }
}

TEST(RealExecutor, AnAbandonedBodyReleasesItsPlaceInTheLane) {
  RealExecutor executor({.local = 1, .remote = 1, .suspect = 1, .bench = 1});
  Hung hung;
  std::vector<std::string> answers;
  executor.start(job(
      "hung", hung.body(), [&](const Outcome&) { answers.push_back("hung"); }, milliseconds(20)));
  executor.start(job(
      "live", [](const Call&) {},
      [&](const Outcome& one) { answers.push_back(one == Outcome::returned ? "live" : "late"); },
      milliseconds(500)));
  while (answers.size() < 2 && executor.step()) {
  }
  EXPECT_EQ(answers, (std::vector<std::string>{"hung", "live"}));
  hung.let_go();
}

TEST(RealExecutor, ADeviceThatMissesTwoDeadlinesIsSuspectUntilItAnswers) {
  RealExecutor executor({.local = 1, .remote = 1, .suspect = 1, .bench = 1});
  const auto run = [&executor](Job one) {
    std::optional<Outcome> outcome;
    one.done = [&outcome](const Outcome& given) { outcome = given; };
    executor.start(std::move(one));
    while (!outcome && executor.step()) {
    }
    return outcome.value_or(Outcome::abandoned);
  };
  const auto miss = [&](const std::string& key) {
    Hung hung;
    Outcome outcome = Outcome::never_started;  // while the previous body of the key has not returned yet
    while (outcome == Outcome::never_started)
      outcome = run(job(key, hung.body(), {}, milliseconds(10), Lane::remote));
    EXPECT_EQ(outcome, Outcome::abandoned);
    hung.let_go();
    EXPECT_EQ(run(job(key + "-behind", [](const Call&) {}, {})), Outcome::returned);
  };
  miss("bad");
  miss("bad");
  // Its third call does not take the only place of the remote lane.
  Hung third;
  std::optional<Outcome> bad;
  executor.start(job(
      "bad", third.body(), [&bad](const Outcome& one) { bad = one; }, std::chrono::seconds(60),
      Lane::remote));
  EXPECT_EQ(run(job(
                "live", [](const Call&) {}, {}, std::chrono::seconds(60), Lane::remote)),
            Outcome::returned);
  EXPECT_FALSE(bad);
  third.let_go();
  while (!bad && executor.step()) {
  }
  // It answered: its next call runs in the remote lane, where another call has the only place.
  Hung fourth;
  std::optional<Outcome> other;
  executor.start(job(
      "other", fourth.body(), [&other](const Outcome& one) { other = one; }, std::chrono::seconds(60),
      Lane::remote));
  std::optional<Outcome> again;
  executor.start(job(
      "bad", [](const Call&) {}, [&again](const Outcome& one) { again = one; }, std::chrono::seconds(60),
      Lane::remote));
  bool later = false;
  executor.at(executor.now() + milliseconds(100), [&later] { later = true; });
  while (!later && executor.step()) {
  }
  EXPECT_FALSE(again);
  fourth.let_go();
  while (!again && executor.step()) {
  }
  EXPECT_EQ(again, Outcome::returned);
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
  ASSERT_TRUE(executor.watch(ends[0], [&] {
    char byte;
    ASSERT_EQ(read(ends[0], &byte, 1), 1);
    if (++seen == 2) executor.forget(ends[0]);
  }));
  ASSERT_EQ(write(ends[1], "ab", 2), 2);
  while (executor.step()) {
  }
  EXPECT_EQ(seen, 2);
  close(ends[0]);
  close(ends[1]);
}

TEST(RealExecutor, RefusesToWatchWhatCannotBePolled) {
  RealExecutor executor;
  const int file = open(LOCKSTEP_SOURCE_DIR "/README.md", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  bool called = false;
  const auto watched = executor.watch(file, [&] { called = true; });
  ASSERT_FALSE(watched);
  EXPECT_EQ(watched.error().kind, ErrorKind::unsupported);
  EXPECT_NE(watched.error().text().find("descriptor " + std::to_string(file)), std::string::npos)
      << watched.error().text();
  EXPECT_FALSE(executor.step());  // step() does not wait for it
  EXPECT_FALSE(called);
  close(file);
  const auto closed = executor.watch(file, [] {});
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().kind, ErrorKind::refused);
}

TEST(RealExecutor, ABodyThatThrowsEndsItsOwnJobOnly) {
  RealExecutor executor;
  std::vector<Outcome> outcomes;
  const auto done = [&](const Outcome& one) { outcomes.push_back(one); };
  executor.start(job(
      "d", [](const Call&) { throw std::runtime_error("the reply has no end"); }, done));
  executor.start(job(
      "d", [](const Call&) { throw 7; }, done));
  executor.start(job(
      "d", [](const Call&) {}, done));
  while (executor.step()) {
  }
  ASSERT_EQ(outcomes.size(), 3U);
  EXPECT_EQ(outcomes[0], Outcome::threw);
  EXPECT_EQ(outcomes[0].reason, "the call ended with an exception: the reply has no end");
  EXPECT_EQ(outcomes[1], Outcome::threw);
  EXPECT_FALSE(outcomes[1].reason.empty());
  EXPECT_EQ(outcomes[2], Outcome::returned);
  EXPECT_EQ(outcomes[2].reason_or("nothing"), "nothing");
}

TEST(RealExecutor, WithoutADescriptorABodyIsNotStarted) {
  RealExecutor executor;
  std::atomic<int> started = 0;
  std::optional<Outcome> outcome;
  const auto once = [&] {
    outcome.reset();
    executor.start(job(
        "d", [&](const Call&) { ++started; }, [&](const Outcome& one) { outcome = one; }));
    while (!outcome && executor.step()) {
    }
  };
  {
    const NoDescriptors none;
    once();
  }
  ASSERT_TRUE(outcome);
  EXPECT_EQ(*outcome, Outcome::never_started);
  EXPECT_NE(outcome->reason.find("Too many open files"), std::string::npos) << outcome->reason;
  EXPECT_EQ(started, 0);
  once();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(*outcome, Outcome::returned);
  EXPECT_EQ(started, 1);
}

// The epoll descriptors of this process.
std::vector<int> epolls() {
  std::vector<int> all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry, gone) == "anon_inode:[eventpoll]")
      all.push_back(std::stoi(entry.path().filename()));
  }
  return all;
}

TEST(RealExecutor, DoesNotSpinOnAnEpollThatAnotherClosed) {
  const std::vector<int> before = epolls();
  RealExecutor executor;
  std::vector<int> own = epolls();
  std::erase_if(own, [&](int one) { return std::find(before.begin(), before.end(), one) != before.end(); });
  ASSERT_EQ(own.size(), 1U);
  executor.at(executor.now() + std::chrono::seconds(20), [] {});
  const int kept = fcntl(own.front(), F_DUPFD_CLOEXEC, 100);
  close(own.front());
  EXPECT_THROW(executor.step(), std::system_error);
  dup2(kept, own.front());  // for the destructor
  close(kept);
}

TEST(RealExecutor, StepReturnsFalseWhenNothingIsLeft) {
  RealExecutor executor;
  EXPECT_FALSE(executor.step());
}

}  // namespace
}  // namespace lockstep
