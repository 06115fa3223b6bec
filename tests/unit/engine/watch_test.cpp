#include "reconciler/engine/watch.hpp"

#include <set>

#include "cluster.hpp"
#include "drivers/runtime/real_executor.hpp"
#include "test_watcher.hpp"

namespace lockstep {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Watch, ReportsDriftAndReadsOnlyTheDeviceThatChanged) {
  Cluster cluster;
  auto& gpu1 = cluster.add("gpu1");
  auto& gpu2 = cluster.add("gpu2");
  const Path mtu = entry("interface[rail0]/mtu");
  for (const auto* name : {"gpu1", "gpu2"}) {
    cluster.want(name, mtu.text(), number(9000));
    cluster.devices[name]->set(mtu, number(9000));
  }
  const auto watcher = std::make_shared<TestWatcher>(Woken{.all = false, .devices = {"gpu1"}});
  watch_with(cluster.attached(0), watcher);
  watch_with(cluster.attached(1), std::make_shared<TestWatcher>());
  int looks_at_gpu2 = 0;
  gpu2.seen = [&looks_at_gpu2](const SimulatedCall&) { ++looks_at_gpu2; };
  RealExecutor executor;
  std::stop_source stop;
  // The other operator: breaks the value once the first observation is over, and repairs it once the drift
  // was reported.
  executor.at(executor.now() + milliseconds(100), [&] {
    gpu1.set(mtu, number(1500));
    watcher->signal();
  });
  std::vector<WatchEvent> seen;
  const auto report = [&](const WatchEvent& event) {
    seen.push_back(event);
    if (event.kind == WatchEvent::Kind::cleared) return stop.request_stop(), void();
    gpu1.set(mtu, number(9000));
    watcher->signal();
  };
  Watch watch(cluster.fleet(), executor, cluster.origins, cluster.sources, {}, report);
  ASSERT_TRUE(pump(executor, watch, stop.get_token()));
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].kind, WatchEvent::Kind::appeared);
  EXPECT_EQ(seen[0].item.device, "gpu1");
  EXPECT_EQ(seen[0].item.have, number(1500));
  EXPECT_EQ(seen[1].kind, WatchEvent::Kind::cleared);
  EXPECT_EQ(looks_at_gpu2, 1);
}

TEST(Watch, ReadsADeviceThatChangedOnceMore) {
  Cluster cluster;
  auto& gpu1 = cluster.add("gpu1");
  const Path mtu = entry("interface[rail0]/mtu");
  cluster.want("gpu1", mtu.text(), number(9000));
  gpu1.set(mtu, number(9000));
  const auto watcher = std::make_shared<TestWatcher>(Woken{.all = false, .devices = {"gpu1"}});
  watch_with(cluster.attached(0), watcher);
  RealExecutor executor;
  std::stop_source stop;
  WatchSettings settings;
  settings.confirm_after = milliseconds(30);
  int reads = 0;
  int looks = 0;
  settings.observed = [&](std::size_t, const DeviceState&, const DriftReport&) { ++reads; };
  settings.looked = [&] {
    if (++looks == 1) {
      gpu1.set(mtu, number(1500));
      watcher->signal();
    } else if (looks == 3) {  // a fourth would be within this time
      executor.at(executor.now() + milliseconds(200), [&] { stop.request_stop(); });
    }
  };
  std::vector<WatchEvent::Kind> kinds;
  const auto report = [&](const WatchEvent& event) { kinds.push_back(event.kind); };
  Watch watch(cluster.fleet(), executor, cluster.origins, cluster.sources, settings, report);
  ASSERT_TRUE(pump(executor, watch, stop.get_token()));
  EXPECT_EQ(kinds, std::vector{WatchEvent::Kind::appeared});
  EXPECT_EQ(looks, 3);
  EXPECT_EQ(reads, 3);
}

TEST(Watch, HealsDriftThatAppears) {
  Cluster cluster;
  auto& gpu1 = cluster.add("gpu1");
  const Path mtu = entry("interface[rail0]/mtu");
  cluster.want("gpu1", mtu.text(), number(9000));
  gpu1.set(mtu, number(1500));
  RealExecutor executor;
  std::stop_source stop;
  WatchSettings settings;
  settings.heal = [&](const std::vector<std::size_t>& devices,
                      const std::function<void(const Tried&)>& healed) {
    gpu1.set(mtu, number(9000));
    healed(devices);
  };
  std::vector<WatchEvent::Kind> kinds;
  const auto report = [&](const WatchEvent& event) {
    kinds.push_back(event.kind);
    if (event.kind == WatchEvent::Kind::cleared) stop.request_stop();
  };
  Watch watch(cluster.fleet(), executor, cluster.origins, cluster.sources, settings, report);
  ASSERT_TRUE(pump(executor, watch, stop.get_token()));
  EXPECT_EQ(kinds, (std::vector<WatchEvent::Kind>{WatchEvent::Kind::appeared, WatchEvent::Kind::cleared}));
}

TEST(Watch, FindingsAreReportedAndNotHealed) {
  Cluster cluster;
  auto& gpu1 = cluster.add("gpu1");
  const Path filters = entry("diverted[10.64.0.0/16]/filters");
  cluster.want("gpu1", filters.text(), Value::set({}));
  gpu1.set(filters, Value::set({"XDP on rail0 (native)"}));
  std::stop_source stop;
  cluster.executor.at(cluster.executor.now() + seconds(40), [&] { gpu1.set(filters, Value::set({})); });
  cluster.executor.at(cluster.executor.now() + seconds(100), [&] { stop.request_stop(); });
  WatchSettings settings;
  int healings = 0;
  settings.heal = [&](const std::vector<std::size_t>& devices,
                      const std::function<void(const Tried&)>& healed) {
    ++healings;
    healed(devices);
  };
  std::vector<WatchEvent> seen;
  const auto report = [&](const WatchEvent& event) { seen.push_back(event); };
  Watch watch(cluster.fleet(), cluster.executor, cluster.origins, cluster.sources, settings, report);
  ASSERT_TRUE(pump(cluster.executor, watch, stop.get_token()));
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].kind, WatchEvent::Kind::appeared);
  EXPECT_EQ(seen[0].item.state, DriftState::finding);
  EXPECT_EQ(seen[1].kind, WatchEvent::Kind::cleared);
  EXPECT_EQ(healings, 0);
}

// Three devices whose drivers share one watcher, and a fourth without one. Returns the devices that are read
// again after an event.
std::set<std::string> read_after(const std::shared_ptr<TestWatcher>& watcher) {
  Cluster cluster;
  std::map<std::string, int> observations;
  for (const std::string name : {"gpu1", "gpu2", "gpu3", "gpu4"}) {
    cluster.add(name).seen = [&observations, name](const SimulatedCall&) { ++observations[name]; };
    if (name != "gpu4") watch_with(cluster.attached(observations.size()), watcher);
    observations[name] = 0;
  }
  std::stop_source stop;
  const Time begin = cluster.executor.now();
  cluster.executor.at(begin + seconds(1), [&] {
    for (const auto& [name, count] : observations) EXPECT_EQ(count, 1) << name;
    watcher->signal();
  });
  cluster.executor.at(begin + seconds(2), [&] { stop.request_stop(); });
  Watch watch(cluster.fleet(), cluster.executor, cluster.origins, cluster.sources, {},
              [](const WatchEvent&) {});
  EXPECT_TRUE(pump(cluster.executor, watch, stop.get_token()));
  std::set<std::string> out;
  for (const auto& [name, count] : observations)
    if (count > 1) out.insert(name);
  return out;
}

using Names = std::set<std::string>;

TEST(Watch, SharedWatcherReadsOnlyTheKnownDevicesOfItsEvents) {
  EXPECT_EQ(read_after(std::make_shared<TestWatcher>(Woken{.all = false, .devices = {"gpu2", "nobody"}})),
            Names{"gpu2"});
  EXPECT_EQ(read_after(std::make_shared<TestWatcher>(Woken{})), Names{});
}

TEST(Watch, ReadsAllDevicesOfAWatcherThatLostEventsOrFailed) {
  EXPECT_EQ(read_after(std::make_shared<TestWatcher>(Woken{.all = true, .devices = {}})),
            (Names{"gpu1", "gpu2", "gpu3"}));
  const auto broken = std::make_shared<TestWatcher>();
  broken->breaks = true;
  EXPECT_EQ(read_after(broken), (Names{"gpu1", "gpu2", "gpu3"}));
}

// The first events of a watch when another writer makes a change between two observations.
std::vector<WatchEvent> watched(Cluster& cluster, const std::function<void()>& other_hand) {
  RealExecutor executor;
  std::stop_source stop;
  WatchSettings settings;
  // no observation is under way when the other writer makes its change
  settings.poll_every = milliseconds(150);
  executor.at(executor.now() + milliseconds(75), other_hand);
  std::vector<WatchEvent> seen;
  const auto report = [&](const WatchEvent& event) {
    seen.push_back(event);
    stop.request_stop();
  };
  Watch watch(cluster.fleet(), executor, cluster.origins, cluster.sources, settings, report);
  EXPECT_TRUE(pump(executor, watch, stop.get_token()));
  return seen;
}

// A change without driver events is detected by the next poll, even though the device has a watcher.
TEST(Watch, PollsEveryDevice) {
  Cluster cluster;
  auto& gpu1 = cluster.add("gpu1");
  const Path governor = entry("cpu/governor");
  cluster.want("gpu1", governor.text(), Value::text("performance"));
  gpu1.set(governor, Value::text("performance"));
  watch_with(cluster.attached(0), std::make_shared<TestWatcher>());
  const auto seen = watched(cluster, [&] { gpu1.set(governor, Value::text("powersave")); });
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].item.have, Value::text("powersave"));
}

// A module was loaded and the device rebooted: it now supports what it did not support before.
TEST(Watch, ReadsDeviceCapabilitiesAgainAfterABoot) {
  Cluster cluster;
  auto& gpu1 = cluster.add("gpu1");
  gpu1.incapable.push_back({row("cpu/governor"), {}, "no cpufreq here"});
  cluster.want("gpu1", "cpu/governor", Value::text("performance"));
  const auto seen = watched(cluster, [&] {
    gpu1.incapable.clear();
    gpu1.reboot();
  });
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].item.path, entry("cpu/governor"));
}

// A poll is not an event, so the minimum interval between event reads does not apply.
TEST(Watch, PollDuringAReadIsNotDelayed) {
  Cluster cluster;
  int looks = 0;
  cluster.add("gpu1").seen = [&looks](const SimulatedCall&) { ++looks; };
  const auto watcher = std::make_shared<TestWatcher>(Woken{.all = false, .devices = {"gpu1"}});
  watch_with(cluster.attached(0), watcher);
  WatchSettings settings;
  settings.poll_every = milliseconds(1'000);
  settings.event_floor = seconds(30);
  std::stop_source stop;
  const Time begin = cluster.executor.now();
  cluster.executor.at(begin + milliseconds(990), [&] { watcher->signal(); });
  cluster.executor.at(begin + milliseconds(1'900), [&] { stop.request_stop(); });
  Watch watch(cluster.fleet(), cluster.executor, cluster.origins, cluster.sources, settings,
              [](const WatchEvent&) {});
  EXPECT_TRUE(pump(cluster.executor, watch, stop.get_token()));
  EXPECT_EQ(looks, 3) << "at first, after the event, and for the poll";
}

TEST(Watch, FailingWatcherIsReopenedWithBackOff) {
  Cluster cluster;
  cluster.add("gpu1");
  std::vector<Time> opened;
  cluster.attached(0).watch = [&]() -> Result<std::shared_ptr<Watcher>> {
    opened.push_back(cluster.executor.now());
    auto watcher = std::make_shared<TestWatcher>();
    watcher->breaks = true;
    watcher->signal();
    return std::shared_ptr<Watcher>(watcher);
  };
  std::stop_source stop;
  cluster.executor.at(cluster.executor.now() + seconds(5), [&] { stop.request_stop(); });
  Watch watch(cluster.fleet(), cluster.executor, cluster.origins, cluster.sources, {},
              [](const WatchEvent&) {});
  EXPECT_TRUE(pump(cluster.executor, watch, stop.get_token()));
  std::vector<milliseconds> pauses;
  for (std::size_t i = 1; i < opened.size() && i < 7; ++i)
    pauses.push_back(std::chrono::duration_cast<milliseconds>(opened[i] - opened[i - 1]));
  using std::chrono_literals::operator""ms;
  EXPECT_EQ(pauses, (std::vector<milliseconds>{100ms, 200ms, 400ms, 800ms, 1000ms, 1000ms}));
}

}  // namespace
}  // namespace lockstep
