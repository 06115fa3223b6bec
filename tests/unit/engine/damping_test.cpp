#include "reconciler/engine/damping.hpp"

#include <gtest/gtest.h>

#include "cluster.hpp"

namespace lockstep {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const std::string kDevice = "gpu1";

Path mtu() { return entry("interface[rail0]/mtu"); }

TEST(Damping, ReportsAFlappingEntryUntilOneQuietWindow) {
  Damping damping;
  Time now{};
  damping.came(kDevice, mtu(), now);
  damping.went(kDevice, mtu(), now += seconds(1));
  damping.came(kDevice, mtu(), now += seconds(1));
  EXPECT_FALSE(damping.flaps(kDevice, mtu(), now));
  damping.went(kDevice, mtu(), now += seconds(1));
  EXPECT_TRUE(damping.flaps(kDevice, mtu(), now));
  EXPECT_FALSE(damping.flaps(kDevice, mtu(), now + seconds(11)));
  EXPECT_FALSE(damping.flaps("gpu2", mtu(), now));
}

TEST(Damping, BacksOffExponentiallyWhileHealingFails) {
  Damping damping;
  Time now{};
  damping.came(kDevice, mtu(), now);
  EXPECT_EQ(damping.may_heal_at(kDevice, mtu(), now), now);
  for (const int wait : {1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300}) {
    damping.healed(kDevice, mtu(), now);
    EXPECT_EQ(damping.may_heal_at(kDevice, mtu(), now), now + seconds(wait));
    now += seconds(wait);
    EXPECT_EQ(damping.may_heal_at(kDevice, mtu(), now), now);
  }
  EXPECT_FALSE(damping.is_fought_over(kDevice, mtu(), now)) << "it never went";
}

// Old entries are dropped once the number of entries has doubled.
TEST(Damping, KeepsActiveEntriesWhenManyOthersArrive) {
  Damping damping;
  Time now{};
  damping.came(kDevice, mtu(), now);
  for (int heals = 0; heals < 8; ++heals) damping.healed(kDevice, mtu(), now);
  damping.went(kDevice, mtu(), now += seconds(1));
  now += seconds(11);
  for (int other = 0; other < 3000; ++other) damping.came("other" + std::to_string(other), mtu(), now);
  damping.came(kDevice, mtu(), now);
  EXPECT_GE(damping.may_heal_at(kDevice, mtu(), now), now + seconds(128)) << "it was healed eight times";

  Damping of_flaps;
  for (int changes = 0; changes < 2; ++changes) {
    of_flaps.came(kDevice, mtu(), now += milliseconds(100));
    of_flaps.went(kDevice, mtu(), now += milliseconds(100));
  }
  now += seconds(9);
  for (int other = 0; other < 3000; ++other) of_flaps.came("other" + std::to_string(other), mtu(), now);
  of_flaps.came(kDevice, mtu(), now);
  EXPECT_TRUE(of_flaps.flaps(kDevice, mtu(), now)) << "all within 10 s";
}

// Another writer reverts the value every `period`. It is healed as soon as healing is allowed.
struct Fight {
  std::vector<Time::duration> waits;  // of each healing, since the drift appeared
  int returns = 0;
  Time end{};
};
Fight fight(Damping& damping, milliseconds period, milliseconds length) {
  Fight out;
  std::optional<Time> came;
  for (Time now{}; now.time_since_epoch() < length; now += milliseconds(100)) {
    if (now.time_since_epoch() % period == Time::duration::zero() && !came) {
      damping.came(kDevice, mtu(), now);
      came = now;
    }
    if (came && damping.may_heal_at(kDevice, mtu(), now) <= now) {
      damping.healed(kDevice, mtu(), now);
      damping.went(kDevice, mtu(), now);
      out.waits.push_back(now - *std::exchange(came, std::nullopt));
    }
    out.returns = std::max(out.returns, damping.returns(kDevice, mtu(), now));
    out.end = now;
  }
  return out;
}

class FightOfPeriod : public testing::TestWithParam<seconds> {};

TEST_P(FightOfPeriod, IsHealedWithExponentialBackOff) {
  Damping damping;
  const seconds period = GetParam();
  const Fight fought = fight(damping, period, 15 * (period + seconds(300)));
  ASSERT_GE(fought.waits.size(), 15U) << "it is not given up";
  for (std::size_t i = 0; i < fought.waits.size(); ++i) {
    const Time::duration wait =
        i == 0 ? seconds(0) : seconds(std::min(300, 1 << std::min<std::size_t>(i - 1, 20)));
    EXPECT_EQ(fought.waits[i], wait) << "healing " << i;
  }
  EXPECT_GE(fought.returns + 1, static_cast<int>(fought.waits.size())) << "each return is counted";
  EXPECT_TRUE(damping.is_fought_over(kDevice, mtu(), fought.end));
}

TEST_P(FightOfPeriod, IsForgottenAfterALongQuietPeriod) {
  Damping damping;
  const seconds period = GetParam();
  const Fight fought = fight(damping, period, 6 * (period + seconds(32)));
  Time now = fought.end + seconds(1);
  damping.went(kDevice, mtu(), now);
  ASSERT_GE(damping.returns(kDevice, mtu(), now), 3);
  now += period;
  EXPECT_GE(damping.returns(kDevice, mtu(), now), 3) << "that may be its next return";
  now += 4 * std::max<seconds>(period, seconds(300));
  EXPECT_EQ(damping.returns(kDevice, mtu(), now), 0);
  damping.came(kDevice, mtu(), now);
  EXPECT_LE(damping.may_heal_at(kDevice, mtu(), now), now + seconds(1)) << "the count is new";
}

INSTANTIATE_TEST_SUITE_P(Damping, FightOfPeriod,
                         testing::Values(seconds(1), seconds(11), seconds(61), minutes(10)));

TEST(Damping, ForgetsAReturnAfterTwoDays) {
  Damping damping;
  Time now{};
  for (int i = 0; i < 5; ++i) {
    damping.came(kDevice, mtu(), now);
    damping.healed(kDevice, mtu(), now);
    damping.went(kDevice, mtu(), now);
    now += hours(49);
    EXPECT_EQ(damping.may_heal_at(kDevice, mtu(), now), now);
  }
  damping.came(kDevice, mtu(), now);
  EXPECT_EQ(damping.returns(kDevice, mtu(), now), 0);
  EXPECT_EQ(damping.may_heal_at(kDevice, mtu(), now), now);
}

// Drift that comes and goes on its own must not postpone the healing forever.
TEST(Damping, WaitsFromTheFirstReturnAfterAHealing) {
  Damping damping;
  Time now{};
  damping.came(kDevice, mtu(), now);
  for (int i = 0; i < 5; ++i) damping.healed(kDevice, mtu(), now);
  damping.went(kDevice, mtu(), now);
  damping.came(kDevice, mtu(), now += seconds(1));
  const Time due = damping.may_heal_at(kDevice, mtu(), now);
  EXPECT_EQ(due, now + seconds(16));
  for (int i = 0; i < 5; ++i) {
    damping.went(kDevice, mtu(), now += seconds(1));
    damping.came(kDevice, mtu(), now += seconds(1));
  }
  EXPECT_EQ(damping.may_heal_at(kDevice, mtu(), now), due);
}

}  // namespace
}  // namespace lockstep
