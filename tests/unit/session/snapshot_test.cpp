#include "reconciler/session/snapshot.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "drivers/runtime/command_queue.hpp"
#include "drivers/runtime/pump.hpp"
#include "drivers/runtime/real_executor.hpp"
#include "lab.hpp"

namespace lockstep {
namespace {

std::vector<NamedDevice> named(std::size_t devices) { return std::vector<NamedDevice>(devices); }

TEST(SnapshotBoard, ChangesOfOneTurnAppearTogether) {
  SimulatedExecutor executor(1);
  SnapshotBoard board(executor, named(2));
  const std::shared_ptr<const Snapshot> before = board.read();
  EXPECT_FALSE(before->devices[1]);
  DeviceState state;
  state.device = "gpu2";
  state.reachable = true;
  board.observed(1, state, {});
  board.change(ChangeUnderWay{"ann", Application::Phase::write, 3});
  EXPECT_EQ(board.read(), before) << "the turn is not over";
  executor.step();
  const std::shared_ptr<const Snapshot> after = board.read();
  EXPECT_EQ(after->generation, before->generation + 1);
  EXPECT_TRUE(after->devices[1]->in_sync());
  ASSERT_TRUE(after->change);
  EXPECT_EQ(after->change->author, "ann");
  EXPECT_FALSE(before->devices[1]) << "a snapshot never changes";
}

TEST(SnapshotBoard, KeepsTheNewestEvents) {
  SimulatedExecutor executor(1);
  SnapshotBoard board(executor, named(0));
  for (std::size_t i = 0; i < kEventsKept + 5; ++i) {
    WatchEvent event;
    event.item.device = "gpu" + std::to_string(i);
    board.happened(event);
  }
  executor.step();
  ASSERT_EQ(board.read()->events.size(), kEventsKept);
  EXPECT_EQ(board.read()->events.front()->item.device, "gpu5");
}

TEST(SnapshotBoard, SupportsConcurrentReaders) {
  SimulatedExecutor executor(1);
  SnapshotBoard board(executor, named(1));
  std::atomic<bool> over = false;
  std::atomic<std::size_t> torn = 0;
  std::vector<std::jthread> readers;
  for (int i = 0; i < 3; ++i)
    readers.emplace_back([&] {
      for (std::uint64_t last = 0; !over;) {
        const std::shared_ptr<const Snapshot> now = board.read();
        const bool whole = !now->devices[0] || now->devices[0]->device == now->events.back()->item.device;
        torn += now->generation < last || !whole ? 1 : 0;
        last = now->generation;
      }
    });
  for (int i = 0; i < 3000; ++i) {
    WatchEvent event;
    DeviceState state;
    event.item.device = state.device = "gpu" + std::to_string(i);
    board.happened(event);
    board.observed(0, state, {});
    executor.step();
  }
  over = true;
  readers.clear();
  EXPECT_EQ(torn, 0U);
}

class WatchedLab : public Lab {};

// The watch runs on one thread, and another reads and stops it.
TEST_F(WatchedLab, IsReadAndStoppedByAnotherThread) {
  apply(open());
  devices.at("gpu1")->set(*Path::parse("interface[rail0]/mtu"), Value::integer(1500));
  session.reset();
  std::unique_ptr<ClusterSession> watching;
  RealExecutor real;
  open(real);
  watching = std::move(session);
  const std::unique_ptr<ClusterWatch> watch =
      watching->make_watch({.command = "test", .author = "ann", .converge = true, .event = {}});
  const auto commands = CommandQueue::open(real);
  ASSERT_TRUE(commands) << commands.error().text();
  std::jthread reader([&] {
    const auto healed = [](const Snapshot& now) {
      return !now.events.empty() && !now.change &&
             std::ranges::all_of(now.devices, [](const auto& one) { return one && one->in_sync(); });
    };
    while (!healed(*watch->snapshot())) std::this_thread::yield();
    (*commands)->post([&watch] { watch->stop(); });
  });
  EXPECT_TRUE(pump(real, *watch));
  EXPECT_EQ(at("gpu1", "interface[rail0]/mtu"), Value::integer(9000));
  EXPECT_EQ(watch->snapshot()->events.front()->item.device, "gpu1");
}

// gpu2 is unreachable and must not appear in sync.
TEST_F(WatchedLab, UnreachableDeviceIsNotObserved) {
  apply(open());
  unattachable.emplace("gpu2", Error{ErrorKind::denied, "no credentials for gpu2"});
  session.reset();
  ClusterSession& watching = open();
  const std::unique_ptr<ClusterWatch> watch =
      watching.make_watch({.command = "test", .author = "ann", .converge = false, .event = {}});
  bool over = false;
  watch->start([&over](const Result<Done>&) { over = true; });
  const auto all_but_gpu2 = [&watch] {
    const std::shared_ptr<const Snapshot> now = watch->snapshot();
    return std::ranges::count_if(now->devices, [](const auto& one) { return one != nullptr; }) ==
           static_cast<std::ptrdiff_t>(now->devices.size()) - 1;
  };
  while (!all_but_gpu2() && executor.step()) {
  }
  watch->stop();
  while (!over && executor.step()) {
  }
  const std::shared_ptr<const Snapshot> now = watch->snapshot();
  for (std::size_t i = 0; i < now->devices.size(); ++i)
    EXPECT_EQ(now->devices[i] == nullptr, watching.fleet()[i].name == "gpu2") << watching.fleet()[i].name;
}

}  // namespace
}  // namespace lockstep
