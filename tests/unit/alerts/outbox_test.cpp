// What a receiver is sent and when, in a time of the test's own.
#include "reconciler/alerts/outbox.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/unit/api/sample_status.hpp"

namespace lockstep {
namespace {

using api::at_second;
using Json = nlohmann::json;

Alert drift_of(const std::string& device, int second = 0) {
  return {AlertKind::drift, "pod1", "Device/" + device, "", "2 entries differ", at_second(second)};
}

class OutboxTest : public testing::Test {
 protected:
  explicit OutboxTest(std::unique_ptr<Outbox> outbox) : outbox_(std::move(outbox)) {}

  void change(bool opens, const Alert& alert) {
    if (opens)
      book_.open.insert_or_assign(alert.cause(), alert);
    else
      book_.open.erase(alert.cause());
    outbox_->update(book_, {{opens, alert, at_second(second_)}});
  }
  Time clock() const { return Time{} + std::chrono::hours(1) + std::chrono::seconds(second_); }
  std::optional<OutMessage> next() { return outbox_->next(at_second(second_), clock()); }
  void done(Delivery outcome, std::optional<std::chrono::seconds> asked = {}) {
    outbox_->done(outcome, asked, clock());
  }
  // Seconds until the next message, without another change.
  int wait_for_next() {
    for (int i = 0; i < 5000; ++i, ++second_)
      if (outbox_->look_at(clock()) <= clock() && (message_ = next())) return i;
    return -1;
  }
  static std::string id_of(int device) { return "gpu" + std::to_string(device); }

  std::unique_ptr<Outbox> outbox_;
  AlertBook book_;
  int second_ = 0;
  std::optional<OutMessage> message_;
};

class Alertmanagers : public OutboxTest {
 protected:
  Alertmanagers() : OutboxTest(alertmanager_outbox()) {}
  // endsAt by device.
  std::map<std::string, std::string> sent() const {
    std::map<std::string, std::string> out;
    for (const Json& one : Json::parse(message_->body)) out[one["labels"]["device"]] = one["endsAt"];
    return out;
  }
};

TEST_F(Alertmanagers, AreToldAgainBeforeAnAlertExpires) {
  EXPECT_FALSE(next());
  change(true, drift_of("gpu1"));
  ASSERT_EQ(wait_for_next(), 0);
  const Json alert = Json::parse(message_->body)[0];
  EXPECT_EQ(alert["labels"], Json::parse(R"({"alertname": "LockstepDeviceDrifted", "cluster": "pod1",
                                             "device": "gpu1", "severity": "warning"})"));
  EXPECT_EQ(alert["startsAt"], "2026-11-18T11:06:40Z");
  EXPECT_EQ(alert["endsAt"], "2026-11-18T11:10:40Z") << "four minutes later";
  EXPECT_NE(alert["annotations"]["runbook_url"].get<std::string>().find("alerts.md#lockstepdevicedrifted"),
            std::string::npos);
  done(Delivery::delivered);
  for (int minute = 1; minute < 5; ++minute) {
    EXPECT_EQ(wait_for_next(), 60);
    EXPECT_EQ(sent().size(), 1U);
    done(Delivery::delivered);
  }
  EXPECT_EQ(sent().at("gpu1"), "2026-11-18T11:14:40Z");
}

TEST_F(Alertmanagers, AreToldOfAnEndUntilTheyTakeIt) {
  change(true, drift_of("gpu1"));
  wait_for_next();
  done(Delivery::delivered);
  second_ = 10;
  change(false, drift_of("gpu1"));
  int waited = 0;
  for (int i = 0; i < 4; ++i) {
    waited += wait_for_next();
    EXPECT_EQ(sent().at("gpu1"), "2026-11-18T11:06:50Z") << "when it ended, however late it is told";
    done(Delivery::failed);
  }
  EXPECT_EQ(waited, 0 + 1 + 2 + 4) << "less and less often";
  EXPECT_EQ(wait_for_next(), 8);
  done(Delivery::delivered);
  EXPECT_EQ(wait_for_next(), -1) << "nothing is open";
}

TEST_F(Alertmanagers, AreToldWhatChangedWhileAMessageWasUnderWay) {
  change(true, drift_of("gpu1"));
  wait_for_next();
  change(false, drift_of("gpu1"));
  done(Delivery::delivered);
  EXPECT_EQ(wait_for_next(), 1);
  EXPECT_EQ(sent().at("gpu1"), "2026-11-18T11:06:40Z");
  change(true, drift_of("gpu1", 1));
  done(Delivery::delivered);
  EXPECT_EQ(wait_for_next(), 1);
  EXPECT_EQ(sent().at("gpu1"), "2026-11-18T11:10:42Z") << "open again";
}

TEST_F(Alertmanagers, GetAnEndThatIsNotBeforeTheStart) {
  change(true, drift_of("gpu1", 500));
  change(false, drift_of("gpu1", 500));  // the clock was set back meanwhile
  wait_for_next();
  EXPECT_EQ(sent().at("gpu1"), "2026-11-18T11:15:00Z");
}

TEST_F(Alertmanagers, GetThousandsInBatches) {
  for (int i = 0; i < 450; ++i) change(true, drift_of(id_of(i)));
  std::set<std::string> all;
  for (const std::size_t size : {200U, 200U, 50U}) {
    ASSERT_LE(wait_for_next(), 1);
    EXPECT_EQ(sent().size(), size);
    for (const auto& [device, ends] : sent()) all.insert(device);
    done(Delivery::delivered);
  }
  EXPECT_EQ(all.size(), 450U);
  EXPECT_GT(wait_for_next(), 50);
}

TEST_F(Alertmanagers, ThatAskForATimeGetIt) {
  change(true, drift_of("gpu1"));
  wait_for_next();
  done(Delivery::failed, std::chrono::seconds(120));
  EXPECT_EQ(wait_for_next(), 120);
  done(Delivery::failed, std::chrono::seconds(1'000'000));
  EXPECT_EQ(wait_for_next(), 3600) << "within reason";
  done(Delivery::failed, std::chrono::seconds(-7));
  EXPECT_EQ(wait_for_next(), 4);
}

TEST_F(Alertmanagers, AreTriedAtLeastEveryFiveMinutes) {
  change(true, drift_of("gpu1"));
  int longest = 0;
  for (int i = 0; i < 20; ++i) {
    longest = std::max(longest, wait_for_next());
    done(Delivery::failed);
  }
  EXPECT_EQ(longest, 300);
  EXPECT_EQ(wait_for_next(), 300);
  done(Delivery::delivered);
  change(true, drift_of("gpu2"));
  EXPECT_EQ(wait_for_next(), 1) << "all is well again";
}

class Webhooks : public OutboxTest {
 protected:
  Webhooks() : OutboxTest(webhook_outbox()) {}
  Json data() const { return Json::parse(message_->body)["data"]; }
  std::vector<std::string> events() const {
    std::vector<std::string> out;
    const Json all = data();
    for (const Json& one : all["events"])
      out.push_back(one["event"].get<std::string>() + " " + one["object"].get<std::string>());
    return out;
  }
};
using Events = std::vector<std::string>;

TEST_F(Webhooks, AreToldEachEventOnceInItsOrder) {
  change(true, drift_of("gpu1"));
  ASSERT_EQ(wait_for_next(), 0);
  EXPECT_EQ(events(), Events{"opened Device/gpu1"});
  done(Delivery::delivered);
  EXPECT_EQ(wait_for_next(), -1) << "nothing is repeated";
  change(false, drift_of("gpu1"));
  change(true, drift_of("gpu1", 5));
  change(true, drift_of("gpu2"));
  ASSERT_EQ(wait_for_next(), 0);
  EXPECT_EQ(events(), (Events{"closed Device/gpu1", "opened Device/gpu1", "opened Device/gpu2"}));
  std::set<std::string> ids;
  const Json all = data();
  for (const Json& one : all["events"]) ids.insert(one["id"]);
  EXPECT_EQ(ids.size(), 3U);
}

TEST_F(Webhooks, GetTheSameMessageUntilTheyTakeIt) {
  change(true, drift_of("gpu1"));
  wait_for_next();
  const OutMessage first = *message_;
  for (const int wait : {1, 2, 4}) {
    done(Delivery::failed);
    change(true, drift_of("later" + std::to_string(wait)));
    EXPECT_EQ(wait_for_next(), wait);
    EXPECT_EQ(message_->id, first.id);
    EXPECT_EQ(message_->body, first.body);
  }
  done(Delivery::delivered);
  wait_for_next();
  EXPECT_EQ(events(), (Events{"opened Device/later1", "opened Device/later2", "opened Device/later4"}));
  EXPECT_NE(message_->id, first.id);
}

TEST_F(Webhooks, ThatRefuseAreNotAskedAgain) {
  change(true, drift_of("gpu1"));
  wait_for_next();
  done(Delivery::refused);
  EXPECT_EQ(wait_for_next(), -1);
}

TEST_F(Webhooks, LoseTheOldestOfTooMany) {
  change(true, drift_of("first"));
  wait_for_next();
  done(Delivery::failed);
  for (std::size_t i = 0; i < outbox::kEventsMax + 7; ++i) change(true, drift_of(id_of(static_cast<int>(i))));
  EXPECT_EQ(outbox_->take_dropped(), 7U);
  EXPECT_EQ(outbox_->take_dropped(), 0U);
  wait_for_next();
  EXPECT_EQ(events(), Events{"opened Device/first"}) << "what was under way is not changed";
  done(Delivery::delivered);
  std::size_t got = 0;
  std::size_t told = 0;
  while (wait_for_next() >= 0) {
    EXPECT_TRUE(got > 0 || events().front() == "opened Device/gpu7");
    got += events().size();
    told += data()["dropped"].get<std::size_t>();
    done(Delivery::delivered);
  }
  EXPECT_EQ(got, outbox::kEventsMax);
  EXPECT_EQ(told, 7U);
}

}  // namespace
}  // namespace lockstep
