// What a watch heals and when, and that it keeps observing meanwhile. In virtual time.
#include <fmt/format.h>

#include "cluster.hpp"
#include "reconciler/engine/watch.hpp"
#include "test_watcher.hpp"

namespace lockstep {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// Hosts with a desired MTU and governor. A healing writes what the test allows.
class WatchHealing : public testing::Test {
 protected:
  WatchHealing() {
    for (const std::string name : {"gpu1", "gpu2"}) {
      auto& device = cluster.add(name);
      for (const auto& [path, value] : wanted()) {
        cluster.want(name, path.text(), value);
        device.set(path, value);
      }
      device.seen = [this, name](const SimulatedCall&) { ++observations[name]; };
      watchers[name] = std::make_shared<TestWatcher>(Woken{.all = false, .devices = {name}});
      watch_with(cluster.attached(watchers.size() - 1), watchers[name]);
    }
    settings.heal = [this](const std::vector<std::size_t>& devices,
                           std::function<void(const Tried&)> healed) {
      for (const std::size_t device : devices) {
        const std::string name = cluster.fleet()[device].name;
        heals[name].push_back(cluster.executor.now());
        for (const auto& [path, value] : wanted())
          if (path != cannot_be_healed) cluster.devices.at(name)->set(path, value);
      }
      cluster.executor.at(cluster.executor.now() + healing_takes, [healed, devices] { healed(devices); });
    };
  }
  static std::map<Path, Value> wanted() {
    return {{entry("interface[rail0]/mtu"), number(9000)},
            {entry("cpu/governor"), Value::text("performance")}};
  }
  void breaks(const std::string& name, Path path) {
    cluster.devices.at(name)->set(path, path == mtu ? number(1500) : Value::text("powersave"));
    watchers.at(name)->signal();
  }
  void at(milliseconds when, std::function<void()> what) {
    cluster.executor.at(Time{} + when, std::move(what));
  }
  void watch_for(milliseconds length) {
    std::stop_source stop;
    at(length, [&stop] { stop.request_stop(); });
    Watch watch(cluster.fleet(), cluster.executor, cluster.origins, cluster.sources, settings,
                [this](const WatchEvent& event) {
                  events.push_back({cluster.executor.now(), event});
                });
    watching = &watch;
    EXPECT_TRUE(pump(cluster.executor, watch, stop.get_token()));
  }
  // When an item of a device was first reported as `kind`, after `from`. None: never.
  std::optional<Time> reported(const std::string& name, WatchEvent::Kind kind, milliseconds from = {}) const {
    for (const auto& [when, event] : events)
      if (when >= Time{} + from && event.item.device == name && event.kind == kind) return when;
    return std::nullopt;
  }

  Cluster cluster;
  WatchSettings settings;
  const Path mtu = entry("interface[rail0]/mtu");
  const Path governor = entry("cpu/governor");
  Path cannot_be_healed;
  milliseconds healing_takes{10};
  std::map<std::string, std::shared_ptr<TestWatcher>> watchers;
  std::map<std::string, int> observations;
  std::map<std::string, std::vector<Time>> heals;
  std::vector<std::pair<Time, WatchEvent>> events;
  Watch* watching = nullptr;
};

TEST_F(WatchHealing, FailingEntryDoesNotDelayOthersOfItsDevice) {
  cannot_be_healed = governor;
  at(seconds(1), [this] { breaks("gpu1", governor); });
  at(minutes(10), [this] { breaks("gpu1", mtu); });
  watch_for(minutes(11));
  const auto cleared = reported("gpu1", WatchEvent::Kind::cleared);
  ASSERT_TRUE(cleared);
  EXPECT_LT(*cleared, Time{} + minutes(10) + seconds(1)) << "the governor's wait is minutes by then";
}

TEST_F(WatchHealing, FailingEntryIsRetriedWithBackOff) {
  cannot_be_healed = governor;
  at(seconds(1), [this] { breaks("gpu1", governor); });
  watch_for(minutes(60));
  // The first 10 tries take 1 + 2 + ... + 256 s. After that there is one every 300 s.
  EXPECT_GE(heals["gpu1"].size(), 18U);
  EXPECT_LE(heals["gpu1"].size(), 21U);
  for (std::size_t i = 1; i < heals["gpu1"].size(); ++i)
    EXPECT_GE(heals["gpu1"][i] - heals["gpu1"][i - 1],
              std::min<Time::duration>(seconds(300), seconds(1 << (i - 1))));
}

class WatchFights : public WatchHealing, public testing::WithParamInterface<seconds> {};

TEST_P(WatchFights, AreDampedAtAnyPeriodAndReportedWithTheirCount) {
  const seconds period = GetParam();
  const milliseconds length = 15 * (period + seconds(300));
  for (milliseconds when = seconds(1); when < length; when += period)
    at(when, [this] { breaks("gpu1", mtu); });
  watch_for(length);
  const std::vector<Time>& healed = heals["gpu1"];
  EXPECT_GE(healed.size(), 14U) << "it is not given up";
  // From the tenth on, a wait of 300 s follows the time since the last healing, up to a period.
  for (std::size_t i = 1; i < healed.size(); ++i)
    EXPECT_GE(healed[i] - healed[i - 1], seconds(std::min(300, 1 << std::min<std::size_t>(i - 1, 20)))) << i;
  std::vector<int> returns;
  for (const auto& [when, event] : events)
    if (event.kind == WatchEvent::Kind::flapping && event.returns > 0) {
      returns.push_back(event.returns);
      EXPECT_TRUE(event.item.flapping);
    }
  ASSERT_GE(returns.size(), 3U);
  EXPECT_TRUE(std::ranges::is_sorted(returns, std::less_equal{})) << "each is told once";
  EXPECT_GT(returns.back(), 5);
}
INSTANTIATE_TEST_SUITE_P(Periods, WatchFights,
                         testing::Values(seconds(1), seconds(11), seconds(61), minutes(10)));

// Entries that must match at both ends would be held at each end if each was healed without the other.
TEST_F(WatchHealing, HealsBothEndsOfACableTogether) {
  cluster.cable("gpu1", "rail0", "gpu2", "rail0");
  cannot_be_healed = mtu;
  at(seconds(1), [this] { breaks("gpu1", mtu); });
  at(seconds(100), [this] { breaks("gpu2", governor); });
  watch_for(minutes(3));
  ASSERT_FALSE(heals["gpu2"].empty());
  EXPECT_TRUE(std::ranges::count(heals["gpu1"], heals["gpu2"].front())) << "its own turn is at another time";
}

TEST_F(WatchHealing, ObservesAndReportsOtherDevicesDuringAHealing) {
  healing_takes = minutes(2);
  at(seconds(1), [this] { breaks("gpu1", mtu); });
  at(seconds(10), [this] { breaks("gpu2", mtu); });
  watch_for(minutes(5));
  const auto drift = reported("gpu2", WatchEvent::Kind::appeared);
  ASSERT_TRUE(drift);
  EXPECT_LT(*drift, Time{} + seconds(11)) << "gpu1 was being healed";
  ASSERT_EQ(heals["gpu2"].size(), 1U);
  EXPECT_GE(heals["gpu2"][0], Time{} + minutes(2)) << "one healing at a time";
  EXPECT_TRUE(reported("gpu2", WatchEvent::Kind::cleared));
}

TEST_F(WatchHealing, DeviceIsReadAfterItsHealingAndNotDuringIt) {
  healing_takes = minutes(2);
  at(seconds(1), [this] { breaks("gpu1", mtu); });
  int read_before = 0;
  at(seconds(10), [&] {
    read_before = observations["gpu1"];
    ASSERT_TRUE(watching->is_healing());
    breaks("gpu1", governor);  // as a half-done healing would look
  });
  at(seconds(119), [&] { EXPECT_EQ(observations["gpu1"], read_before); });
  watch_for(minutes(4));
  const auto drift = reported("gpu1", WatchEvent::Kind::appeared, seconds(10));
  ASSERT_TRUE(drift);
  EXPECT_GE(*drift, Time{} + seconds(121));
  EXPECT_LT(*drift, Time{} + seconds(122)) << "its event was kept";
  EXPECT_EQ(heals["gpu1"].size(), 2U);
}

TEST_F(WatchHealing, SkippedAttemptDoesNotCountAndIsRetriedUpToOncePerPoll) {
  std::vector<Time> tries;
  settings.heal = [&](const std::vector<std::size_t>&, std::function<void(const Tried&)> healed) {
    tries.push_back(cluster.executor.now());
    healed({});
  };
  at(seconds(1), [this] { breaks("gpu1", mtu); });
  at(minutes(60), [this] {
    cluster.devices.at("gpu1")->set(mtu, number(9000));
    watchers.at("gpu1")->signal();
  });
  at(minutes(61), [this] { breaks("gpu1", mtu); });
  int read_in_an_hour = 0;
  at(minutes(60), [&] { read_in_an_hour = observations["gpu1"]; });
  watch_for(minutes(62));
  ASSERT_GE(tries.size(), 120U);
  for (const auto& [i, wait] : std::map<std::size_t, seconds>{
           {1, seconds(5)}, {2, seconds(10)}, {3, seconds(20)}, {100, seconds(30)}}) {
    EXPECT_GE(tries[i] - tries[i - 1], wait) << i;
    EXPECT_LE(tries[i] - tries[i - 1], wait + seconds(1)) << i;
  }
  EXPECT_LE(read_in_an_hour, 3 * 120 + 10);
  const auto anew = std::ranges::lower_bound(tries, Time{} + minutes(61));
  ASSERT_LT(anew + 1, tries.end());
  EXPECT_LE(*(anew + 1) - *anew, seconds(6)) << "it had gone meanwhile";
}

TEST_F(WatchHealing, EndsOnlyAfterTheHealingUnderWay) {
  healing_takes = seconds(30);
  at(seconds(1), [this] { breaks("gpu1", mtu); });
  watch_for(seconds(2));
  EXPECT_GE(cluster.executor.now(), Time{} + seconds(31));
}

class WatchStorm : public WatchHealing {
 protected:
  WatchStorm() { settings.heal = nullptr; }
};

TEST_F(WatchStorm, DeviceIsReadAtOnceThenRateLimitedAndOnceAfterTheEnd) {
  at(seconds(5), [this] { EXPECT_EQ(observations["gpu1"], 1); });
  for (milliseconds when = seconds(5); when <= seconds(15); when += milliseconds(1))
    at(when, [this] { watchers.at("gpu1")->signal(); });
  at(seconds(5) + milliseconds(400),
     [this] { EXPECT_EQ(observations["gpu1"], 2) << "the first is read at once"; });
  at(milliseconds(15'001), [this] { breaks("gpu1", mtu); });
  watch_for(seconds(20));
  EXPECT_GE(observations["gpu1"], 15) << "it is not put off for ever";
  EXPECT_LE(observations["gpu1"], 1 + 10 * 2 + 2);
  EXPECT_EQ(observations["gpu2"], 1) << "it was not in the storm";
  EXPECT_TRUE(reported("gpu1", WatchEvent::Kind::appeared)) << "the last event was followed by a read";
}

TEST_F(WatchStorm, UnspecificEventsAreRateLimited) {
  auto overrun = std::make_shared<TestWatcher>(Woken{.all = true, .devices = {}});
  for (const std::size_t device : {0, 1}) watch_with(cluster.attached(device), overrun);
  for (milliseconds when = seconds(5); when <= seconds(15); when += milliseconds(1))
    at(when, [overrun] { overrun->signal(); });
  watch_for(seconds(20));
  for (const auto& [name, count] : observations) EXPECT_LE(count, 1 + 10 * 2 + 2) << name;
}

// A watcher that failed when its device disappeared, and what it reads when the device returns.
class WatchReopens : public WatchHealing {
 protected:
  WatchReopens() {
    settings.heal = nullptr;
    cluster.attached(0).watch = [this]() -> Result<std::shared_ptr<Watcher>> {
      ++opened;
      if (gone) return Error{ErrorKind::transient, "no such namespace"};
      watchers["gpu1"] = std::make_shared<TestWatcher>(Woken{.all = false, .devices = {"gpu1"}});
      watchers["gpu1"]->breaks = breaks_at_once;
      return std::shared_ptr<Watcher>(watchers["gpu1"]);
    };
  }
  void break_watcher() {
    watchers.at("gpu1")->breaks = true;
    watchers.at("gpu1")->signal();
  }
  bool gone = false;
  bool breaks_at_once = false;
  int opened = 0;
};

TEST_F(WatchReopens, AfterAFailureAndReadsItsDevicesAtOnce) {
  at(seconds(5), [this] {
    gone = true;
    break_watcher();
  });
  at(seconds(10), [this] {
    cluster.devices.at("gpu1")->set(mtu, number(1500));  // no watcher is open to report it
    gone = false;
  });
  at(seconds(12), [this] {
    cluster.devices.at("gpu1")->set(mtu, number(9000));
    watchers.at("gpu1")->signal();
  });
  watch_for(seconds(15));
  const auto drift = reported("gpu1", WatchEvent::Kind::appeared);
  ASSERT_TRUE(drift);
  EXPECT_LT(*drift, Time{} + milliseconds(11'500)) << "within the longest wait";
  const auto cleared = reported("gpu1", WatchEvent::Kind::cleared);
  ASSERT_TRUE(cleared) << "its events count again";
  EXPECT_LT(*cleared, Time{} + milliseconds(13'000));
  EXPECT_LE(opened, 1 + 12) << "5 s, at most one a second after the first";
}

TEST_F(WatchReopens, DeviceUnavailableAtTheStart) {
  gone = true;
  at(seconds(5), [this] { gone = false; });
  at(seconds(8), [this] { breaks("gpu1", mtu); });
  watch_for(seconds(10));
  const auto drift = reported("gpu1", WatchEvent::Kind::appeared);
  ASSERT_TRUE(drift) << "nobody polls before 30 s";
  EXPECT_LT(*drift, Time{} + seconds(9));
}

TEST_F(WatchReopens, AllDevicesUnavailableAtTheStart) {
  gone = true;
  cluster.attached(1).watch = cluster.attached(0).watch;
  at(seconds(5), [this] { gone = false; });
  at(seconds(8), [this] { breaks("gpu1", mtu); });
  watch_for(seconds(10));
  EXPECT_TRUE(reported("gpu1", WatchEvent::Kind::appeared));
}

TEST_F(WatchReopens, NothingWhenAllAreDenied) {
  for (const std::size_t device : {0, 1})
    cluster.attached(device).watch = []() -> Result<std::shared_ptr<Watcher>> {
      return Error{ErrorKind::denied, "may not enter it"};
    };
  Watch watch(cluster.fleet(), cluster.executor, cluster.origins, cluster.sources, settings,
              [](const WatchEvent&) {});
  const Result<Done> ended = pump(cluster.executor, watch);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().kind, ErrorKind::denied);
}

TEST_F(WatchReopens, WithBackOffWhenItFailsRepeatedly) {
  breaks_at_once = true;
  at(seconds(5), [this] { break_watcher(); });
  for (milliseconds when = seconds(5); when < seconds(25); when += milliseconds(10))
    at(when, [this] { watchers.at("gpu1")->signal(); });
  watch_for(seconds(25));
  EXPECT_LE(opened, 1 + 20 + 5);
  EXPECT_LE(observations["gpu1"], 2 * opened);
}

}  // namespace
}  // namespace lockstep
