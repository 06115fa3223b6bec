// The loops that post and poll, against a queue with faults that rxe cannot produce.
#include "bench/verbs/transfer.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <functional>

#include "bench/tcp/cpu.hpp"
#include "bench/verbs/post.hpp"

namespace lockstep::bench::verbs {
namespace {

// Completes posted requests when polled; each member below sets a fault.
class FakeVerbsQueue final : public WorkQueue {
 public:
  struct Posted {
    std::size_t queue_pair;
    std::uint64_t id;
    bool signalled;
  };
  Result<Done> post_send(std::size_t queue_pair, ibv_send_wr& first) override {
    if (refuses) return Error{ErrorKind::refused, "ibv_post_send: no room"};
    lists.push_back(0);
    for (ibv_send_wr* one = &first; one != nullptr; one = one->next) {
      ++lists.back();
      const bool signalled = (one->send_flags & IBV_SEND_SIGNALED) != 0;
      posted.push_back({queue_pair, one->wr_id, signalled});
      if (signalled) due.push_back({queue_pair, one->wr_id, true});
    }
    return Done{};
  }
  Result<Done> post_receive(std::size_t, ibv_recv_wr& first) override {
    for (ibv_recv_wr* one = &first; one != nullptr; one = one->next) receives.push_back(one->wr_id);
    return Done{};
  }
  int poll_sent(std::span<ibv_wc> into) override {
    if (gone) return -1;
    std::size_t filled = 0;
    while (!silent && filled < into.size() && !due.empty()) {
      ibv_wc one{};
      one.wr_id = due.front().id ^ lie;
      one.status = status;
      into[filled++] = one;
      due.pop_front();
    }
    return static_cast<int>(filled);
  }
  int poll_received(std::span<ibv_wc> into) override {
    if (gone) return -1;
    std::size_t filled = 0;
    while (filled < into.size() && arrived < arrives && !receives.empty()) {
      ibv_wc one{};
      one.wr_id = receives.front();
      one.byte_len = length;
      receives.pop_front();
      into[filled++] = one;
      ++arrived;
    }
    return static_cast<int>(filled);
  }

  bool refuses = false;  // refuses to post
  bool silent = false;   // nothing is completed
  bool gone = false;     // polling fails
  std::uint64_t lie = 0;
  ibv_wc_status status = IBV_WC_SUCCESS;
  std::uint64_t arrives = 0;  // messages from the far end
  std::uint32_t length = 64;

  std::vector<std::size_t> lists;  // lengths
  std::vector<Posted> posted;
  std::deque<Posted> due;
  std::deque<std::uint64_t> receives;
  std::uint64_t arrived = 0;
};

class Transfers : public ::testing::Test {
 protected:
  Transfers() {
    workload_.bytes = 64;
    workload_.iterations = 100;
    workload_.depth = 32;
    workload_.batch = 8;
    workload_.signal_every = 8;
    workload_.stall_ms = 20;
  }
  Surroundings& at() {
    at_.queue = &queue_;
    at_.layout = layout_of(workload_);
    memory_.resize(at_.layout.bytes());
    at_.memory.local = memory_.data();
    at_.deadline_ns = now_ns() + 10'000'000'000ULL;
    return at_;
  }

  Workload workload_;
  FakeVerbsQueue queue_;
  Surroundings at_;
  std::vector<std::uint8_t> memory_;
};

TEST_F(Transfers, PostsInListsAndSignalsEveryEighthAndTheLast) {
  const Transfer done = send_bandwidth(at(), workload_);
  EXPECT_EQ(done.failure.text, "");
  EXPECT_EQ(done.completed, 100U);
  EXPECT_EQ(done.sent, std::vector<std::uint64_t>{100});
  ASSERT_EQ(queue_.lists.size(), 13U);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(queue_.lists[i], 8U);
  EXPECT_EQ(queue_.lists.back(), 4U);
  ASSERT_EQ(queue_.posted.size(), 100U);
  for (std::size_t i = 0; i < 100; ++i)
    EXPECT_EQ(queue_.posted[i].signalled, (i + 1) % 8 == 0 || i == 99) << i;
  EXPECT_EQ(done.seen.count(), 13U);
}

TEST_F(Transfers, QueuePairsShareTheCountExcludingWarmUp) {
  workload_.queue_pairs = 3;
  workload_.warm_up = 40;
  const Transfer done = send_bandwidth(at(), workload_);
  EXPECT_EQ(done.failure.text, "");
  EXPECT_EQ(done.sent, (std::vector<std::uint64_t>{47, 47, 46}));
  EXPECT_LE(done.completed, 100U);
  EXPECT_GE(done.completed, 100U - workload_.signal_every);
}

TEST_F(Transfers, ADurationEndsAndCountsItsLastMessages) {
  workload_.iterations = 0;
  workload_.duration_ms = 5;
  workload_.signal_every = 7;
  const Transfer done = send_bandwidth(at(), workload_);
  EXPECT_EQ(done.failure.text, "");
  EXPECT_TRUE(queue_.posted.back().signalled);
  EXPECT_EQ(done.sent, std::vector<std::uint64_t>{queue_.posted.size()});
  EXPECT_EQ(done.completed, queue_.posted.size());
}

TEST_F(Transfers, ReportsADeviceThatCannotBePolled) {
  queue_.gone = true;
  for (const auto run : {send_bandwidth, receive_bandwidth, read_latency, send_ping, send_pong}) {
    const Transfer done = run(at(), workload_);
    EXPECT_EQ(done.failure.trouble, Trouble::tool);
    EXPECT_NE(done.failure.text.find("ibv_poll_cq"), std::string::npos) << done.failure.text;
  }
}

TEST_F(Transfers, NeverMoreThanTheDepthIsInFlight) {
  queue_.silent = true;
  const Transfer done = send_bandwidth(at(), workload_);
  EXPECT_EQ(queue_.posted.size(), 32U);
  EXPECT_EQ(done.failure.trouble, Trouble::path);
  EXPECT_EQ(done.failure.text, "nothing was completed for 20 ms, after 0 were");
}

TEST_F(Transfers, TheDeadlineEndsATransferThatNeverCompletes) {
  queue_.silent = true;
  workload_.stall_ms = 60'000;
  at().deadline_ns = now_ns() + 5'000'000;
  EXPECT_EQ(send_bandwidth(at_, workload_).failure.text,
            "not through at its deadline, after 0 were completed");
}

TEST_F(Transfers, AnInterruptionIsReportedAsTheReason) {
  queue_.silent = true;
  at().interruption = [] { return Failure{Trouble::path, "the peer is gone"}; };
  EXPECT_EQ(send_bandwidth(at_, workload_).failure.text, "the peer is gone");
}

TEST_F(Transfers, AFailedCompletionIsReportedByName) {
  queue_.status = IBV_WC_RETRY_EXC_ERR;
  const Failure failure = send_bandwidth(at(), workload_).failure;
  EXPECT_EQ(failure.trouble, Trouble::path);
  EXPECT_TRUE(failure.text.starts_with("RETRY_EXC_ERR: the peer did not acknowledge")) << failure.text;
}

TEST_F(Transfers, RejectsInvalidCompletionsAndReportsRefusals) {
  queue_.lie = 1U << 20U;
  EXPECT_NE(send_bandwidth(at(), workload_).failure.text.find("which is not in flight"), std::string::npos);
  queue_.lie = std::uint64_t{5} << 48U;  // a queue pair that does not exist
  EXPECT_NE(send_bandwidth(at(), workload_).failure.text.find("which is not in flight"), std::string::npos);
  queue_.lie = 0;
  queue_.refuses = true;
  EXPECT_EQ(send_bandwidth(at(), workload_).failure.text, "posting: ibv_post_send: no room");
}

TEST_F(Transfers, RepostsReceivesInListsUntilTheTotalArrived) {
  workload_.operation = Operation::send;
  queue_.arrives = 100;
  ASSERT_EQ(Receives(at(), workload_).post_all().text, "");
  ASSERT_EQ(queue_.receives.size(), 64U);
  at().told = [] { return std::optional<std::uint64_t>(100); };
  const Transfer done = receive_bandwidth(at_, workload_);
  EXPECT_EQ(done.failure.text, "");
  EXPECT_EQ(done.completed, 100U);
  EXPECT_EQ(queue_.receives.size(), 64U - 100U + 96U) << "all but the last four, which fill no list";
}

TEST_F(Transfers, AMessageOfAnotherLengthIsAnError) {
  workload_.operation = Operation::send;
  queue_.arrives = 1;
  queue_.length = 63;
  ASSERT_EQ(Receives(at(), workload_).post_all().text, "");
  at().told = [] { return std::optional<std::uint64_t>(); };
  const Failure failure = receive_bandwidth(at_, workload_).failure;
  EXPECT_EQ(failure.trouble, Trouble::wrong);
  EXPECT_EQ(failure.text, "a message of 63 bytes came, not of 64");
}

TEST_F(Transfers, MissingMessagesAreAStall) {
  workload_.operation = Operation::send;
  queue_.arrives = 99;
  ASSERT_EQ(Receives(at(), workload_).post_all().text, "");
  at().told = [] { return std::optional<std::uint64_t>(100); };
  EXPECT_EQ(receive_bandwidth(at_, workload_).failure.text, "nothing was completed for 20 ms, after 99 were");
}

TEST(Window, ACompletionCoversAllBeforeItAndCountsOnce) {
  SendWindow window(8, 3);
  for (int i = 0; i < 7; ++i) EXPECT_EQ(window.take(false).signalled, i == 2 || i == 5);
  EXPECT_EQ(window.room(), 1U);
  EXPECT_TRUE(window.unsignalled_tail());
  EXPECT_EQ(window.complete(2), 3U);
  EXPECT_EQ(window.complete(2), 0U) << "a second time";
  EXPECT_EQ(window.complete(1), 0U) << "one that it stood for";
  EXPECT_EQ(window.complete(7), 0U) << "one that was not posted";
  EXPECT_EQ(window.complete(5), 3U);
  EXPECT_TRUE(window.take(true).signalled);
  EXPECT_FALSE(window.unsignalled_tail());
  EXPECT_EQ(window.complete(7), 2U);
  EXPECT_TRUE(window.idle());
}

}  // namespace
}  // namespace lockstep::bench::verbs
