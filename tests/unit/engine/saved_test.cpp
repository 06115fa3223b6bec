// Saving changes across a restart: planned after the changes, read back, and never rolled back.
#include <gtest/gtest.h>

#include "cluster.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/plan_lines.hpp"

namespace lockstep {
namespace {

constexpr const char* kSaved = "routing-config/saved";

// A device that saves nothing by itself and may be unable to, like FRR with its configuration file.
class Forgetful : public Driver {
 public:
  explicit Forgetful(SimulatedDevice& device) : device_(device) {}
  Result<Traits> traits(const Call& call) override { return device_.traits(call); }
  Result<Observation> observe(const Scope& scope, std::string_view, const Call& call) override {
    auto seen = device_.observe(scope, "", call);
    if (seen && !saved) seen->have.erase(entry(kSaved));
    if (seen) seen->revision.clear();
    return seen;
  }
  Result<Receipt> apply(const ChangeSet& changes, const Guard& guard, const Call& call) override {
    Guard own = guard;
    own.revision.clear();
    auto receipt = device_.apply(changes, own, call);
    if (!receipt) return receipt;
    saved = !refuses;
    ++saves;
    if (refuses)
      for (auto& outcome : receipt->outcomes) outcome.error = Error{kind, "frr.conf: Read-only file system"};
    return receipt;
  }
  Result<Done> settle(std::string_view transaction, Settlement settlement, const Call& call) override {
    return device_.settle(transaction, settlement, call);
  }

  bool saved = true;
  bool refuses = false;
  int saves = 0;
  ErrorKind kind = ErrorKind::denied;

 private:
  SimulatedDevice& device_;
};

struct Leaf {
  Leaf() {
    auto& device = cluster.add("leaf0", "leaf");
    device.set(entry("bgp/max-paths"), number(64));
    device.set(entry(kSaved), there());
    simulated = std::move(cluster.attached(0).driver);
    auto driver = std::make_unique<Forgetful>(device);
    disk = driver.get();
    cluster.attached(0).driver = std::move(driver);
    cluster.want("leaf0", "bgp/max-paths", number(64));
    cluster.want("leaf0", kSaved, there());
  }
  Cluster cluster;
  std::unique_ptr<Driver> simulated;
  Forgetful* disk = nullptr;
};

TEST(SavedConfiguration, IsPlannedAfterTheChangesItSaves) {
  Leaf leaf;
  leaf.cluster.want("leaf0", "bgp/max-paths", number(32));
  leaf.cluster.want("leaf0", "interface[swp1]/mtu", number(9000));
  EXPECT_EQ(plan_lines(leaf.cluster.plan()),
            "step 1 leaf0 by sim wave 1 traffic\n"
            "  interface[swp1]/mtu: (none) -> 9000\n"
            "  bgp/max-paths: 64 -> 32\n"
            "  routing-config/saved: (none) -> present\n");
}

// A switch that boots from a file: until a change is kept, a boot brings back what was there before it.
TEST(SavedConfiguration, OfASwitchIsAStepOfItsOwnAfterWhatItSavesWasKept) {
  Leaf leaf;
  constexpr const char* kFile = "switch-config/saved";
  leaf.cluster.devices["leaf0"]->set(entry(kFile), there());
  leaf.cluster.want("leaf0", kFile, there());
  leaf.cluster.want("leaf0", "interface[swp1]/mtu", number(9000));
  leaf.cluster.want("leaf0", "interface[swp2]/mtu", number(9000));
  const Plan plan = leaf.cluster.plan();
  EXPECT_EQ(plan_lines(plan),
            "step 1 leaf0 by sim wave 1 traffic\n"
            "  interface[swp1]/mtu: (none) -> 9000\n"
            "  interface[swp2]/mtu: (none) -> 9000\n"
            "step 2 leaf0 by sim wave 1 none after 1\n"
            "  switch-config/saved: (none) -> present\n");
}

TEST(SavedConfiguration, IsNotPlannedWhenUnaffectedOrNotDesired) {
  Leaf leaf;
  leaf.cluster.want("leaf0", "interface[swp1]/mtu", number(9000));
  EXPECT_EQ(leaf.cluster.plan().changes(), 1U);
  Leaf other;
  other.cluster.intents["leaf0"]->want.erase(entry(kSaved));
  other.cluster.want("leaf0", "bgp/max-paths", number(32));
  EXPECT_EQ(other.cluster.plan().changes(), 1U);
}

TEST(SavedConfiguration, IsAStepOfItsOwnWhenOnlyItIsMissing) {
  Leaf leaf;
  leaf.disk->saved = false;
  const Plan plan = leaf.cluster.plan();
  EXPECT_EQ(plan_lines(plan), "step 1 leaf0 by sim wave 1 none\n  routing-config/saved: (none) -> present\n");
  EXPECT_EQ(leaf.cluster.apply_plan(plan).verdict, ApplyVerdict::kept);
  EXPECT_TRUE(leaf.cluster.plan().empty());
}

TEST(SavedConfiguration, FailureToSaveFailsTheStepWithTheReason) {
  for (const ErrorKind kind : {ErrorKind::denied, ErrorKind::unknown_outcome, ErrorKind::transient}) {
    Leaf leaf;
    leaf.disk->refuses = true;
    leaf.disk->kind = kind;
    leaf.cluster.want("leaf0", "bgp/max-paths", number(32));
    const ApplyReport report = leaf.cluster.converge();
    EXPECT_EQ(report.verdict, ApplyVerdict::partly);
    EXPECT_EQ(report.exit_code(), 1);
    ASSERT_EQ(report.steps.size(), 1U);
    EXPECT_EQ(report.steps[0].state, StepState::failed);
    EXPECT_NE(report.steps[0].why.find("frr.conf: Read-only file system"), std::string::npos)
        << report.steps[0].why;
    EXPECT_FALSE(leaf.cluster.plan().empty());
    EXPECT_EQ(leaf.cluster.converge().exit_code(), 1) << "as long as it is so";
    leaf.disk->refuses = false;
    EXPECT_EQ(leaf.cluster.converge().exit_code(), 0);
    EXPECT_TRUE(leaf.cluster.plan().empty());
  }
}

TEST(SavedConfiguration, IsSavedAgainByARollback) {
  Leaf leaf;
  leaf.disk->saved = false;
  leaf.cluster.want("leaf0", "bgp/max-paths", number(32));
  const Plan plan = leaf.cluster.plan();
  ASSERT_EQ(leaf.cluster.apply_plan(plan).verdict, ApplyVerdict::kept);
  const auto back = make_plan(undo_of(plan, leaf.cluster.fleet(), leaf.cluster.observe()).input);
  ASSERT_TRUE(back);
  EXPECT_EQ(plan_lines(*back),
            "step 1 leaf0 by sim wave 1 traffic\n"
            "  bgp/max-paths: 32 -> 64\n"
            "  routing-config/saved: (none) -> present\n");
  leaf.disk->refuses = true;
  EXPECT_EQ(leaf.cluster.apply_plan(*back).verdict, ApplyVerdict::partly) << "undone, and not saved";
}

TEST(SavedConfiguration, MissingSaveDoesNotSuppressARemedy) {
  Leaf leaf;
  leaf.disk->saved = false;
  DeviceInput device;
  device.name = "leaf0";
  device.intent = leaf.cluster.intents["leaf0"];
  const Observation seen;
  device.observation = &seen;
  device.changes = {{entry(kSaved), {}, there(), 0}};
  device.effects = {
      {entry("routing-daemon[rib]"), Value::text("zebra does not run"), Value::text("running"), 0}};
  device.remedy = [](const Change&) {
    return std::optional(
        std::pair(std::string("sim"),
                  Remedy::Offer{"restart-daemon", "", Disruption::traffic, 3, std::chrono::seconds(300)}));
  };
  PlanInput input;
  input.devices.push_back(device);
  const auto plan = make_plan(input);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->steps.size(), 2U);
  input.devices[0].changes.push_back({entry("bgp/max-paths"), number(64), number(32), 0});
  const auto other = make_plan(input);
  ASSERT_TRUE(other);
  ASSERT_EQ(other->steps.size(), 2U);
  EXPECT_TRUE(other->steps[0].remedy.empty()) << "what differs could be the cause, and comes first";
}

}  // namespace
}  // namespace lockstep
