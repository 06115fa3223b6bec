// `lockstep apply` when a selected device could not be observed: refused before anything is written or, with
// --partial, done without that device; and the values of --approve.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "said.hpp"

namespace lockstep {
namespace {

// This machine under a wrong name, so that its host policy refuses all writes, and a device that is
// unreachable from here. allocations.lock, which is written first, and the journal show that an apply began.
class PartialApply : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    ::setenv("LOCKSTEP_STATE_DIR", (folder + "/state").c_str(), 1);
    ::setenv("LOCKSTEP_RUN_DIR", (folder + "/run").c_str(), 1);
    std::filesystem::create_directories(folder + "/specs");
    std::ofstream(folder + "/specs/all.yaml") << R"yaml(apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: mine, labels: {pool: lab}}
spec: {names: not-this-machine-s-name, role: host, drivers: [linux], connect: {local: true}}
---
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: others}
spec: {names: gpu2, role: host, drivers: [eos]}
---
apiVersion: lockstep.dev/v1alpha1
kind: HostProfile
metadata: {name: p}
spec: {selector: {matchLabels: {pool: lab}}, sysctl: {net.ipv4.tcp_probe_interval: 12345}}
)yaml";
  }
  void TearDown() override {
    ::unsetenv("LOCKSTEP_STATE_DIR");
    ::unsetenv("LOCKSTEP_RUN_DIR");
    std::filesystem::remove_all(folder);
  }
  Answer apply(const std::vector<std::string>& more) {
    std::vector<std::string> words{"apply", "--yes", folder + "/specs"};
    words.insert(words.end(), more.begin(), more.end());
    return say(words);
  }
  bool has_uuid() const { return std::filesystem::exists(folder + "/specs/allocations.lock"); }
  // Whether the journal has a change.
  bool began() const {
    return say({"state", "show", "-o", "json", folder + "/specs"}).out.find("\"total\": 0") ==
           std::string::npos;
  }
  std::string folder = (std::filesystem::temp_directory_path() / "lockstep-partial-XXXXXX").string();
};

TEST_F(PartialApply, RequiresThePartialOption) {
  const Answer refused = apply({});
  EXPECT_EQ(refused.code, 3) << "as drift, and an apply with nothing to do elsewhere";
  EXPECT_NE(refused.err.find("gpu2 could not be observed: unreachable from this machine"), std::string::npos)
      << refused.err;
  EXPECT_NE(refused.err.find("--partial does what can be done without them"), std::string::npos);
  EXPECT_FALSE(began());
  EXPECT_FALSE(has_uuid()) << "an apply that is refused leaves the specs' folder as it is";
  const Answer partial = apply({"--partial"});
  EXPECT_EQ(partial.err.find("--partial"), std::string::npos) << partial.err;
  EXPECT_TRUE(began()) << partial.err;
  EXPECT_TRUE(has_uuid());
}

TEST_F(PartialApply, IsNotNeededForUnselectedDevices) {
  const Answer mine = apply({"--only", "not-this-machine-s-name"});
  EXPECT_EQ(mine.err.find("--partial"), std::string::npos) << mine.err;
  EXPECT_TRUE(began());
}

TEST_F(PartialApply, PlanReportsThatApplyNeedsPartial) {
  const Answer plan = say({"plan", folder + "/specs"});
  EXPECT_NE(plan.out.find("an apply without them needs --partial: gpu2 could not be observed"),
            std::string::npos)
      << plan.out;
  EXPECT_NE(say({"plan", "-o", "json", folder + "/specs"}).out.find("\"needsPartial\": \"gpu2"),
            std::string::npos);
}

TEST_F(PartialApply, RefusesUnknownKindOfHold) {
  const Answer mistaken = apply({"--partial", "--approve", "budget,drian"});
  EXPECT_EQ(mistaken.code, 1);
  EXPECT_NE(mistaken.err.find("--approve: unknown hold 'drian'; did you mean 'drain'?"), std::string::npos)
      << mistaken.err;
  EXPECT_FALSE(std::filesystem::exists(folder + "/state"));
  EXPECT_NE(apply({"--partial", "--approve", "window"}).err.find("'window' cannot be approved"),
            std::string::npos);
}

// No approval allows what a host policy refuses.
TEST_F(PartialApply, ApprovalDoesNotOverrideTheHostPolicy) {
  const Answer all = apply({"--partial", "--approve", "approval,budget,drain,far-end"});
  EXPECT_EQ(all.code, 1) << all.out;
  EXPECT_NE(all.out.find("held: "), std::string::npos) << all.out;
}

TEST_F(PartialApply, OnlyValidateReportsFieldsWithoutEffect) {
  std::ofstream(folder + "/specs/cluster.yaml")
      << "apiVersion: lockstep.dev/v1alpha1\nkind: Cluster\nmetadata: {name: lab}\nspec:\n"
         "  scheduler: {kind: slurm}\n---\napiVersion: lockstep.dev/v1alpha1\nkind: DeviceSet\n"
         "metadata: {name: leaves}\nspec: {names: leaf0, role: leaf, drivers: [nvue]}\n";
  const std::vector<std::string> specs{folder + "/specs"};
  const Answer validated = say({"validate", specs[0]});
  EXPECT_EQ(validated.code, 0);
  EXPECT_NE(validated.err.find("cluster.yaml:5:3"), std::string::npos) << validated.err;
  EXPECT_NE(validated.err.find("'scheduler' in a Cluster has no effect yet"), std::string::npos);
  EXPECT_NE(validated.err.find("driver 'nvue' has no effect yet: such devices are planned and checked, and "
                               "not reached"),
            std::string::npos)
      << validated.err;
  EXPECT_EQ(say({"validate", "--strict", specs[0]}).code, 0) << "a note";
  EXPECT_EQ(say({"plan", specs[0]}).err.find("no effect"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
