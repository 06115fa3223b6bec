#include "reconciler/report/earlier_runs.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

LedgerTicket ticket_on(const std::string& device) { return {device, 1, device, "linux", {}}; }

OwedChange owed(std::uint64_t change, const std::string& device) {
  return {change, "2026-11-21T10:05:26Z", "ann", {ticket_on(device)}};
}

TEST(EarlierRuns, SettingsLeftBehindAreListedByObjectAndDevices) {
  const WrittenEntry one{"gpu1",
                         *Path::parse("sysctl[net.ipv4.tcp_sack]"),
                         Value::text("1"),
                         Value::text("0"),
                         {},
                         false,
                         "HostProfile/training"};
  WrittenEntry other = one;
  other.device = "gpu2";
  EXPECT_EQ(
      left_behind_text({one, other}),
      "left as they are: 2 settings that earlier changes wrote for HostProfile/training and these specs no "
      "longer mention, on gpu[1-2]\n");
  EXPECT_EQ(left_behind_text({}), "");
}

TEST(EarlierRuns, ChangeInProgressIsAttributedToItsProcess) {
  const Unjudged all{
      "process 7 since 2026-11-21T10:05:26Z (lockstep apply)", {owed(2, "gpu2")}, {{owed(1, "gpu1")}}};
  const std::string text = unjudged_text(all, Terminal{});
  EXPECT_TRUE(text.starts_with(
      "being changed by process 7 since 2026-11-21T10:05:26Z (lockstep apply): change 2 (begun "
      "2026-11-21T10:05:26Z by ann) on gpu2, not judged yet; "))
      << text;
  EXPECT_NE(text.find("\nnever measured: change 1 "), std::string::npos) << text;
  EXPECT_EQ(text.find("never measured: change 2"), std::string::npos) << text;
  EXPECT_EQ(unjudged_text({}, Terminal{}), "");
}

TEST(EarlierRuns, AnInterruptedChangeIsShownWithItsUnsettledDevices) {
  InFlight begun{3, "2026-11-21T10:05:26Z", "ann", "", {ticket_on("gpu1"), ticket_on("gpu2")}, {}};
  EXPECT_EQ(in_flight_line(begun, Terminal{}),
            "in flight: change 3 (begun 2026-11-21T10:05:26Z by ann) did not end: 0 of its writes are "
            "kept, 2 are unknown on gpu[1-2]; this run observes and continues");
  begun.unsettled.clear();
  begun.kept.push_back(ticket_on("gpu1"));
  EXPECT_NE(in_flight_line(begun, Terminal{}).find("1 of its writes are kept, 0 are unknown; this"),
            std::string::npos);
}

TEST(EarlierRuns, UnvalidatedChangeIsShownWithItsNextStep) {
  const auto told = [](OwedDecision::Fate fate) { return owed_line({owed(1, "gpu1"), fate}, Terminal{}); };
  const std::string change = "never measured: change 1 (begun 2026-11-21T10:05:26Z by ann) on gpu1; ";
  EXPECT_EQ(told(OwedDecision::Fate::taken),
            change + "this run measures what it can have touched, and keeps it or rolls it back");
  EXPECT_EQ(told(OwedDecision::Fate::no_suite), change + "it stays so, as the specs have no ValidationSuite");
  EXPECT_EQ(told(OwedDecision::Fate::other_devices),
            change + "it stays so, as this run is for other devices");
  EXPECT_EQ(told(OwedDecision::Fate::in_maintenance),
            change + "it stays so while its devices are in maintenance");
  EXPECT_EQ(told(OwedDecision::Fate::not_measuring), change + "it stays so, as this run does not measure");
}

// A change whose gate ran without a verdict is not validated yet, which is not "never measured".
TEST(EarlierRuns, UndecidedChangeIsNotCalledNeverMeasured) {
  OwedDecision one{owed(1, "gpu1"), OwedDecision::Fate::taken, true};
  const std::string change = "not validated yet: change 1 (begun 2026-11-21T10:05:26Z by ann) on gpu1: ";
  EXPECT_EQ(owed_line(one, Terminal{}), change +
                                            "no benchmark could tell; this run measures what it can have "
                                            "touched, and keeps it or rolls it back");
  one.owed.subjects = {"slo/pairs bandwidth min, gpu1:rail0 -> gpu2:rail0", "z"};
  EXPECT_EQ(owed_line(one, Terminal{}),
            change +
                "no benchmark could tell slo/pairs bandwidth min, gpu1:rail0 -> gpu2:rail0 (and 1 more); "
                "this run measures what it can have touched, and keeps it or rolls it back");
}

// A plan must predict what the next apply does: measure the change, or leave it as it is.
TEST(EarlierRuns, PlanAndApplyAgreeOnUnvalidatedChanges) {
  Unjudged all{"", {}, {{owed(1, "gpu1"), OwedDecision::Fate::no_suite}}};
  EXPECT_EQ(unjudged_text(all, Terminal{}), owed_line(all.left[0], Terminal{}) + "\n");
  EXPECT_TRUE(all.leaves_owed());
  EXPECT_FALSE(all.to_judge());
  all.left[0].fate = OwedDecision::Fate::taken;
  EXPECT_NE(unjudged_text(all, Terminal{}).find("; the next apply measures "), std::string::npos);
  EXPECT_TRUE(all.to_judge());
  all.left[0].fate = OwedDecision::Fate::in_maintenance;
  EXPECT_FALSE(all.leaves_owed());
}

}  // namespace
}  // namespace lockstep
