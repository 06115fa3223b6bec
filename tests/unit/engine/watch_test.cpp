#include "reconciler/engine/watch.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "cluster.hpp"

namespace lockstep {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Damping, CallsALeafFlappingAfterItsLimitAndQuietAfterAWindow) {
  Damping damping;
  const Path mtu = leaf("interface[rail0]/mtu");
  Time now{};
  EXPECT_FALSE(damping.changed("gpu1", mtu, now));
  EXPECT_FALSE(damping.changed("gpu1", mtu, now += seconds(1)));
  EXPECT_FALSE(damping.changed("gpu1", mtu, now += seconds(1)));
  EXPECT_TRUE(damping.changed("gpu1", mtu, now += seconds(1)));
  EXPECT_TRUE(damping.flaps("gpu1", mtu, now));
  EXPECT_FALSE(damping.flaps("gpu1", mtu, now + seconds(11)));
  EXPECT_FALSE(damping.flaps("gpu2", mtu, now));
}

TEST(Damping, HealsEverMoreRarely) {
  Damping damping;
  const Path mtu = leaf("interface[rail0]/mtu");
  Time now{};
  damping.changed("gpu1", mtu, now);
  EXPECT_EQ(damping.may_heal_at("gpu1", mtu, now), now);
  milliseconds last{0};
  for (int i = 0; i < 4; ++i) {
    damping.healed("gpu1", mtu, now);
    const auto wait = std::chrono::duration_cast<milliseconds>(damping.may_heal_at("gpu1", mtu, now) - now);
    EXPECT_GT(wait, last);
    last = wait;
    now += wait;
  }
  now += seconds(20);
  damping.changed("gpu1", mtu, now);
  EXPECT_EQ(damping.may_heal_at("gpu1", mtu, now), now);
}

TEST(WatchEvents, AreInJsonWhatDriftSaysOfTheLeaf) {
  DriftEntry item;
  item.device = "gpu1";
  item.path = leaf("interface[rail0]/mtu");
  item.want = number(9000);
  item.have = number(1500);
  item.state = DriftState::not_applied;
  item.reason = "is not there";
  item.by_hand = true;
  item.origin.file = "fabric.yaml";
  nlohmann::json event = to_json(WatchEvent{WatchEvent::Kind::appeared, item, std::chrono::microseconds(7)});
  EXPECT_EQ(event["event"], "drift");
  EXPECT_EQ(event["microseconds"], 7);
  event.erase("event");
  event.erase("microseconds");
  DriftReport report;
  report.items = {item};
  EXPECT_EQ(event, to_json(report)["items"][0]);
  EXPECT_EQ(event["state"], "notApplied");
  EXPECT_EQ(event["reason"], "is not there");
  EXPECT_EQ(event["byHand"], true);
}

TEST(WatchEvents, OfADeviceSayItsReason) {
  DriftEntry item;
  item.device = "gpu1";
  item.reason = "connection refused";
  const nlohmann::json event = to_json(WatchEvent{WatchEvent::Kind::unreadable, item, {}});
  EXPECT_EQ(event, (nlohmann::json{{"event", "unreadable"},
                                   {"device", "gpu1"},
                                   {"reason", "connection refused"},
                                   {"microseconds", 0}}));
}

// An eventfd that a test signals in place of netlink.
class TestWatcher final : public Watcher {
 public:
  explicit TestWatcher(int descriptor) : descriptor_(descriptor) {}
  int descriptor() const override { return descriptor_; }
  Result<bool> drain() override {
    eventfd_t count = 0;
    return eventfd_read(descriptor_, &count) == 0;
  }

 private:
  int descriptor_;
};

TEST(Watch, ReportsWhatComesAndGoesAndReadsOnlyTheDeviceThatChanged) {
  Cluster cluster;
  auto& gpu1 = cluster.add("gpu1");
  auto& gpu2 = cluster.add("gpu2");
  const Path mtu = leaf("interface[rail0]/mtu");
  std::vector<int> events;
  for (const auto* name : {"gpu1", "gpu2"}) {
    cluster.want(name, mtu.text(), number(9000));
    cluster.devices[name]->set(mtu, number(9000));
  }
  for (std::size_t i = 0; i < 2; ++i) {
    events.push_back(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    cluster.attached(i).watch = [descriptor = events[i]]() -> Result<std::unique_ptr<Watcher>> {
      return std::unique_ptr<Watcher>(std::make_unique<TestWatcher>(descriptor));
    };
  }
  int looks_at_gpu2 = 0;
  gpu2.seen = [&looks_at_gpu2](const SimulatedCall&) { ++looks_at_gpu2; };
  RealExecutor executor;
  std::stop_source stop;
  // The other operator: breaks it once the first look is over, mends it when that was reported.
  executor.at(executor.now() + milliseconds(100), [&] {
    gpu1.set(mtu, number(1500));
    eventfd_write(events[0], 1);
  });
  std::vector<WatchEvent> seen;
  const auto report = [&](const WatchEvent& event) {
    seen.push_back(event);
    if (event.kind == WatchEvent::Kind::cleared) return stop.request_stop(), void();
    gpu1.set(mtu, number(9000));
    eventfd_write(events[0], 1);
  };
  ASSERT_TRUE(
      watch(cluster.fleet(), executor, cluster.origins, cluster.sources, {}, report, stop.get_token()));
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].kind, WatchEvent::Kind::appeared);
  EXPECT_EQ(seen[0].item.device, "gpu1");
  EXPECT_EQ(seen[0].item.have, number(1500));
  EXPECT_EQ(seen[1].kind, WatchEvent::Kind::cleared);
  EXPECT_EQ(looks_at_gpu2, 1);
  for (const int descriptor : events) close(descriptor);
}

TEST(Watch, ConvergeHealsWhatAppears) {
  Cluster cluster;
  auto& gpu1 = cluster.add("gpu1");
  const Path mtu = leaf("interface[rail0]/mtu");
  cluster.want("gpu1", mtu.text(), number(9000));
  gpu1.set(mtu, number(1500));
  RealExecutor executor;
  std::stop_source stop;
  WatchSettings settings;
  settings.heal = [&](const std::vector<std::size_t>&) { gpu1.set(mtu, number(9000)); };
  std::vector<WatchEvent::Kind> kinds;
  const auto report = [&](const WatchEvent& event) {
    kinds.push_back(event.kind);
    if (event.kind == WatchEvent::Kind::cleared) stop.request_stop();
  };
  ASSERT_TRUE(
      watch(cluster.fleet(), executor, cluster.origins, cluster.sources, settings, report, stop.get_token()));
  EXPECT_EQ(kinds, (std::vector<WatchEvent::Kind>{WatchEvent::Kind::appeared, WatchEvent::Kind::cleared}));
}

// The first thing that a watch tells when another hand moves between two of its looks.
std::vector<WatchEvent> watched(Cluster& cluster, const std::function<void()>& other_hand) {
  RealExecutor executor;
  std::stop_source stop;
  WatchSettings settings;
  settings.poll_every = milliseconds(150);  // no look is under way when the other hand moves
  executor.at(executor.now() + milliseconds(75), other_hand);
  std::vector<WatchEvent> seen;
  const auto report = [&](const WatchEvent& event) {
    seen.push_back(event);
    stop.request_stop();
  };
  EXPECT_TRUE(
      watch(cluster.fleet(), executor, cluster.origins, cluster.sources, settings, report, stop.get_token()));
  return seen;
}

// What a driver has no events for is seen by the next read, though the device has a watch.
TEST(Watch, ReadsEveryDeviceNowAndThen) {
  Cluster cluster;
  auto& gpu1 = cluster.add("gpu1");
  const Path governor = leaf("cpu/governor");
  cluster.want("gpu1", governor.text(), Value::text("performance"));
  gpu1.set(governor, Value::text("performance"));
  const int silent = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  cluster.attached(0).watch = [silent]() -> Result<std::unique_ptr<Watcher>> {
    return std::unique_ptr<Watcher>(std::make_unique<TestWatcher>(silent));
  };
  const auto seen = watched(cluster, [&] { gpu1.set(governor, Value::text("powersave")); });
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].item.have, Value::text("powersave"));
  close(silent);
}

// A module was loaded, and the device booted: it can what it could not.
TEST(Watch, AsksAnewWhatADeviceCanDoAfterABoot) {
  Cluster cluster;
  auto& gpu1 = cluster.add("gpu1");
  gpu1.incapable.push_back({row("cpu/governor"), {}, "no cpufreq here"});
  cluster.want("gpu1", "cpu/governor", Value::text("performance"));
  const auto seen = watched(cluster, [&] {
    gpu1.incapable.clear();
    gpu1.reboot();
  });
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].item.path, leaf("cpu/governor"));
}

}  // namespace
}  // namespace lockstep
