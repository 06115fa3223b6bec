#include "reconciler/service/conditions.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "specs/language/load.hpp"
#include "specs/model/printable.hpp"

namespace lockstep {
namespace {

using std::chrono::seconds;
using enum ConditionStatus;

constexpr WallTime kBegin{std::chrono::hours(500'000)};  // 2027-01-15T08:00:00Z
constexpr WallTime at(int second) { return kBegin + seconds(second); }

// "Ready" lives 60 s after its proof; "Stalled" is abnormal where it is True; "Synced" needs no proof.
Conditions three() {
  return {{{"Ready", false, seconds(60)}, {"Stalled", true, seconds(60)}, {"Synced"}}, kBegin};
}

ShownCondition found(Conditions& conditions, const std::string& type, WallTime now) {
  for (const ShownCondition& one : conditions.shown(now))
    if (one.type == type) return one;
  ShownCondition none;
  none.type = "absent";
  return none;
}
void look_at(Conditions& conditions, const std::string& type, ConditionStatus status, int second,
             std::int64_t generation = 1) {
  conditions.look(type,
                  {status, status == true_ ? "Yes" : "No", "seen at " + std::to_string(second), at(second)},
                  generation, at(second));
}
ConditionStatus ready(Conditions& conditions, int second) {
  return found(conditions, "Ready", at(second)).status;
}

TEST(Conditions, AreUnknownSinceTheObjectExists) {
  Conditions conditions = three();
  const std::vector<ShownCondition> all = conditions.shown(at(100));
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].type, "Ready");
  EXPECT_EQ(all[1].type, "Stalled");
  EXPECT_EQ(all[2].type, "Synced");
  for (const ShownCondition& one : all) {
    EXPECT_EQ(one.status, unknown);
    EXPECT_EQ(one.reason, "NotObserved");
    EXPECT_EQ(one.last_transition, kBegin);
    EXPECT_FALSE(one.proof);
  }
  EXPECT_FALSE(conditions.next_change());
}

TEST(Conditions, ShowAStatusAfterTwoLooksThatAgree) {
  Conditions conditions = three();
  look_at(conditions, "Ready", true_, 1);
  EXPECT_EQ(ready(conditions, 1), unknown);
  look_at(conditions, "Ready", true_, 2, 7);
  const ShownCondition shown = found(conditions, "Ready", at(3));
  EXPECT_EQ(shown.status, true_);
  EXPECT_EQ(shown.reason, "Yes");
  EXPECT_EQ(shown.message, "seen at 2");
  EXPECT_EQ(shown.observed_generation, 7);
  EXPECT_EQ(shown.last_transition, at(2));
  EXPECT_EQ(shown.proof, at(2));
}

// The boot id belongs to the proof: what is shown is proven by that boot and no other.
TEST(Conditions, CarryTheBootOfTheirProof) {
  Conditions conditions = three();
  const auto boot = [&](int second) {
    for (const auto& one : conditions.to_json(at(second)))
      if (one["type"] == "Ready") return one.value("bootId", "");
    return std::string("no Ready");
  };
  for (const int second : {1, 2})
    conditions.look("Ready", {true_, "Yes", "", at(second), "a"}, 1, at(second));
  EXPECT_EQ(boot(2), "a");
  conditions.look("Ready", {false_, "No", "", at(3), "b"}, 1, at(3));
  EXPECT_EQ(boot(3), "a") << "one look is not shown";
  conditions.look("Ready", {false_, "No", "", at(4), "b"}, 1, at(4));
  EXPECT_EQ(boot(4), "b");
  conditions.look("Ready", {unknown, "NotRead", "", std::nullopt, "b"}, 1, at(5));
  EXPECT_EQ(boot(5), "") << "without a proof there is none";
}

TEST(Conditions, ShowTheFirstLookAtAnotherQuestionAtOnce) {
  Conditions conditions = three();
  conditions.begin_anew();
  conditions.look("Ready", {unknown, "NotRead", "", at(1)}, 1, at(1));
  EXPECT_EQ(ready(conditions, 1), unknown);
  look_at(conditions, "Ready", true_, 2);
  EXPECT_EQ(ready(conditions, 2), true_);
  look_at(conditions, "Ready", false_, 3);
  EXPECT_EQ(ready(conditions, 3), true_) << "from then on, two that agree";
  conditions.begin_anew();
  EXPECT_EQ(ready(conditions, 4), true_) << "until it is looked at";
  look_at(conditions, "Ready", false_, 5);
  EXPECT_EQ(ready(conditions, 5), false_);
  EXPECT_EQ(found(conditions, "Ready", at(5)).last_transition, at(5));
}

TEST(Conditions, AreSettledOnceTheLastLookIsShown) {
  Conditions conditions = three();
  look_at(conditions, "Synced", true_, 1);
  EXPECT_FALSE(conditions.is_settled("Synced"));
  EXPECT_EQ(conditions.at("Synced").status, unknown);
  look_at(conditions, "Synced", true_, 2);
  EXPECT_TRUE(conditions.is_settled("Synced"));
  look_at(conditions, "Synced", false_, 3);
  EXPECT_FALSE(conditions.is_settled("Synced"));
  look_at(conditions, "Synced", true_, 4);
  EXPECT_TRUE(conditions.is_settled("Synced"));
  for (int second = 5; second < 7; ++second) look_at(conditions, "Stalled", false_, second);
  EXPECT_EQ(conditions.at("Stalled").status, false_) << "absent where it is shown";
}

TEST(Conditions, NeverShowAFlappingLook) {
  Conditions conditions = three();
  look_at(conditions, "Ready", true_, 1);
  look_at(conditions, "Ready", true_, 2);
  for (int second = 3; second < 50; second += 2) {
    look_at(conditions, "Ready", false_, second);
    EXPECT_EQ(ready(conditions, second), true_);
    look_at(conditions, "Ready", true_, second + 1);
    EXPECT_EQ(ready(conditions, second + 1), true_);
  }
  EXPECT_EQ(found(conditions, "Ready", at(60)).last_transition, at(2));
}

TEST(Conditions, KeepReasonAndProofOfTheShownStatusWhileALookDisagrees) {
  Conditions conditions = three();
  look_at(conditions, "Ready", true_, 1);
  look_at(conditions, "Ready", true_, 2, 3);
  look_at(conditions, "Ready", false_, 10, 4);
  const ShownCondition shown = found(conditions, "Ready", at(10));
  EXPECT_EQ(shown.reason, "Yes");
  EXPECT_EQ(shown.message, "seen at 2");
  EXPECT_EQ(shown.observed_generation, 3);
  EXPECT_EQ(shown.proof, at(2));
}

TEST(Conditions, ShowReasonMessageAndProofOfALookThatAgreesAtOnce) {
  Conditions conditions = three();
  look_at(conditions, "Ready", true_, 1);
  look_at(conditions, "Ready", true_, 2);
  look_at(conditions, "Ready", true_, 30, 9);
  const ShownCondition shown = found(conditions, "Ready", at(31));
  EXPECT_EQ(shown.message, "seen at 30");
  EXPECT_EQ(shown.observed_generation, 9);
  EXPECT_EQ(shown.proof, at(30));
  EXPECT_EQ(shown.last_transition, at(2));
}

TEST(Conditions, ShowUnknownAtOnce) {
  Conditions conditions = three();
  look_at(conditions, "Ready", true_, 1);
  look_at(conditions, "Ready", true_, 2);
  conditions.look("Ready", {unknown, "Unreachable", "no answer", at(2)}, 5, at(8));
  const ShownCondition shown = found(conditions, "Ready", at(8));
  EXPECT_EQ(shown.status, unknown);
  EXPECT_EQ(shown.reason, "Unreachable");
  EXPECT_EQ(shown.message, "no answer");
  EXPECT_EQ(shown.observed_generation, 5);
  EXPECT_EQ(shown.last_transition, at(8));
}

TEST(Conditions, TurnUnknownWhenTheProofsLifeEnds) {
  Conditions conditions = three();
  look_at(conditions, "Ready", true_, 1);
  look_at(conditions, "Ready", true_, 2);
  EXPECT_EQ(conditions.next_change(), at(62));
  EXPECT_EQ(ready(conditions, 61), true_);
  EXPECT_EQ(ready(conditions, 62), unknown);
  EXPECT_FALSE(conditions.next_change());
  const ShownCondition shown = found(conditions, "Ready", at(500));
  EXPECT_EQ(shown.reason, "ProofExpired");
  EXPECT_EQ(shown.message, "not observed since 2027-01-15T08:00:02Z; until then: seen at 2");
  EXPECT_EQ(shown.proof, at(2));
  EXPECT_EQ(shown.last_transition, at(62));
}

TEST(Conditions, DateTheEndOfAProofByItsLifeNotByWhoAsks) {
  Conditions conditions = three();
  look_at(conditions, "Ready", true_, 1);
  look_at(conditions, "Ready", true_, 2);
  EXPECT_EQ(found(conditions, "Ready", at(500)).last_transition, at(62));
}

TEST(Conditions, TurnUnknownAtOnceForALookWithoutALivingProof) {
  for (const std::optional<WallTime> proof : {std::optional<WallTime>(), std::optional(at(3))}) {
    Conditions conditions = three();
    look_at(conditions, "Ready", true_, 1);
    look_at(conditions, "Ready", true_, 20);
    conditions.look("Ready", {true_, "Yes", "as before", proof}, 1, at(70));
    const ShownCondition shown = found(conditions, "Ready", at(70));
    EXPECT_EQ(shown.status, unknown);
    EXPECT_EQ(shown.reason, proof ? "ProofExpired" : "NotObserved");
    EXPECT_EQ(shown.last_transition, at(70));
    EXPECT_EQ(shown.proof, proof);
  }
}

TEST(Conditions, NeedTwoLooksAfterALapse) {
  Conditions conditions = three();
  look_at(conditions, "Ready", true_, 1);
  look_at(conditions, "Ready", true_, 2);
  look_at(conditions, "Ready", true_, 100);
  EXPECT_EQ(ready(conditions, 100), unknown);
  look_at(conditions, "Ready", true_, 101);
  EXPECT_EQ(ready(conditions, 101), true_);
}

TEST(Conditions, DoNotCountALookWhoseProofHasDiedMeanwhile) {
  Conditions conditions = three();
  look_at(conditions, "Ready", false_, 1);
  look_at(conditions, "Ready", false_, 61);
  EXPECT_EQ(ready(conditions, 61), unknown);
  look_at(conditions, "Ready", false_, 62);
  EXPECT_EQ(ready(conditions, 62), false_);
}

TEST(Conditions, OfTypesThatNeedNoProofStay) {
  Conditions conditions = three();
  for (int i = 0; i < 2; ++i) conditions.look("Synced", {true_, "Same", "all specs are applied"}, 1, at(i));
  EXPECT_EQ(found(conditions, "Synced", kBegin + std::chrono::hours(9999)).status, true_);
  EXPECT_FALSE(conditions.next_change());
}

TEST(Conditions, ThatAreAbnormalWhereTrueAreAbsentWhileFalse) {
  Conditions conditions = three();
  look_at(conditions, "Stalled", false_, 1);
  look_at(conditions, "Stalled", false_, 2);
  EXPECT_EQ(found(conditions, "Stalled", at(2)).type, "absent");
  EXPECT_EQ(conditions.next_change(), at(62));
  EXPECT_EQ(found(conditions, "Stalled", at(62)).status, unknown);
  look_at(conditions, "Stalled", true_, 70);
  look_at(conditions, "Stalled", true_, 71);
  EXPECT_EQ(found(conditions, "Stalled", at(71)).status, true_);
  EXPECT_EQ(found(conditions, "Stalled", at(71)).last_transition, at(71));
}

TEST(Conditions, FalseIsShownForNormalTypes) {
  Conditions conditions = three();
  look_at(conditions, "Ready", false_, 1);
  look_at(conditions, "Ready", false_, 2);
  EXPECT_EQ(ready(conditions, 2), false_);
}

TEST(Conditions, TakeAProofOfTheFutureForOneOfNow) {
  Conditions conditions = three();
  look_at(conditions, "Ready", true_, 9000);
  look_at(conditions, "Ready", true_, 9001);
  EXPECT_EQ(ready(conditions, 100), true_);  // the clock was set back
  EXPECT_EQ(ready(conditions, 159), true_);
  EXPECT_EQ(ready(conditions, 160), unknown);
  for (int i = 0; i < 2; ++i) conditions.look("Ready", {true_, "Yes", "", at(9000)}, 1, at(200 + i));
  EXPECT_EQ(found(conditions, "Ready", at(202)).proof, at(201));
  EXPECT_EQ(ready(conditions, 261), unknown);
}

TEST(Conditions, NextChangeIsTheEarliestEnd) {
  Conditions conditions{{{"Ready", false, seconds(60)}, {"Reachable", false, seconds(10)}}, kBegin};
  for (int i = 1; i < 3; ++i) look_at(conditions, "Ready", true_, i);
  for (int i = 3; i < 5; ++i) look_at(conditions, "Reachable", true_, i);
  EXPECT_EQ(conditions.next_change(), at(14));
  conditions.shown(at(14));
  EXPECT_EQ(conditions.next_change(), at(62));
}

TEST(Conditions, AreWrittenAsKubernetesWritesThem) {
  Conditions conditions = three();
  look_at(conditions, "Ready", true_, 1);
  look_at(conditions, "Ready", true_, 2, 4);
  for (int i = 3; i < 5; ++i) look_at(conditions, "Stalled", false_, i);
  const nlohmann::json expected = nlohmann::json::parse(R"([
    {"type": "Ready", "status": "True", "reason": "Yes", "message": "seen at 2", "observedGeneration": 4,
     "lastTransitionTime": "2027-01-15T08:00:02Z", "observedAt": "2027-01-15T08:00:02Z"},
    {"type": "Synced", "status": "Unknown", "reason": "NotObserved", "message": "not observed yet",
     "observedGeneration": 0, "lastTransitionTime": "2027-01-15T08:00:00Z"}])");
  EXPECT_EQ(conditions.to_json(at(10)), expected);
}

TEST(Conditions, CutAMessageThatKubernetesWouldRefuse) {
  Conditions conditions = three();
  std::string longer = "\xff";
  while (longer.size() < 2 * Conditions::kMessageMax) longer += "\xc3\xa9";
  conditions.look("Synced", {unknown, "Long", longer}, 1, at(1));
  const std::string message = conditions.to_json(at(1))[2]["message"];
  EXPECT_LE(message.size(), Conditions::kMessageMax);
  EXPECT_GT(message.size(), Conditions::kMessageMax - 4);
  EXPECT_FALSE(find_invalid_utf8(message));
}

// The language's own table reads them back: the words, the times and the names of the fields.
TEST(Conditions, AreReadBackAsThoseOfADevice) {
  Conditions conditions = three();
  for (int i = 1; i < 3; ++i) look_at(conditions, "Ready", true_, i, 12);
  const nlohmann::json device{{"apiVersion", "lockstep.dev/v1alpha1"},
                              {"kind", "Device"},
                              {"metadata", {{"name", "gpu1"}}},
                              {"spec", {{"conditions", conditions.to_json(at(5))}}}};
  const Loaded loaded = load_text("device.yaml", device.dump());
  for (const Diagnostic& one : loaded.diagnostics) ADD_FAILURE() << one.message;
  ASSERT_EQ(loaded.catalog.devices.size(), 1U);
  ASSERT_EQ(loaded.catalog.devices[0].conditions.size(), 3U);
  const Condition& ready = loaded.catalog.devices[0].conditions[0];
  EXPECT_EQ(*ready.type, "Ready");
  EXPECT_EQ(*ready.status, Truth::yes);
  EXPECT_EQ(*ready.observed_generation, 12U);
  const std::chrono::nanoseconds proof = at(2).time_since_epoch();
  EXPECT_EQ(ready.observed_at->nanoseconds, proof.count());
  EXPECT_EQ(ready.last_transition_time->nanoseconds, proof.count());
  EXPECT_EQ(*loaded.catalog.devices[0].conditions[2].status, Truth::unknown);
}

// The rule, plainly: all looks are remembered, and what is shown is found anew from them at any time.
struct PlainLook {
  int second;
  ConditionStatus status;
  std::optional<int> proof;
};
struct PlainShown {
  ConditionStatus status = unknown;
  int since = 0;
  std::optional<int> proof{};
};

constexpr int kLife = 60;

bool lives(const std::optional<int>& proof, int now, bool needs_proof) {
  return !needs_proof || (proof && now < *proof + kLife);
}

ConditionStatus meant(const PlainLook& look, bool needs_proof) {
  return lives(look.proof, look.second, needs_proof) ? look.status : unknown;
}

PlainShown plainly(const std::vector<PlainLook>& looks, int now, bool needs_proof) {
  PlainShown out;
  const auto set = [&out](ConditionStatus status, int second) {
    if (out.status != status) out = {status, second, out.proof};
  };
  for (std::size_t i = 0; i <= looks.size(); ++i) {
    const int until = i < looks.size() ? looks[i].second : now;
    if (out.status != unknown && !lives(out.proof, until, needs_proof)) set(unknown, *out.proof + kLife);
    if (i == looks.size()) break;
    const ConditionStatus status = meant(looks[i], needs_proof);
    const bool confirmed =
        i > 0 && meant(looks[i - 1], needs_proof) == status && lives(looks[i - 1].proof, until, needs_proof);
    if (status != out.status && status != unknown && !confirmed) continue;
    set(status, until);
    out.proof = looks[i].proof;
  }
  return out;
}

std::vector<PlainLook> any_looks() {
  std::vector<PlainLook> out;
  int second = 0;
  for (int left = *rc::gen::inRange(0, 30); left > 0; --left) {
    second += *rc::gen::weightedElement<int>({{8, 3}, {4, 20}, {2, 45}, {1, 59}, {1, 60}, {1, 61}, {1, 200}});
    const auto status = *rc::gen::weightedElement<ConditionStatus>({{5, true_}, {4, false_}, {1, unknown}});
    const int age = *rc::gen::weightedElement<int>({{6, 0}, {2, 5}, {1, 40}, {1, 59}, {1, 60}});
    const bool has_proof = *rc::gen::inRange(0, 12) > 0;
    out.push_back({second, status, has_proof ? std::optional(second - age) : std::nullopt});
  }
  return out;
}

std::optional<WallTime> time_of(const std::optional<int>& second) {
  return second ? std::optional(at(*second)) : std::nullopt;
}

RC_GTEST_PROP(ConditionsProperty, ShowWhatThePlainRuleShowsWheneverTheyAreAsked, (bool needs_proof)) {
  const std::vector<PlainLook> looks = any_looks();
  Conditions conditions{{{"Ready", false, seconds(needs_proof ? kLife : 0)}}, kBegin};
  std::vector<PlainLook> so_far;
  for (std::size_t i = 0; i <= looks.size(); ++i) {
    if (i > 0) {
      const PlainLook& one = looks[i - 1];
      conditions.look("Ready", {one.status, "Reason", "", time_of(one.proof)}, 1, at(one.second));
      so_far.push_back(one);
    }
    const int from = so_far.empty() ? 0 : so_far.back().second;
    const int to = i < looks.size() ? looks[i].second : from + 300;
    for (int second = from; second <= to; second += *rc::gen::inRange(1, 80)) {
      const PlainShown expected = plainly(so_far, second, needs_proof);
      const ShownCondition shown = conditions.shown(at(second))[0];
      RC_ASSERT(shown.status == expected.status);
      RC_ASSERT(shown.last_transition == at(expected.since));
      RC_ASSERT(shown.proof == time_of(expected.proof));
    }
  }
}

RC_GTEST_PROP(ConditionsProperty, AreNeverTrueOrFalseWithAnOldProof, ()) {
  Conditions conditions = three();
  WallTime now = kBegin;
  for (const PlainLook& one : any_looks()) {
    now += seconds(*rc::gen::inRange(-100, 200));  // any clock
    conditions.look("Ready", {one.status, "Reason", "", time_of(one.proof)}, 1, now);
    conditions.look("Stalled", {one.status, "Reason", "", time_of(one.proof)}, 1, now);
    if (*rc::gen::arbitrary<bool>()) now += seconds(*rc::gen::inRange(0, 100));
    for (const ShownCondition& shown : conditions.shown(now)) {
      if (shown.status == unknown) continue;
      RC_ASSERT(shown.proof.has_value());
      RC_ASSERT(*shown.proof <= now);
      RC_ASSERT(now - *shown.proof < seconds(kLife));
      RC_ASSERT(shown.type != "Stalled" || shown.status == true_);
    }
  }
}

RC_GTEST_PROP(ConditionsProperty, ChangeLastTransitionExactlyWithTheStatus, ()) {
  Conditions conditions{{{"Ready", false, seconds(kLife)}}, kBegin - seconds(100)};
  ShownCondition before = conditions.shown(kBegin)[0];
  const auto check = [&](int second) {
    const ShownCondition shown = conditions.shown(at(second))[0];
    RC_ASSERT((shown.status != before.status) == (shown.last_transition != before.last_transition));
    before = shown;
  };
  // Ends of proofs are between seconds, so that no status is shown for no time at all.
  const auto proof_of = [](const PlainLook& one) {
    return one.proof ? std::optional(at(*one.proof) - std::chrono::milliseconds(500)) : std::nullopt;
  };
  int last = 0;
  for (const PlainLook& one : any_looks()) {
    for (int second = last; second < one.second; ++second) check(second);
    check(one.second);
    conditions.look("Ready", {one.status, "Reason", "", proof_of(one)}, 1, at(one.second));
    check(one.second);
    last = one.second;
  }
}

// Nothing changes before next_change() without a look, and something does then.
RC_GTEST_PROP(ConditionsProperty, ChangeNextWhenTheySaySo, ()) {
  Conditions conditions = three();
  WallTime now = kBegin;
  for (const PlainLook& one : any_looks()) {
    now = at(one.second);
    conditions.look(*rc::gen::element<std::string>("Ready", "Stalled", "Synced"),
                    {one.status, "Reason", "", time_of(one.proof)}, 1, now);
  }
  const nlohmann::json shown = conditions.to_json(now);
  const auto next = conditions.next_change();
  if (!next) {
    RC_ASSERT(conditions.to_json(now + std::chrono::hours(9999)) == shown);
    return;
  }
  RC_ASSERT(*next > now);
  RC_ASSERT(conditions.to_json(*next - std::chrono::nanoseconds(1)) == shown);
  RC_ASSERT(conditions.to_json(*next) != shown);
}

}  // namespace
}  // namespace lockstep
