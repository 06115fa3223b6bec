#include "reconciler/service/suite_clock.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

namespace lockstep {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

const WallTime kClockStart{hours(24 * 365 * 56)};
const std::vector<SuiteSchedule> kTwo{{.suite = "rail", .every = hours(6)},
                                      {.suite = "slo", .every = hours(1)}};

TEST(SuiteClock, ANewSuiteIsFirstDueAnIntervalLater) {
  SuiteClock clock;
  EXPECT_TRUE(clock.take(kTwo, kClockStart));
  EXPECT_FALSE(clock.due(kClockStart + minutes(59)));
  ASSERT_TRUE(clock.due(kClockStart + hours(1)));
  EXPECT_EQ(clock.due(kClockStart + hours(1))->suite, "slo");
  EXPECT_EQ(clock.next(kClockStart), kClockStart + hours(1));
  EXPECT_FALSE(clock.take(kTwo, kClockStart + minutes(30))) << "the same specs again move nothing";
  EXPECT_EQ(clock.next(kClockStart + minutes(30)), kClockStart + hours(1));
}

TEST(SuiteClock, TheSuiteThatIsDueLongestComesFirst) {
  SuiteClock clock;
  clock.take(kTwo, kClockStart);
  clock.judged("slo", kClockStart + minutes(330), {});
  EXPECT_EQ(clock.due(kClockStart + hours(7))->suite, "rail");
}

TEST(SuiteClock, ARunThatIsNotJudgedIsTriedAgainSoonAndNotAtOnce) {
  SuiteClock clock;
  clock.take(kTwo, kClockStart);
  const WallTime began = kClockStart + hours(1);
  clock.not_judged("slo", began, began + minutes(20), "gpu1 runs jobs and was not measured", false);
  EXPECT_FALSE(clock.due(began + minutes(29)));
  EXPECT_TRUE(clock.due(began + minutes(30)));
  clock.not_judged("slo", began, began + minutes(20), "its budget was over", true);
  EXPECT_FALSE(clock.due(began + minutes(59)));
  EXPECT_TRUE(clock.due(began + hours(1)));
}

TEST(SuiteClock, AClockThatIsSetBackHoldsNothingForLongerThanTheInterval) {
  SuiteClock clock;
  clock.take(kTwo, kClockStart);
  clock.judged("slo", kClockStart + hours(1), {});
  const WallTime back = kClockStart - hours(24 * 365);
  EXPECT_FALSE(clock.due(back)) << "a run that seems to be in the future counts as one of now";
  EXPECT_FALSE(clock.due(back + minutes(59)));
  EXPECT_TRUE(clock.due(back + hours(1)));
}

TEST(SuiteClock, SpecsThatNoLongerHaveASuiteForgetIt) {
  SuiteClock clock;
  clock.take(kTwo, kClockStart);
  EXPECT_TRUE(clock.take({kTwo[0]}, kClockStart));
  clock.judged("slo", kClockStart, {});  // it ran when they changed
  EXPECT_FALSE(clock.to_json().contains("slo"));
  EXPECT_FALSE(clock.take({kTwo[0]}, kClockStart));
  EXPECT_TRUE(clock.take({}, kClockStart));
  EXPECT_FALSE(clock.next(kClockStart));
}

TEST(SuiteClock, ADamagedDocumentNamesTheField) {
  SuiteClock clock;
  clock.take(kTwo, kClockStart);
  nlohmann::json document = clock.to_json();
  document["slo"]["since"] = "yesterday";
  const auto read = SuiteClock::from_json(document);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().what.find("'since'"), std::string::npos) << read.error().what;
  EXPECT_FALSE(SuiteClock::from_json(nlohmann::json::array()));
  clock.judged("slo", kClockStart, {.at = kClockStart, .verdict = bench::Verdict::fail});
  document = clock.to_json();
  ASSERT_TRUE(SuiteClock::from_json(document));
  document["slo"]["last"]["verdict"] = "perhaps";
  EXPECT_FALSE(SuiteClock::from_json(document));
}

// Whatever happens, and however often the service is restarted and its clock is set back: runs that count
// begin at least an interval apart, and a suite whose interval is over, and that was not tried within kAgain,
// is due.
RC_GTEST_PROP(SuiteClock, RunsAreSpacedAndNoneIsForgotten, ()) {
  SuiteClock clock;
  WallTime now = kClockStart;
  clock.take(kTwo, now);
  std::map<std::string, WallTime> last;   // that counts
  std::map<std::string, WallTime> tried;  // whether it does or not
  for (const SuiteSchedule& one : kTwo) last[one.suite] = tried[one.suite] = now;
  for (int i = 0; i < 200; ++i) {
    now += minutes(*rc::gen::inRange(0, 40));
    if (*rc::gen::inRange(0, 10) == 0) {
      auto read = SuiteClock::from_json(nlohmann::json::parse(clock.to_json().dump()));
      RC_ASSERT(bool(read));
      clock = *std::move(read);
      clock.take(kTwo, now);
    }
    if (*rc::gen::inRange(0, 50) == 0) {
      now -= minutes(*rc::gen::inRange(0, 600));
      for (auto* const times : {&last, &tried})
        for (auto& [suite, at] : *times) at = std::min(at, now);
      (void)clock.due(now);
    }
    const auto due = clock.due(now);
    for (const SuiteSchedule& one : kTwo)
      if (now - last[one.suite] >= one.every && now - tried[one.suite] >= SuiteClock::kAgain)
        RC_ASSERT(due.has_value());
    if (!due) continue;
    tried[due->suite] = now;
    RC_ASSERT(now - last[due->suite] >= due->every);
    switch (*rc::gen::inRange(0, 3)) {
      case 0:
        clock.judged(due->suite, now, {.at = now, .verdict = bench::Verdict::pass});
        last[due->suite] = now;
        break;
      case 1:
        clock.not_judged(due->suite, now, now, "out of time", true);
        last[due->suite] = now;
        break;
      default: clock.not_judged(due->suite, now, now, "jobs", false);
    }
  }
}

}  // namespace
}  // namespace lockstep
