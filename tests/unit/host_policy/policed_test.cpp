// A driver under a host policy writes nothing that the policy refuses, whoever calls it.
#include "drivers/host_policy/policed.hpp"

#include <gtest/gtest.h>

#include "drivers/sim/simulated_device.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

const Path kAllowed(row("sysctl[*]"), {"vm.swappiness"});
const Path kRefused(row("sysctl[*]"), {"kernel.core_pattern"});

// A remedy that counts how often it runs.
class CountedRemedy : public Remedy {
 public:
  std::optional<Offer> offer(const Change&) const override {
    return Offer{"try", "tries", Disruption::none, 1, std::chrono::seconds(1)};
  }
  Result<Done> cure(const ChangeSet&, const Call&) override {
    ++cures;
    return Done{};
  }
  int cures = 0;
};

class Policed : public testing::Test {
 protected:
  void SetUp() override { attach("gpu1"); }
  void attach(const std::string& device) {
    auto simulated = std::make_unique<SimulatedDevice>(device, 1);
    device_ = simulated.get();
    Attached inner = attach_simulated(std::move(simulated));
    inner.remedy = &remedy_;
    attached_ = under_host_policy(std::move(inner), {device, "pod1", DriverName::linux_kernel},
                                  [this] { return policy_; });
  }
  Result<Receipt> apply(const ChangeSet& changes, const Guard& guard = {}) {
    return attached_.driver->apply(changes, guard, Call{});
  }
  HostPolicy policy_ = HostPolicy::by_default("gpu1");
  CountedRemedy remedy_;
  SimulatedDevice* device_ = nullptr;
  Attached attached_;
};

const Change kGood{kAllowed, {}, Value::text("1"), 0};
const Change kBad{kRefused, {}, Value::text("|/tmp/x"), 0};

TEST_F(Policed, AnApplyWithOneRefusedChangeWritesNothing) {
  const Result<Receipt> answer = apply({kGood, kBad});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::denied);
  EXPECT_NE(answer.error().text().find("kernel.core_pattern"), std::string::npos) << answer.error().text();
  EXPECT_TRUE(device_->truth().entries().empty());
  EXPECT_EQ(device_->writes(), 0U);
  ASSERT_TRUE(apply({kGood}));
  EXPECT_EQ(device_->truth().value(kAllowed), Value::text("1"));
}

TEST_F(Policed, ChecksTheUndoOfAnArmedDeviceToo) {
  Guard guard;
  guard.undo = {{kRefused, Value::text("core"), Value::text("|/tmp/x"), 0}};
  EXPECT_FALSE(apply({kGood}, guard));
  EXPECT_TRUE(device_->truth().entries().empty());
}

TEST_F(Policed, DoesNotTryARefusedRemedy) {
  EXPECT_FALSE(attached_.remedy->cure({kBad}, Call{}));
  EXPECT_EQ(remedy_.cures, 0);
  EXPECT_TRUE(attached_.remedy->cure({kGood}, Call{}));
  EXPECT_EQ(remedy_.cures, 1);
}

TEST_F(Policed, ReportsRefusalsInAdvance) {
  ASSERT_NE(attached_.permission, nullptr);
  EXPECT_TRUE(attached_.permission->why_not(kBad));
  EXPECT_FALSE(attached_.permission->why_not(kGood));
}

TEST_F(Policed, SpecsForAnotherMachineChangeNothing) {
  attach("this-machine");
  EXPECT_TRUE(attached_.driver->observe({}, "", Call{})) << "reading needs no permission";
  EXPECT_TRUE(attached_.permission->why_not(kGood));
  EXPECT_FALSE(apply({kGood}));
  EXPECT_TRUE(device_->truth().entries().empty());
}

TEST_F(Policed, AnEditOfThePolicyTakesEffectImmediately) {
  ASSERT_TRUE(apply({kGood}));
  Sources sources;
  Diagnostics wrong;
  policy_ = HostPolicy::from_text("host.yaml",
                                  "apiVersion: lockstep.dev/v1alpha1\nkind: HostPolicy\n"
                                  "spec: {sysctls: {refuse: [vm.swappiness]}}\n",
                                  "gpu1", sources, wrong);
  ASSERT_TRUE(wrong.empty());
  EXPECT_FALSE(apply({{kAllowed, Value::text("1"), Value::text("2"), 0}}));
  EXPECT_EQ(device_->truth().value(kAllowed), Value::text("1"));
  EXPECT_TRUE(attached_.permission->why_not(kGood));
}

}  // namespace
}  // namespace lockstep
