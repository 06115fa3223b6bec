#include "reconciler/service/circuit_breaker.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "damaged_document.hpp"

namespace lockstep {
namespace {

using Names = std::set<std::string>;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr WallTime kStart{std::chrono::hours(500'000)};

Names leaves(int from, int to) {
  Names out;
  for (int i = from; i <= to; ++i) out.insert("leaf" + std::to_string(i));
  return out;
}

CircuitBreaker of_96() { return {{}, 96}; }  // 4 is the most

TEST(CircuitBreaker, AdmitsAsManyDevicesAsTheShare) {
  CircuitBreaker breaker = of_96();
  EXPECT_EQ(breaker.admit(leaves(1, 4), kStart), leaves(1, 4));
  EXPECT_FALSE(breaker.is_open());
  EXPECT_FALSE(breaker.opened());
  EXPECT_EQ(breaker.why(), "");
}

TEST(CircuitBreaker, OpensAboveTheShareAndAdmitsNothing) {
  CircuitBreaker breaker = of_96();
  EXPECT_EQ(breaker.admit(leaves(1, 7), kStart), Names{});
  EXPECT_TRUE(breaker.is_open());
  EXPECT_EQ(breaker.opened(), kStart);
  EXPECT_EQ(breaker.why(), "7 devices of 96 were to be healed within 10 min, and 4 is the most: leaf[1-7]");
}

TEST(CircuitBreaker, NamesDevicesInNaturalOrder) {
  CircuitBreaker breaker = of_96();
  breaker.admit(leaves(8, 12), kStart);
  EXPECT_EQ(breaker.why(), "5 devices of 96 were to be healed within 10 min, and 4 is the most: leaf[8-12]");
}

TEST(CircuitBreaker, CountsDevicesOfSeveralHealsWithinTheWindow) {
  CircuitBreaker breaker = of_96();
  breaker.admit(leaves(1, 3), kStart);
  EXPECT_EQ(breaker.admit(leaves(4, 4), kStart + minutes(5)), leaves(4, 4));
  EXPECT_EQ(breaker.admit(leaves(5, 5), kStart + minutes(10)), Names{});
  EXPECT_EQ(breaker.why(), "5 devices of 96 were to be healed within 10 min, and 4 is the most: leaf[1-5]");
}

TEST(CircuitBreaker, WhatOpenedItAndWhatSomebodySawWhenTheyClosedItIsNotCounted) {
  CircuitBreaker breaker = of_96();
  ASSERT_EQ(breaker.admit(leaves(1, 18), kStart), Names{});
  CircuitBreaker before = of_96();
  ASSERT_TRUE(before.restore(breaker.to_json()));
  breaker = before;
  breaker.close(leaves(5, 20), kStart + seconds(30));
  CircuitBreaker restarted = of_96();
  ASSERT_TRUE(restarted.restore(breaker.to_json()));
  for (CircuitBreaker* const one : {&breaker, &restarted}) {
    EXPECT_EQ(one->admit(leaves(1, 20), kStart + minutes(1)), leaves(1, 20));
    EXPECT_EQ(one->admit(leaves(17, 24), kStart + minutes(2)), leaves(17, 24)) << "four others";
    EXPECT_EQ(one->admit(leaves(25, 25), kStart + minutes(3)), Names{});
  }
}

TEST(CircuitBreaker, WhatWasAgreedToEndsWithTheWindowAlsoIfTimeJumpsBack) {
  for (const auto later : {minutes(11), -minutes(1)}) {
    CircuitBreaker breaker = of_96();
    breaker.close(leaves(1, 20), kStart);
    EXPECT_EQ(breaker.admit(leaves(1, 20), kStart + later), Names{});
  }
}

TEST(CircuitBreaker, ForgetsHealsBeforeTheWindow) {
  CircuitBreaker breaker = of_96();
  breaker.admit(leaves(1, 4), kStart);
  EXPECT_EQ(breaker.admit(leaves(5, 8), kStart + minutes(10) + seconds(1)), leaves(5, 8));
}

TEST(CircuitBreaker, CountsADeviceOnceHoweverOftenItIsHealed) {
  CircuitBreaker breaker = of_96();
  for (int i = 0; i < 100; ++i) ASSERT_EQ(breaker.admit(leaves(1, 4), kStart + seconds(i)), leaves(1, 4));
}

TEST(CircuitBreaker, CountsADeviceFromItsLastHeal) {
  CircuitBreaker breaker = of_96();
  breaker.admit(leaves(1, 4), kStart);
  breaker.admit(leaves(1, 4), kStart + minutes(8));
  EXPECT_EQ(breaker.admit(leaves(5, 5), kStart + minutes(15)), Names{});
}

TEST(CircuitBreaker, StaysOpenUntilItIsClosed) {
  CircuitBreaker breaker = of_96();
  breaker.admit(leaves(1, 7), kStart);
  EXPECT_EQ(breaker.admit(leaves(1, 1), kStart + std::chrono::hours(1000)), Names{});
  EXPECT_TRUE(breaker.is_open());
  EXPECT_EQ(breaker.opened(), kStart);
  breaker.close({}, kStart);
  EXPECT_FALSE(breaker.is_open());
  EXPECT_EQ(breaker.why(), "");
  EXPECT_EQ(breaker.admit(leaves(1, 4), kStart + std::chrono::hours(1000)), leaves(1, 4));
}

TEST(CircuitBreaker, BeginsTheWindowAnewWhenClosed) {
  CircuitBreaker breaker = of_96();
  breaker.admit(leaves(1, 4), kStart);
  breaker.admit(leaves(5, 5), kStart);
  breaker.close({}, kStart);
  EXPECT_EQ(breaker.admit(leaves(6, 9), kStart), leaves(6, 9));
}

TEST(CircuitBreaker, WhatOnlyFitsDoesNotOpenItAndCountsOnceItIsHealed) {
  CircuitBreaker breaker({.share = 0.05}, 10);  // two devices
  const WallTime begin{};
  EXPECT_EQ(breaker.admit({"a"}, begin), (std::set<std::string>{"a"}));
  EXPECT_EQ(breaker.that_fit({"a", "b", "c"}, begin), (std::set<std::string>{"a", "b"}));
  EXPECT_EQ(breaker.that_fit({"c"}, begin), (std::set<std::string>{"c"})) << "b was not healed";
  breaker.healed({"b"}, begin);
  EXPECT_EQ(breaker.that_fit({"b", "c"}, begin), (std::set<std::string>{"b"}));
  EXPECT_FALSE(breaker.is_open());
  EXPECT_EQ(breaker.that_fit({"c"}, begin + std::chrono::minutes(11)), (std::set<std::string>{"c"}));
  EXPECT_EQ(breaker.admit({"c", "d", "e"}, begin + std::chrono::minutes(11)), std::set<std::string>{});
  EXPECT_EQ(breaker.that_fit({"c"}, begin + std::chrono::minutes(11)), std::set<std::string>{})
      << "it is open";
}

TEST(CircuitBreaker, IsNotOpenedByAnEmptyRequest) {
  CircuitBreaker breaker{{.share = 0}, 0};
  EXPECT_EQ(breaker.admit({}, kStart), Names{});
  EXPECT_FALSE(breaker.is_open());
}

// The heals of a larger cluster are too many for what is left of it.
TEST(CircuitBreaker, IsNotOpenedByWhatWasHealedBeforeTheClusterShrank) {
  CircuitBreaker larger = of_96();
  larger.admit(leaves(1, 4), kStart);
  CircuitBreaker breaker{{}, 8};
  ASSERT_TRUE(breaker.restore(larger.to_json()));
  EXPECT_EQ(breaker.admit({}, kStart), Names{});
  EXPECT_FALSE(breaker.is_open());
}

TEST(CircuitBreaker, LetsASmallClusterHeal) {
  CircuitBreaker breaker{{}, 8};
  EXPECT_EQ(breaker.admit(leaves(1, 2), kStart), leaves(1, 2));
  EXPECT_EQ(breaker.admit(leaves(3, 3), kStart), Names{});
}

TEST(CircuitBreaker, CountsAHealOfTheFutureAsOneOfNow) {
  CircuitBreaker breaker = of_96();
  breaker.admit(leaves(1, 4), kStart + std::chrono::hours(24 * 365));
  EXPECT_EQ(breaker.admit(leaves(1, 1), kStart), leaves(1, 1));  // the clock was set back
  EXPECT_EQ(breaker.admit(leaves(5, 7), kStart + minutes(11)), leaves(5, 7));
}

TEST(CircuitBreaker, RoundsTheShareDown) {
  for (std::size_t percent = 0; percent <= 100; ++percent)
    for (const std::size_t devices : {0, 1, 7, 40, 96, 100, 200, 700, 1000}) {
      const std::size_t most = std::max<std::size_t>(2, percent * devices / 100);
      const CircuitBreaker::Limits limits{.share = static_cast<double>(percent) / 100};
      EXPECT_EQ(CircuitBreaker(limits, devices).admit(leaves(1, static_cast<int>(most)), kStart).size(),
                most);
      EXPECT_EQ(CircuitBreaker(limits, devices).admit(leaves(0, static_cast<int>(most)), kStart).size(), 0U)
          << percent << " % of " << devices;
    }
}

TEST(CircuitBreaker, TakesAShareThatIsNoShareForNothingOrAll) {
  for (const double share : {-1.0, std::nan(""), 0.0})
    EXPECT_TRUE(CircuitBreaker({.share = share}, 100).admit(leaves(1, 3), kStart).empty());
  for (const double share : {1e300, 2.0, 1.0})
    EXPECT_EQ(CircuitBreaker({.share = share}, 100).admit(leaves(1, 100), kStart).size(), 100U);
}

// The rule, plainly: every heal since the last close is remembered.
struct PlainBreaker {
  struct Heal {
    WallTime at;
    std::string device;
  };
  std::size_t most;
  std::vector<Heal> heals{};
  bool open = false;
  Names opened_it{};
  Names agreed{};
  WallTime agreed_at{};

  Names admit(const Names& devices, WallTime now) {
    Names own = devices;
    if (now - agreed_at <= minutes(10))
      for (const std::string& one : agreed) own.erase(one);
    Names counted = own;
    for (const Heal& one : heals)
      if (one.at >= now - minutes(10)) counted.insert(one.device);
    if (!open && !devices.empty() && counted.size() > most) {
      open = true;
      opened_it = counted;
    }
    if (open) return {};
    for (const std::string& one : own) heals.push_back({now, one});
    return devices;
  }
};

Names any_leaves() {
  Names out;
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) out.merge(leaves(1, *rc::gen::inRange(1, 12)));
  Names some;
  for (const std::string& one : out)
    if (*rc::gen::inRange(0, 3) == 0) some.insert(one);
  return some;
}

RC_GTEST_PROP(CircuitBreakerProperty, DecidesAsThePlainRuleAlsoAfterRestarts, ()) {
  const CircuitBreaker::Limits limits{.share = 0.05};
  CircuitBreaker breaker{limits, 96};
  PlainBreaker plain{4};
  WallTime now = kStart;
  for (int rounds = *rc::gen::inRange(1, 60); rounds > 0; --rounds) {
    now += seconds(*rc::gen::inRange(0, 400));
    const Names devices = any_leaves();
    RC_ASSERT(breaker.admit(devices, now) == plain.admit(devices, now));
    RC_ASSERT(breaker.is_open() == plain.open);
    RC_ASSERT(breaker.why().empty() != plain.open);
    if (*rc::gen::inRange(0, 4) == 0) {
      CircuitBreaker next{limits, 96};
      RC_ASSERT(static_cast<bool>(next.restore(nlohmann::json::parse(breaker.to_json().dump()))));
      RC_ASSERT(next.why() == breaker.why());
      RC_ASSERT(next.opened() == breaker.opened());
      breaker = next;
    }
    if (plain.open && *rc::gen::inRange(0, 3) == 0) {
      const Names seen = any_leaves();
      breaker.close(seen, now);
      Names agreed = plain.opened_it;
      agreed.insert(seen.begin(), seen.end());
      plain = {.most = 4, .agreed = agreed, .agreed_at = now};
    }
  }
}

RC_GTEST_PROP(CircuitBreakerProperty, TrustsNothingOfADamagedDocument, ()) {
  CircuitBreaker writer = of_96();
  if (*rc::gen::arbitrary<bool>()) writer.close(leaves(30, 33), kStart);
  writer.admit(leaves(1, *rc::gen::inRange(1, 5)), kStart);
  if (*rc::gen::arbitrary<bool>()) writer.admit(leaves(1, 6), kStart + minutes(1));
  CircuitBreaker reader = of_96();
  reader.admit({"spine1"}, kStart);
  const nlohmann::json before = reader.to_json();
  const auto document = damaged_document(writer.to_json());
  if (!reader.restore(document)) RC_ASSERT(reader.to_json() == before);
  const Names admitted = reader.admit(leaves(1, 2), kStart + minutes(2));
  RC_ASSERT(admitted.empty() == reader.is_open());
  reader.close({}, kStart);
  RC_ASSERT(reader.admit(leaves(1, 2), kStart + minutes(2)).size() == 2U);
}

TEST(CircuitBreaker, RefusesDocumentsOfOthers) {
  const std::string healed = R"({"healed": {"leaf1": 1}, )";
  for (const std::string text :
       {R"([])", R"({})", R"(null)", R"({"healed": []})", R"({"healed": {"leaf1": -5}})",
        R"({"healed": {"leaf1": 9223372036854775807}})", R"({"healed": {"leaf1": "now"}})"}) {
    CircuitBreaker breaker = of_96();
    const auto restored = breaker.restore(nlohmann::json::parse(text));
    ASSERT_FALSE(restored) << text;
    EXPECT_EQ(restored.error().kind, ErrorKind::invalid_spec);
  }
  for (const std::string rest :
       {R"("opened": 5})", R"("why": "x"})", R"("opened": "5", "why": "x"})", R"("agreed": []})",
        R"("agreed": {"leaf1": "now"}})", R"("opened": 5, "why": "x", "stopped": 1})",
        R"("opened": 5, "why": "x", "stopped": [1]})"}) {
    CircuitBreaker breaker = of_96();
    EXPECT_FALSE(breaker.restore(nlohmann::json::parse(healed + rest))) << rest;
    EXPECT_FALSE(breaker.is_open());
  }
}

}  // namespace
}  // namespace lockstep
