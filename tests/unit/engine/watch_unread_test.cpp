// A watch of devices that can't be read, or that do not answer at all: when it reads them again, and that
// they delay no others. In virtual time.
#include "cluster.hpp"
#include "hanging_executor.hpp"
#include "reconciler/engine/watch.hpp"
#include "test_watcher.hpp"
#include "tests/passing_driver.hpp"

namespace lockstep {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class WatchUnread : public testing::Test {
 protected:
  WatchUnread() {
    for (const std::string name : {"gpu1", "gpu2", "gpu3"}) {
      auto& device = cluster.add(name);
      cluster.want(name, mtu.text(), number(9000));
      device.set(mtu, number(9000));
      device.seen = [this, name](const SimulatedCall&) {
        std::vector<Time>& all = reads[name];
        // What is tried again at once is one read.
        if (all.empty() || executor.now() > all.back() + seconds(1)) all.push_back(executor.now());
      };
      watchers[name] = std::make_shared<TestWatcher>(Woken{.all = false, .devices = {name}});
      watch_with(cluster.attached(watchers.size() - 1), watchers[name]);
    }
    settings.poll_every = minutes(10);
  }
  void at(milliseconds when, std::function<void()> what) { executor.at(Time{} + when, std::move(what)); }
  void breaks(const std::string& name) {
    cluster.devices.at(name)->set(mtu, number(1500));
    watchers.at(name)->signal();
  }
  void watch_for(milliseconds length) {
    std::stop_source stop;
    at(length, [&stop] { stop.request_stop(); });
    Watch watch(cluster.fleet(), executor, cluster.origins, cluster.sources, settings,
                [this](const WatchEvent& event) { events.emplace_back(executor.now(), event); });
    EXPECT_TRUE(pump(executor, watch, stop.get_token()));
  }
  std::optional<Time> reported(const std::string& name, WatchEvent::Kind kind) const {
    for (const auto& [when, event] : events)
      if (event.item.device == name && event.kind == kind) return when;
    return std::nullopt;
  }

  Cluster cluster;
  HangingExecutor executor{cluster.executor};
  WatchSettings settings;
  const Path mtu = entry("interface[rail0]/mtu");
  std::map<std::string, std::shared_ptr<TestWatcher>> watchers;
  std::map<std::string, std::vector<Time>> reads;
  std::vector<std::pair<Time, WatchEvent>> events;
};

TEST_F(WatchUnread, DeviceIsReadAgainWithBackOffUpToThePoll) {
  at(seconds(5), [this] {
    cluster.devices.at("gpu1")->unreachable = true;
    watchers.at("gpu1")->signal();
  });
  watch_for(minutes(60));
  const std::vector<Time>& all = reads.at("gpu1");
  ASSERT_GE(all.size(), 10U);
  milliseconds wait = settings.reread_min;
  for (std::size_t i = 2; i < 8; ++i, wait *= 2) {
    EXPECT_GE(all[i] - all[i - 1], wait) << i;
    EXPECT_LE(all[i] - all[i - 1], wait * 5 / 4 + seconds(1)) << i;
  }
  EXPECT_LE(all.size(), 1U + 10U + 2 * 6U) << "at last twice each poll at most";
  EXPECT_EQ(reads.at("gpu2").size(), 1U + 5U) << "one that can be read is left alone";
}

TEST_F(WatchUnread, BackOffBeginsAnewAfterACompleteRead) {
  const auto cut = [this](bool off) {
    cluster.devices.at("gpu1")->unreachable = off;
    watchers.at("gpu1")->signal();
  };
  at(seconds(5), [=] { cut(true); });
  at(minutes(3), [=] { cut(false); });
  at(minutes(4), [=] { cut(true); });
  watch_for(minutes(5));
  const std::vector<Time>& all = reads.at("gpu1");
  const auto anew = std::ranges::lower_bound(all, Time{} + minutes(4));
  ASSERT_LT(anew + 1, all.end());
  EXPECT_LE(*(anew + 1) - *anew, settings.reread_min * 5 / 4 + seconds(1));
}

TEST_F(WatchUnread, DeviceThatReturnsWithoutAnEventIsSeenBeforeThePoll) {
  at(seconds(5), [this] {
    cluster.devices.at("gpu1")->unreachable = true;
    watchers.at("gpu1")->signal();
  });
  at(minutes(1), [this] { cluster.devices.at("gpu1")->unreachable = false; });
  watch_for(minutes(5));
  ASSERT_TRUE(reported("gpu1", WatchEvent::Kind::unreadable));
  const auto back = reported("gpu1", WatchEvent::Kind::readable);
  ASSERT_TRUE(back);
  EXPECT_LE(*back, Time{} + minutes(2) + seconds(30));
}

TEST_F(WatchUnread, DevicesBehindOneFaultAreSpread) {
  for (const auto* name : {"gpu1", "gpu2", "gpu3"})
    at(seconds(5), [this, name] {
      cluster.devices.at(name)->unreachable = true;
      watchers.at(name)->signal();
    });
  watch_for(minutes(9));
  std::set<Time> last;
  for (const auto& [name, all] : reads) last.insert(all.back());
  EXPECT_EQ(last.size(), 3U);
}

TEST_F(WatchUnread, DeviceThatHangsDelaysNoOther) {
  settings.observe.timeout = seconds(10);
  executor.hang.insert("gpu1");
  cluster.devices.at("gpu3")->set(mtu, number(1500));
  at(seconds(5), [this] { breaks("gpu2"); });
  at(seconds(30), [this] {  // while silent ones are read
    cluster.devices.at("gpu3")->set(mtu, number(9000));
    watchers.at("gpu3")->signal();
  });
  at(seconds(31), [this] { watchers.at("gpu1")->signal(); });
  watch_for(minutes(2));
  const auto unreadable = reported("gpu1", WatchEvent::Kind::unreadable);
  ASSERT_TRUE(unreadable);
  EXPECT_GE(*unreadable, Time{} + seconds(20)) << "two tries";
  const auto first = reported("gpu3", WatchEvent::Kind::appeared);
  ASSERT_TRUE(first);
  EXPECT_LT(*first, Time{} + milliseconds(500)) << "the read of all is passed on in parts";
  const auto second = reported("gpu2", WatchEvent::Kind::appeared);
  ASSERT_TRUE(second);
  EXPECT_LT(*second, Time{} + milliseconds(5'500)) << "another read begins meanwhile";
  const auto third = reported("gpu3", WatchEvent::Kind::cleared);
  ASSERT_TRUE(third);
  EXPECT_LT(*third, Time{} + milliseconds(30'500));
}

TEST_F(WatchUnread, ReadsThatComeBeforeTheirTimeAreNotDatedAhead) {
  at(seconds(5), [this] {
    cluster.devices.at("gpu1")->unreachable = true;
    watchers.at("gpu1")->signal();
  });
  at(seconds(40), [this] {
    cluster.devices.at("gpu1")->unreachable = false;
    breaks("gpu1");
  });
  watch_for(minutes(1));
  EXPECT_TRUE(reported("gpu1", WatchEvent::Kind::appeared));
  for (const auto& [when, event] : events) EXPECT_GE(event.since_event.count(), 0);
}

TEST_F(WatchUnread, StopEndsReadsThatHang) {
  executor.hang = {"gpu1", "gpu2"};
  watch_for(seconds(3));
  EXPECT_LT(executor.now(), Time{} + seconds(4));
}

class WatchUnreadHeals : public WatchUnread {
 protected:
  WatchUnreadHeals() {
    settings.observe.timeout = seconds(10);
    settings.heal = [this](const std::vector<std::size_t>& devices,
                           const std::function<void(const Tried&)>& done) {
      std::set<std::string> names;
      for (const std::size_t device : devices) names.insert(cluster.fleet()[device].name);
      heals.emplace_back(executor.now(), names);
      if (declines) return done({});
      for (const std::string& name : names) cluster.devices.at(name)->set(mtu, number(9000));
      done(devices);
    };
  }
  bool declines = false;
  std::vector<std::pair<Time, std::set<std::string>>> heals;
};

// What must be alike at both ends of a cable is healed at both, so not while a read of one is under way.
TEST_F(WatchUnreadHeals, NeitherEndOfACableWhileOneIsRead) {
  cluster.cable("gpu1", "rail0", "gpu2", "rail0");
  declines = true;  // so that both differ until the end
  at(seconds(5), [this] { breaks("gpu1"); });
  at(seconds(6), [this] {
    executor.hang.insert("gpu1");  // it is known to differ
    watchers.at("gpu1")->signal();
  });
  at(seconds(8), [this] { breaks("gpu2"); });
  at(seconds(9), [this] { breaks("gpu3"); });
  at(seconds(70), [this] { executor.hang.clear(); });
  watch_for(minutes(3));
  std::set<std::string> meanwhile;
  for (const auto& [when, names] : heals)
    if (when > Time{} + milliseconds(6'500) && when < Time{} + seconds(26))
      meanwhile.insert(names.begin(), names.end());
  EXPECT_EQ(meanwhile, std::set<std::string>{"gpu3"}) << "both tries to read gpu1 take until then";
  EXPECT_TRUE(std::ranges::any_of(heals, [](const auto& one) {
    return one.first > Time{} + seconds(26) && one.first < Time{} + seconds(60) &&
           one.second.contains("gpu2");
  })) << "an end that does not answer is not waited for";
  EXPECT_TRUE(std::ranges::any_of(heals, [](const auto& one) {
    return one.first > Time{} + seconds(70) && one.second.contains("gpu1") && one.second.contains("gpu2");
  })) << "afterwards both are tried";
}

// A rule may depend on who does not answer: that is known only then.
TEST_F(WatchUnreadHeals, NothingBeforeAllWereReadOnce) {
  executor.hang.insert("gpu1");
  cluster.devices.at("gpu2")->set(mtu, number(1500));
  watch_for(seconds(40));
  ASSERT_EQ(heals.size(), 1U);
  const auto unreadable = reported("gpu1", WatchEvent::Kind::unreadable);
  ASSERT_TRUE(unreadable);
  EXPECT_GE(heals[0].first, *unreadable);
}

// Or a circuit breaker would see a few at a time.
TEST_F(WatchUnreadHeals, WhatOneReadFindsTogetherAfterIt) {
  at(minutes(1), [this] {
    executor.hang.insert("gpu3");
    for (const auto* name : {"gpu1", "gpu2"}) cluster.devices.at(name)->set(mtu, number(1500));
  });
  watch_for(minutes(11));
  const auto first = reported("gpu1", WatchEvent::Kind::appeared);
  ASSERT_TRUE(first);
  EXPECT_LT(*first, Time{} + minutes(10) + seconds(1));
  ASSERT_FALSE(heals.empty());
  EXPECT_EQ(heals[0].second, (std::set<std::string>{"gpu1", "gpu2"}));
  EXPECT_GE(heals[0].first, Time{} + minutes(10) + seconds(20)) << "gpu3 may differ as well";
}

// One row can never be read.
class WithoutGovernor final : public PassingDriver {
 public:
  using PassingDriver::PassingDriver;
  Result<Observation> observe(const Scope& scope, std::string_view if_not, const Call& call) override {
    Result<Observation> seen = PassingDriver::observe(scope, if_not, call);
    if (seen) seen->unread.push_back({entry("cpu/governor").row(), {}, {ErrorKind::denied, "no permission"}});
    return seen;
  }
};

TEST_F(WatchUnreadHeals, AnIncompleteDeviceAgainSoonAfterItWasDeclined) {
  declines = true;
  cluster.want("gpu1", "cpu/governor", Value::text("performance"));
  std::unique_ptr<Driver>& driver = cluster.attached(0).driver;
  driver = std::make_unique<WithoutGovernor>(std::shared_ptr<Driver>(std::move(driver)));
  at(minutes(5), [this] { breaks("gpu1"); });
  watch_for(minutes(6));
  EXPECT_TRUE(reported("gpu1", WatchEvent::Kind::unreadable));
  ASSERT_GE(heals.size(), 3U);
  EXPECT_LE(heals[1].first - heals[0].first, settings.retry_healing + seconds(2));
}

}  // namespace
}  // namespace lockstep
