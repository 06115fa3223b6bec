#include "reconciler/report/watch_report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reconciler/report/drift_report.hpp"

namespace lockstep {
namespace {

TEST(WatchEvents, AreInJsonWhatDriftSaysOfTheEntry) {
  DriftEntry item;
  item.device = "gpu1";
  item.path = *Path::parse("interface[rail0]/mtu");
  item.want = Value::integer(9000);
  item.have = Value::integer(1500);
  item.state = DriftState::not_applied;
  item.reason = "is not there";
  item.by_hand = true;
  item.origin.file = "fabric.yaml";
  nlohmann::json event = nlohmann::json::parse(
      watch_event_json(WatchEvent{WatchEvent::Kind::appeared, item, std::chrono::microseconds(7)}));
  EXPECT_EQ(event["event"], "drift");
  EXPECT_EQ(event["microseconds"], 7);
  event.erase("event");
  event.erase("microseconds");
  DriftReport report;
  report.items = {item};
  EXPECT_EQ(event, drift_json(report)["items"][0]);
  EXPECT_EQ(event["state"], "notApplied");
  EXPECT_EQ(event["reason"], "is not there");
  EXPECT_EQ(event["byHand"], true);
}

TEST(WatchEvents, OfAFindingSayThatItIsNoDrift) {
  DriftEntry item;
  item.device = "gpu1";
  item.path = *Path::parse("diverted[10.64.0.0/16]/filters");
  item.want = Value::set({});
  item.have = Value::set({"XDP on rail0 (native)"});
  item.state = DriftState::finding;
  const WatchEvent event{WatchEvent::Kind::appeared, item, {}};
  EXPECT_EQ(watch_event_text(event, Terminal{}).substr(0, 16), "finding     gpu1");
  EXPECT_EQ(nlohmann::json::parse(watch_event_json(event))["event"], "finding");
  EXPECT_EQ(watch_event_text({WatchEvent::Kind::cleared, item, {}}, Terminal{}).substr(0, 16),
            "cleared     gpu1");
}

TEST(WatchEvents, OfADeviceInMaintenanceSaySo) {
  DriftEntry item;
  item.device = "gpu1";
  item.reason = "connection refused";
  item.maintenance = "until 2026-12-01: optics";
  const WatchEvent event{WatchEvent::Kind::unreadable, item, {}};
  EXPECT_EQ(watch_event_text(event, Terminal{}),
            "unreadable  gpu1: connection refused  (in maintenance until 2026-12-01: optics)\n");
  EXPECT_NE(watch_event_json(event).find("\"maintenance\":\"until 2026-12-01: optics\""), std::string::npos);
}

TEST(WatchEvents, OfADeviceSayItsReason) {
  DriftEntry item;
  item.device = "gpu1";
  item.reason = "connection refused";
  EXPECT_EQ(watch_event_json(WatchEvent{WatchEvent::Kind::unreadable, item, {}}),
            R"({"device":"gpu1","event":"unreadable","microseconds":0,"reason":"connection refused"})"
            "\n");
}

TEST(WatchEvents, SayHowOftenAnItemCameBack) {
  DriftEntry item;
  item.device = "gpu1";
  item.path = *Path::parse("interface[rail0]/mtu");
  const WatchEvent event{WatchEvent::Kind::flapping, item, {}, 5};
  EXPECT_NE(watch_event_text(event, Terminal{}).find("(came back 5 times after it was healed)"),
            std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(watch_event_json(event))["returns"], 5);
}

TEST(WatchEvents, SayFromWhichDevicesAWatchStandsBack) {
  EXPECT_TRUE(stands_back_text({"gpu1", "gpu2"}).starts_with("not healed  gpu[1-2]: other specs than these"));
  const auto document = nlohmann::json::parse(stands_back_json({"gpu1", "gpu2"}));
  EXPECT_EQ(document["event"], "standsBack");
  EXPECT_EQ(document["devices"], (nlohmann::json{"gpu1", "gpu2"}));
}

}  // namespace
}  // namespace lockstep
