#include "drivers/runtime/command_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "drivers/runtime/real_executor.hpp"

namespace lockstep {
namespace {

TEST(CommandQueue, RunsPostsOfOtherThreadsInOrderOnTheEnginesThread) {
  constexpr int kThreads = 4;
  constexpr int kActs = 500;
  RealExecutor executor;
  const auto queue = CommandQueue::open(executor);
  ASSERT_TRUE(queue) << queue.error().text();
  const std::thread::id engine = std::this_thread::get_id();
  std::vector<std::vector<int>> ran(kThreads);
  int all = 0;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kActs; ++i)
        (*queue)->post([&, thread, i] {
          EXPECT_EQ(std::this_thread::get_id(), engine);
          ran[static_cast<std::size_t>(thread)].push_back(i);
          ++all;
        });
    });
  while (all < kThreads * kActs) ASSERT_TRUE(executor.step());
  for (const std::vector<int>& one : ran) EXPECT_TRUE(std::ranges::is_sorted(one));
}

TEST(CommandQueue, ACommandMayPostAndMayDestroyTheQueue) {
  RealExecutor executor;
  auto opened = CommandQueue::open(executor);
  ASSERT_TRUE(opened) << opened.error().text();
  std::unique_ptr<CommandQueue> queue = *std::move(opened);
  std::vector<int> ran;
  queue->post([&] {
    ran.push_back(1);
    queue->post([&] {
      ran.push_back(2);
      queue->post([&] { ran.push_back(3); });
      queue.reset();
    });
  });
  while (queue) ASSERT_TRUE(executor.step());
  EXPECT_FALSE(executor.step()) << "nothing is left to wait for";
  EXPECT_EQ(ran, (std::vector<int>{1, 2})) << "what had not run when the queue went never does";
}

}  // namespace
}  // namespace lockstep
