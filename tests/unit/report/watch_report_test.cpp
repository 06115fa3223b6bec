#include "reconciler/report/watch_report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reconciler/report/drift_report.hpp"

namespace lockstep {
namespace {

TEST(WatchEvents, JsonMatchesThatOfDrift) {
  DriftEntry item;
  item.device = "gpu1";
  item.path = *Path::parse("interface[rail0]/mtu");
  item.want = Value::integer(9000);
  item.have = Value::integer(1500);
  item.state = DriftState::not_applied;
  item.reason = "is not there";
  item.by_hand = true;
  item.origin.file = "fabric.yaml";
  nlohmann::json event = nlohmann::json::parse(watch_event_json(
      WatchEvent{WatchEvent::Kind::appeared, item, std::chrono::microseconds(7)}, WallTime{}));
  EXPECT_EQ(event["event"], "drift");
  EXPECT_EQ(event["microseconds"], 7);
  event.erase("event");
  event["problem"] = 0;  // an event by itself is not of a list of problems
  event.erase("microseconds");
  event.erase("time");
  DriftReport report;
  report.items = {item};
  EXPECT_EQ(event, drift_json(report)["items"][0]);
  EXPECT_EQ(event["state"], "notApplied");
  EXPECT_EQ(event["reason"], "is not there");
  EXPECT_EQ(event["manual"], true);
}

TEST(WatchEvents, FindingIsMarkedAsNotDrift) {
  DriftEntry item;
  item.device = "gpu1";
  item.path = *Path::parse("diverted[10.64.0.0/16]/filters");
  item.want = Value::set({});
  item.have = Value::set({"XDP on rail0 (native)"});
  item.state = DriftState::finding;
  const WatchEvent event{WatchEvent::Kind::appeared, item, {}};
  EXPECT_EQ(watch_event_text(event, Terminal{}).substr(0, 18), "finding       gpu1");
  EXPECT_EQ(nlohmann::json::parse(watch_event_json(event, WallTime{}))["event"], "finding");
  EXPECT_EQ(watch_event_text({WatchEvent::Kind::cleared, item, {}}, Terminal{}).substr(0, 18),
            "cleared       gpu1");
}

TEST(WatchEvents, DeviceInMaintenanceIsMarked) {
  DriftEntry item;
  item.device = "gpu1";
  item.reason = "connection refused";
  item.maintenance = "until 2026-12-01: optics";
  const WatchEvent event{WatchEvent::Kind::unreadable, item, {}};
  EXPECT_EQ(watch_event_text(event, Terminal{}),
            "not observed  gpu1: connection refused  (in maintenance until 2026-12-01: optics)\n");
  EXPECT_NE(watch_event_json(event, WallTime{}).find("\"maintenance\":\"until 2026-12-01: optics\""),
            std::string::npos);
}

TEST(WatchEvents, DeviceEventHasItsReason) {
  DriftEntry item;
  item.device = "gpu1";
  item.reason = "connection refused";
  EXPECT_EQ(
      watch_event_json(WatchEvent{WatchEvent::Kind::unreadable, item, {}}, WallTime{}),
      R"({"device":"gpu1","event":"unreadable","microseconds":0,"reason":"connection refused","time":"1970-01-01T00:00:00Z"})"
      "\n");
}

TEST(WatchEvents, StartWithTheTimeOfDay) {
  ::setenv("TZ", "UTC-2", 1);
  ::tzset();
  EXPECT_EQ(clock_text(WallTime{} + std::chrono::seconds(45'296), Terminal{}), "14:34:56  ");
  ::unsetenv("TZ");
  ::tzset();
}

TEST(WatchEvents, CountHowOftenAnItemCameBack) {
  DriftEntry item;
  item.device = "gpu1";
  item.path = *Path::parse("interface[rail0]/mtu");
  const WatchEvent event{WatchEvent::Kind::flapping, item, {}, 5};
  EXPECT_NE(watch_event_text(event, Terminal{}).find("(came back 5 times after it was repaired)"),
            std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(watch_event_json(event, WallTime{}))["returns"], 5);
}

TEST(WatchEvents, ListDevicesThatAWatchDoesNotHeal) {
  EXPECT_TRUE(
      stands_back_text({"gpu1", "gpu2"}).starts_with("not repaired  gpu[1-2]: other specs than these"));
  const auto document = nlohmann::json::parse(stands_back_json({"gpu1", "gpu2"}));
  EXPECT_EQ(document["event"], "standsBack");
  EXPECT_EQ(document["devices"], (nlohmann::json{"gpu1", "gpu2"}));
}

}  // namespace
}  // namespace lockstep
