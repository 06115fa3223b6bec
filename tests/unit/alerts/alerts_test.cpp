// Which alerts are open: by examples, and by a model of one device.
#include "reconciler/alerts/alerts.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/unit/api/sample_status.hpp"

namespace lockstep {
namespace {

using api::at_second;

class Alerts : public testing::Test {
 protected:
  // What changed, as "+cause" and "-cause".
  std::vector<std::string> look(const ServiceStatus& status, int second) {
    AlertBook next = next_alerts(book_, status, at_second(second));
    std::vector<std::string> out;
    for (const AlertChange& one : changes_between(book_, next, at_second(second)))
      out.push_back((one.opened ? "+" : "-") + one.alert.cause());
    book_ = std::move(next);
    return out;
  }
  const Alert& open(const std::string& cause) { return book_.open.at(cause); }

  AlertBook book_;
  static constexpr const char* kDrift = "pod1/drift/Device/gpu1/";
};
using Changes = std::vector<std::string>;

TEST_F(Alerts, AServiceThatIsWellHasNone) {
  EXPECT_EQ(look(api::quiet_status(), 100), Changes{});
  EXPECT_EQ(look(api::quiet_status(), 10'000), Changes{});
}

TEST_F(Alerts, DriftIsToldOnceItLastsAndEndsAtOnce) {
  EXPECT_EQ(look(api::drifted_status(2, 100), 100), Changes{});
  EXPECT_EQ(look(api::drifted_status(3, 120), 129), Changes{}) << "29 s";
  EXPECT_EQ(look(api::drifted_status(3, 120), 130), Changes{std::string("+") + kDrift});
  EXPECT_EQ(open(kDrift).since, at_second(100));
  const std::string id = open(kDrift).id();
  EXPECT_EQ(look(api::drifted_status(4, 200), 200), Changes{}) << "it is open already";
  EXPECT_EQ(open(kDrift).message, "4 entries differ from the specs");
  EXPECT_EQ(open(kDrift).id(), id);
  EXPECT_EQ(look(api::quiet_status(), 210), Changes{std::string("-") + kDrift});
  look(api::drifted_status(1, 300), 300);
  look(api::drifted_status(1, 300), 330);
  EXPECT_NE(open(kDrift).id(), id) << "another drift";
}

TEST_F(Alerts, DriftThatIsHealedInTimeIsNeverTold) {
  for (int second = 0; second < 1000; second += 20) {
    EXPECT_EQ(look(api::drifted_status(1, second), second), Changes{});
    EXPECT_EQ(look(api::quiet_status(), second + 10), Changes{});
  }
}

TEST_F(Alerts, WhatIsNotKnownOfADeviceChangesNothing) {
  ServiceStatus unreadable = api::quiet_status();
  unreadable.devices = api::snapshot_of({{{"gpu1", "host", ""}, api::device_status("gpu1", false, 0, 5)}});
  ServiceStatus unobserved = api::quiet_status();
  unobserved.devices = api::snapshot_of({{{"gpu1", "host", ""}, std::nullopt}});
  ServiceStatus unwatched = api::quiet_status();
  unwatched.devices = nullptr;
  look(api::drifted_status(1, 0), 0);
  look(api::drifted_status(1, 0), 30);
  for (const ServiceStatus& one : {unreadable, unobserved, unwatched}) EXPECT_EQ(look(one, 100), Changes{});
  EXPECT_TRUE(book_.open.contains(kDrift));
  EXPECT_EQ(look(api::quiet_status(), 200), Changes{std::string("-") + kDrift});
  look(api::drifted_status(1, 300), 300);
  for (const ServiceStatus& one : {unreadable, unobserved, unwatched})
    EXPECT_EQ(look(one, 400), Changes{}) << "nobody knows that it lasts";
  EXPECT_EQ(look(api::drifted_status(1, 300), 401), Changes{std::string("+") + kDrift});
}

TEST_F(Alerts, ADeviceThatIsGoneOrInMaintenanceHasNone) {
  ServiceStatus gone = api::quiet_status();
  gone.devices = api::snapshot_of({{{"leaf0", "leaf", ""}, api::device_status("leaf0", true, 0, 5)}});
  ServiceStatus maintained = api::quiet_status();
  DeviceStatus device = api::device_status("gpu1", true, 5, 5);
  device.maintenance = "until 2026-12-01: optics";
  maintained.devices = api::snapshot_of({{{"gpu1", "host", ""}, device}});
  for (const ServiceStatus& one : {gone, maintained}) {
    look(api::drifted_status(1, 0), 0);
    look(api::drifted_status(1, 0), 30);
    EXPECT_EQ(look(one, 31), Changes{std::string("-") + kDrift});
    EXPECT_EQ(look(one, 5000), Changes{});
  }
}

TEST_F(Alerts, EachReasonToStallIsAnAlertOfItsOwn) {
  ServiceStatus status = api::quiet_status();
  status.breaker = "7 devices of 96";
  status.invalid = Revisions::Invalid{"77bd", "fabric.yaml:9:3: LS1004", at_second(20)};
  status.source.trouble = SourceTrouble::denied;
  status.leads = false;
  status.why_not_leads = "another process leads";
  EXPECT_EQ(look(status, 100), (Changes{"+pod1/stalled/Cluster/pod1/BreakerOpen",
                                        "+pod1/stalled/Cluster/pod1/InvalidRevision"}));
  EXPECT_EQ(look(status, 130),
            (Changes{"+pod1/stalled/Cluster/pod1/NotLeading", "+pod1/stalled/Cluster/pod1/SourceTrouble"}))
      << "these may have passed";
  EXPECT_EQ(open("pod1/stalled/Cluster/pod1/BreakerOpen").severity(), "critical");
  EXPECT_EQ(open("pod1/stalled/Cluster/pod1/NotLeading").severity(), "critical");
  EXPECT_EQ(open("pod1/stalled/Cluster/pod1/InvalidRevision").severity(), "warning");
  EXPECT_EQ(open("pod1/stalled/Cluster/pod1/InvalidRevision").since, at_second(20));
  status.suspended = SpokenBy{"operator ann", "power work", at_second(131)};
  EXPECT_EQ(look(status, 140), Changes{"-pod1/stalled/Cluster/pod1/NotLeading"}) << "somebody wants it so";
  EXPECT_EQ(look(api::quiet_status(), 150).size(), 3U);
  EXPECT_TRUE(book_.open.empty());
}

TEST_F(Alerts, ARefusedRevisionCountsWhileItIsTheNewest) {
  ServiceStatus status = api::quiet_status();
  status.revisions.insert(status.revisions.begin(),
                          api::revision_status("9c01ff", "sha256:bb", RevisionState::refused));
  EXPECT_EQ(look(status, 100), Changes{"+pod1/gate/Revision/9c01ff/"});
  EXPECT_EQ(open("pod1/gate/Revision/9c01ff/").since, at_second(10)) << "as it is stored";
  const std::string id = open("pod1/gate/Revision/9c01ff/").id();
  book_ = {};  // a restart
  look(status, 500);
  EXPECT_EQ(open("pod1/gate/Revision/9c01ff/").id(), id);
  status.revisions.insert(status.revisions.begin(),
                          api::revision_status("aaaa", "sha256:cc", RevisionState::waiting));
  status.revisions[0].shown.waits = {"sha256:1", "sha256:2"};
  status.revisions[0].shown.why_waits = "2 steps need approval";
  EXPECT_EQ(look(status, 600), (Changes{"+pod1/approval/Revision/aaaa/", "-pod1/gate/Revision/9c01ff/"}));
  EXPECT_EQ(open("pod1/approval/Revision/aaaa/").message, "2 steps need approval");
  status.revisions[0].shown.state = RevisionState::running;
  EXPECT_EQ(look(status, 700), Changes{}) << "a part of it was approved";
  status.revisions[0].shown.waits.clear();
  EXPECT_EQ(look(status, 800), Changes{"-pod1/approval/Revision/aaaa/"});
}

// While the rest of it runs, waits for a window, or fails.
TEST_F(Alerts, StepsThatNeedApprovalAreToldWhateverTheRestDoes) {
  ServiceStatus status = api::quiet_status();
  status.revisions.insert(status.revisions.begin(),
                          api::revision_status("aaaa", "sha256:cc", RevisionState::pending));
  EXPECT_EQ(look(status, 100), Changes{});
  status.revisions[0].shown.waits = {"sha256:1"};
  EXPECT_EQ(look(status, 200), Changes{"+pod1/approval/Revision/aaaa/"});
  status.revisions[0].shown.state = RevisionState::superseded;
  EXPECT_EQ(look(status, 300), Changes{"-pod1/approval/Revision/aaaa/"}) << "nobody has to decide any more";
}

TEST_F(Alerts, WhatDiffersFromSpecsThatWereNeverBegunIsNoDrift) {
  ServiceStatus status = api::drifted_status(3, 0);
  status.in_force = false;
  EXPECT_EQ(look(status, 0), Changes{});
  EXPECT_EQ(look(status, 100), Changes{});
  look(api::drifted_status(3, 200), 200);
  ASSERT_EQ(look(api::drifted_status(3, 200), 240), Changes{std::string("+") + kDrift});
  EXPECT_EQ(look(status, 300), Changes{}) << "it is not known whether that is over";
}

TEST_F(Alerts, ABrokenSloIsToldUntilARunSaysOtherwise) {
  using bench::Verdict;
  ServiceStatus status = api::quiet_status();
  status.schedules = {{.schedule = {.suite = "slo"}}};
  const auto ran = [&](Verdict verdict, int second) {
    status.schedules[0].last = SuiteResult{at_second(second), verdict, "bandwidth min", 7};
    return look(status, second);
  };
  EXPECT_EQ(look(status, 0), Changes{});
  EXPECT_EQ(ran(Verdict::pass, 10), Changes{});
  EXPECT_EQ(ran(Verdict::fail, 20), Changes{"+pod1/slo/ValidationSuite/slo/"});
  EXPECT_EQ(ran(Verdict::fail, 30), Changes{});
  EXPECT_EQ(open("pod1/slo/ValidationSuite/slo/").since, at_second(20));
  EXPECT_EQ(ran(Verdict::unknown, 40), Changes{}) << "nobody knows";
  const ServiceStatus with_it = status;
  status.schedules.clear();
  status.devices = nullptr;
  EXPECT_EQ(look(status, 50), Changes{}) << "nothing is watched";
  status = with_it;
  EXPECT_EQ(ran(Verdict::pass, 60), Changes{"-pod1/slo/ValidationSuite/slo/"});
  ran(Verdict::fail, 70);
  status.schedules.clear();
  EXPECT_EQ(look(status, 80), Changes{"-pod1/slo/ValidationSuite/slo/"}) << "the specs have it no more";
}

// The name of the cluster is known with its first valid revision.
TEST_F(Alerts, AnotherClusterHasOtherAlerts) {
  ServiceStatus status;
  status.why_not_leads = "no valid revision of the specs yet";
  look(status, 0);
  EXPECT_EQ(look(status, 30), Changes{"+unnamed/stalled/Cluster/unnamed/NotLeading"});
  EXPECT_EQ(look(api::quiet_status(), 40), Changes{"-unnamed/stalled/Cluster/unnamed/NotLeading"});
}

// Its alerts are not taken for the cluster's; the object is called as in the API.
TEST_F(Alerts, OfATwinSayThatTheyAre) {
  ServiceStatus status = api::quiet_status();
  status.twin = true;
  status.state_name = "pod1 (twin)";
  status.leads = false;
  status.why_not_leads = "another one leads";
  look(status, 0);
  EXPECT_EQ(look(status, 30), Changes{"+pod1 (twin)/stalled/Cluster/pod1/NotLeading"});
}

TEST_F(Alerts, AClockThatJumpsEndsNothingAndNothingBeginsInTheFuture) {
  look(api::drifted_status(1, 1000), 1000);
  EXPECT_EQ(look(api::drifted_status(1, 1000), 500), Changes{});
  EXPECT_EQ(look(api::drifted_status(1, 1000), 529), Changes{});
  EXPECT_EQ(look(api::drifted_status(1, 1000), 530), Changes{std::string("+") + kDrift});
  EXPECT_EQ(look(api::drifted_status(1, 1000), 100), Changes{}) << "it stays open";
  EXPECT_LE(open(kDrift).since, at_second(530));
}

// One device, by a model: what was seen last of it, and since when that is a drift.
RC_GTEST_PROP(AlertProperty, OneDevice, ()) {
  enum class Seen : std::uint8_t { in_sync, drifted, unreadable, nothing };
  AlertBook book;
  std::optional<int> drifted_since;
  bool is_open = false;
  int second = 0;
  for (const int draw : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 160))) {
    second += draw / 4;
    const auto seen = static_cast<Seen>(draw % 4);
    ServiceStatus status = api::quiet_status();
    if (seen == Seen::drifted) status = api::drifted_status(1, second);
    if (seen == Seen::unreadable)
      status.devices = api::snapshot_of({{{"gpu1", "host", ""}, api::device_status("gpu1", false, 0, 5)}});
    if (seen == Seen::nothing) status.devices = nullptr;
    const AlertBook next = next_alerts(book, status, at_second(second), std::chrono::seconds(30));
    const auto changes = changes_between(book, next, at_second(second));
    const bool was_open = is_open;
    if (seen == Seen::in_sync) {
      drifted_since.reset();
      is_open = false;
    } else if (seen == Seen::drifted) {
      if (!drifted_since) drifted_since = second;
      is_open = is_open || second - *drifted_since >= 30;
    }
    RC_ASSERT(next.open.size() == (is_open ? 1U : 0U));
    RC_ASSERT(changes.size() == (is_open == was_open ? 0U : 1U));
    if (!changes.empty()) RC_ASSERT(changes[0].opened == is_open);
    if (is_open) RC_ASSERT(next.open.begin()->second.since == at_second(*drifted_since));
    book = next;
  }
}

}  // namespace
}  // namespace lockstep
