// Calls that take long, and more of them than there are places.

#include <gtest/gtest.h>

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <future>
#include <thread>

#include "reconciler/agent/server_workers.hpp"
#include "tests/unit/agent/server_test_fixture.hpp"

namespace lockstep::agent {
namespace {

using namespace std::chrono_literals;

// Calls that wait until they are told to go on.
class ServerBusy : public ServerTest {
 protected:
  void SetUp() override {
    calls_->on_call = [this](std::string_view, const std::string& body, const Call& call) {
      std::unique_lock lock(gate_mutex_);
      begun_.push_back(body);
      most_ = std::max(most_, ++running_);
      changed_.notify_all();
      std::stop_callback ended(call.stop, [this] { changed_.notify_all(); });
      changed_.wait(lock, [&] { return open_ || call.stop.stop_requested(); });
      --running_;
      if (call.stop.stop_requested()) ++stopped_;
      return Reply{200, "{}"};
    };
  }
  void await_begun(std::size_t count) {
    std::unique_lock lock(gate_mutex_);
    ASSERT_TRUE(changed_.wait_for(lock, 20s, [&] { return begun_.size() >= count; })) << begun_.size();
  }
  void open_gate() {
    const std::lock_guard lock(gate_mutex_);
    open_ = true;
    changed_.notify_all();
  }
  std::mutex gate_mutex_;
  std::condition_variable changed_;
  std::vector<std::string> begun_;
  int running_ = 0;
  int most_ = 0;
  int stopped_ = 0;
  bool open_ = false;
};

TEST_F(ServerBusy, RunsNoMoreCallsAtOnceThanAllowed) {
  options_.calls_max = 2;
  start();
  std::vector<std::unique_ptr<RawClient>> all;
  for (int i = 0; i < 6; ++i) {
    all.push_back(std::make_unique<RawClient>(port(), controller_));
    ASSERT_TRUE(all.back()->post("observe", std::to_string(i)));
  }
  await_begun(2);
  open_gate();
  for (const auto& one : all) EXPECT_EQ(one->answer().status, 200);
  EXPECT_EQ(begun_.size(), 6U);
  EXPECT_EQ(most_, 2);
}

TEST_F(ServerBusy, ControllersDoNotWaitForReaders) {
  options_.calls_max = 2;
  start();
  std::vector<std::unique_ptr<RawClient>> readers;
  for (int i = 0; i < 4; ++i) {
    readers.push_back(std::make_unique<RawClient>(port(), reader_));
    ASSERT_TRUE(readers.back()->post("observe", "read"));
  }
  await_begun(1);
  RawClient ops = client(controller_);
  ASSERT_TRUE(ops.post("apply", "write"));
  await_begun(2);
  {
    const std::lock_guard lock(gate_mutex_);
    EXPECT_EQ(begun_, (std::vector<std::string>{"read", "write"}));
  }
  open_gate();
  EXPECT_EQ(ops.answer().status, 200);
  for (const auto& one : readers) EXPECT_EQ(one->answer().status, 200);
}

TEST_F(ServerBusy, CallThatWaitedBeyondItsDeadlineNeverBegins) {
  options_.calls_max = 1;
  start();
  RawClient first = client(controller_);
  ASSERT_TRUE(first.post("observe", "first"));
  await_begun(1);
  RawClient second = client(controller_);
  const auto got = second.call("apply", "second", "Lockstep-Deadline-Ms: 50\r\n");
  EXPECT_EQ(got.status, 503);
  EXPECT_HAS(got.body, R"("kind":"transient")");
  open_gate();
  EXPECT_EQ(first.answer().status, 200);
  EXPECT_EQ(second.call("observe", "third").status, 200) << "the connection is still good";
  EXPECT_EQ(begun_, (std::vector<std::string>{"first", "third"}));
}

TEST_F(ServerBusy, StopAsksCallsToEndAndWaitsForThem) {
  start();
  RawClient calling = client(controller_);
  RawClient idle = client(controller_);
  ASSERT_TRUE(calling.post("apply", "x"));
  await_begun(1);
  server_.reset();
  EXPECT_EQ(stopped_, 1);
  EXPECT_EQ(running_, 0);
  EXPECT_EQ(calling.answer().status, 0);
  EXPECT_TRUE(idle.closed());
}

TEST_F(ServerBusy, FullServerDropsTheConnectionOfWhoHasTheMost) {
  options_.connections_max = 4;
  start();
  std::vector<std::unique_ptr<RawClient>> readers;
  for (int i = 0; i < 4; ++i) readers.push_back(std::make_unique<RawClient>(port(), reader_));
  ASSERT_TRUE(readers[0]->get("/v1/healthz"));
  ASSERT_EQ(readers[0]->answer().status, 200);
  for (std::size_t i = 1; i < 4; ++i) ASSERT_TRUE(readers[i]->post("observe", "wait"));
  await_begun(3);
  RawClient ops = client(controller_);
  ASSERT_TRUE(ops.get("/v1/healthz"));
  EXPECT_EQ(ops.answer().status, 200);
  EXPECT_TRUE(readers[0]->closed()) << "the one that it did not use";
  // A reader has the most already, and uses all of them.
  const auto refused = client(reader_).call("observe", "more");
  EXPECT_EQ(refused.status, 503);
  EXPECT_HAS(refused.body, "all 4 connections are in use");
  open_gate();
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(readers[i]->answer().status, 200);
}

TEST_F(ServerBusy, EvictedReadersCallNeverBegins) {
  options_.calls_max = 2;
  options_.connections_max = 3;
  start();
  std::vector<std::unique_ptr<RawClient>> readers;
  for (int i = 0; i < 3; ++i) {
    readers.push_back(std::make_unique<RawClient>(port(), reader_));
    // Each has its place before the next comes.
    ASSERT_TRUE(readers.back()->get("/v1/healthz"));
    ASSERT_EQ(readers.back()->answer().status, 200);
  }
  ASSERT_TRUE(readers[0]->post("observe", "0"));
  await_begun(1);
  ASSERT_TRUE(readers[1]->post("observe", "1"));
  ASSERT_TRUE(readers[2]->post("observe", "2"));
  RawClient one = client(controller_);
  EXPECT_TRUE(readers[0]->closed()) << "the oldest of who has the most";
  RawClient other = client(controller_);
  EXPECT_TRUE(readers[1]->closed());
  ASSERT_TRUE(one.post("apply", "write"));
  await_begun(2);
  open_gate();
  EXPECT_EQ(one.answer().status, 200);
  EXPECT_EQ(readers[2]->answer().status, 200);
  EXPECT_EQ(begun_, (std::vector<std::string>{"0", "write", "2"}));
}

TEST_F(ServerBusy, ConnectionOfFormerTlsFilesEndsAfterItsCall) {
  start();
  RawClient ops = client(controller_);
  ASSERT_TRUE(ops.post("apply", "x"));
  await_begun(1);
  const TlsFiles renewed = ca_.issue("renewed", "lockstep://pod/device/gpu1");
  std::filesystem::rename(renewed.key, files_.key);
  std::filesystem::rename(renewed.certificate, files_.certificate);
  ASSERT_TRUE(soon([&] { return logged("changed TLS files are in use"); })) << log();
  open_gate();
  const auto got = ops.answer();
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(got.headers.at("Connection"), "close");
  EXPECT_TRUE(ops.closed());
}

class WorkersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto workers = Workers::start(1);
    ASSERT_TRUE(workers) << workers.error().text();
    workers_ = *std::move(workers);
    workers_->add(false, [this] { go_.get_future().wait(); });  // what comes later waits
  }
  std::function<void()> note(const std::string& what) {
    return [this, what] {
      order_.push_back(what);
      if (what == "last") done_.set_value();
    };
  }
  std::promise<void> go_;
  std::promise<void> done_;
  std::vector<std::string> order_;  // by the one worker
  std::unique_ptr<Workers> workers_;
};

TEST_F(WorkersTest, MinorJobsComeLast) {
  workers_->add(true, note("last"));
  workers_->add(false, note("first"));
  workers_->add(false, note("second"));
  go_.set_value();
  done_.get_future().wait();
  EXPECT_EQ(order_, (std::vector<std::string>{"first", "second", "last"}));
}

TEST_F(WorkersTest, RemovedJobNeverRuns) {
  const auto removed = workers_->add(false, note("removed"));
  const auto kept = workers_->add(false, note("kept"));
  workers_->add(false, note("last"));
  EXPECT_TRUE(workers_->remove(removed));
  EXPECT_FALSE(workers_->remove(removed));
  go_.set_value();
  done_.get_future().wait();
  EXPECT_EQ(order_, (std::vector<std::string>{"kept", "last"}));
  EXPECT_FALSE(workers_->remove(kept)) << "it ran";
}

TEST_F(WorkersTest, StopDropsWhatWaits) {
  workers_->add(false, note("dropped"));
  std::thread later([this] { workers_->stop(); });
  workers_->add(false, note("dropped as well"));
  // stop() holds what waits before it waits for what runs.
  EXPECT_TRUE(soon([&] { return !workers_->remove(workers_->add(false, [] {})); }));
  go_.set_value();
  later.join();
  EXPECT_TRUE(order_.empty());
}

}  // namespace
}  // namespace lockstep::agent
