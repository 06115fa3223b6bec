// `lockstep apply PLAN.json`: which options are allowed with a plan file.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "reconciler/session/plan_file.hpp"
#include "said.hpp"
#include "tests/needs.hpp"

namespace lockstep {
namespace {

TEST(ApplyOfAPlanFile, RefusesOptionsThatChangeItsTarget) {
  std::string folder = (std::filesystem::temp_directory_path() / "lockstep-plan-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string file = folder + "/plan.json";
  PlanAim aim;
  aim.source.specs = {folder};
  aim.source.twin = true;
  ASSERT_TRUE(write_plan_file(file, aim, *make_plan({})));
  const Answer narrowed = say({"apply", "--yes", "--only", "gpu2", file});
  EXPECT_EQ(narrowed.code, 1);
  EXPECT_NE(narrowed.err.find("is applied as a whole: `lockstep plan --only gpu2 --out FILE` narrows a plan"),
            std::string::npos)
      << narrowed.err;
  EXPECT_NE(say({"apply", "--yes", "--renumber", file}).err.find("--renumber is for `lockstep plan`"),
            std::string::npos);
  aim.source.twin = false;
  ASSERT_TRUE(write_plan_file(file, aim, *make_plan({})));
  EXPECT_NE(say({"apply", "--yes", "--twin", file}).err.find("was not planned for a twin"),
            std::string::npos);
  std::filesystem::remove_all(folder);
}

// Specs whose only device is unreachable from this machine: the plan is empty, and nothing is written.
class SignedPlanFile : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v ssh-keygen >/dev/null") != 0)
      LOCKSTEP_NOT_TESTED_BUT_ON_CI("needs ssh-keygen (openssh-client)");
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    ::setenv("LOCKSTEP_STATE_DIR", (folder + "/state").c_str(), 1);
    name_cluster("lab");
    ASSERT_EQ(std::system(("ssh-keygen -q -t ed25519 -N '' -C '' -f " + at("key")).c_str()), 0);
    std::ifstream in(at("key.pub"));
    std::string key;
    std::getline(in, key);
    std::ofstream(at("signers")) << "alice " << key << "\n";
  }
  void TearDown() override {
    ::unsetenv("LOCKSTEP_STATE_DIR");
    std::filesystem::remove_all(folder);
  }
  void name_cluster(const std::string& name) {
    std::filesystem::create_directories(at("specs"));
    std::ofstream(at("specs/all.yaml"))
        << "apiVersion: lockstep.dev/v1alpha1\nkind: Cluster\nmetadata: {name: " << name
        << "}\nspec: {mode: converge}\n---\n"
        << "apiVersion: lockstep.dev/v1alpha1\nkind: DeviceSet\n"
        << "metadata: {name: hosts}\nspec: {names: gpu1, role: host, drivers: [eos]}\n";
  }
  Answer apply(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"apply", "--yes", at("plan.json")});
    return say(more);
  }

  std::string at(const std::string& name) const { return folder + "/" + name; }

  std::string folder = (std::filesystem::temp_directory_path() / "lockstep-signed-XXXXXX").string();
};

TEST_F(SignedPlanFile, IsAppliedAndNamesItsSigner) {
  const Answer planned = say({"plan", at("specs"), "--out", at("plan.json"), "--sign", at("key")});
  ASSERT_TRUE(std::filesystem::exists(at("plan.json.sig"))) << planned.err;
  const Answer applied = apply({"--allowed-signers", at("signers")});
  EXPECT_NE(applied.err.find("is of cluster lab: specs " + at("specs") + ", approved by alice\n"),
            std::string::npos)
      << applied.err;
  EXPECT_EQ(planned.code, 3) << "its device is unreachable";
  EXPECT_EQ(applied.code, 3) << applied.err;
  EXPECT_FALSE(std::filesystem::exists(at("specs/allocations.lock"))) << "nothing is begun";
  EXPECT_EQ(apply().err.find("approved by"), std::string::npos) << "nobody looked";
}

TEST_F(SignedPlanFile, WithoutAValidSignatureNothingStarts) {
  say({"plan", at("specs"), "--out", at("plan.json")});
  EXPECT_EQ(apply({"--allowed-signers", at("signers")}).code, 1) << "no signature";
  say({"plan", at("specs"), "--out", at("plan.json"), "--sign", at("key")});
  std::ofstream(at("plan.json"), std::ios::app) << " ";
  const Answer altered = apply({"--allowed-signers", at("signers")});
  EXPECT_EQ(altered.code, 1);
  EXPECT_NE(altered.err.find("is no signature by alice of this plan file"), std::string::npos) << altered.err;
  EXPECT_FALSE(std::filesystem::exists(at("state"))) << "the cluster was touched";
}

TEST_F(SignedPlanFile, SignatureOptionsRequireAPlanFile) {
  EXPECT_EQ(say({"plan", at("specs"), "--sign", at("key")}).code, 1);
  const Answer specs = say({"apply", "--yes", at("specs"), "--allowed-signers", at("signers")});
  EXPECT_EQ(specs.code, 1);
  EXPECT_NE(specs.err.find("is for a plan file"), std::string::npos) << specs.err;
}

TEST_F(SignedPlanFile, OfAnotherClusterIsRefused) {
  say({"plan", at("specs"), "--out", at("plan.json")});
  name_cluster("prod");
  const Answer applied = apply();
  EXPECT_EQ(applied.code, 1);
  EXPECT_NE(applied.err.find("was made for cluster lab, and its specs are of prod now: plan again"),
            std::string::npos)
      << applied.err;
}

TEST_F(SignedPlanFile, RefusesSpecsFromStandardInput) {
  const PlanAim aim{.source = {.specs = {"-"}}, .only = "", .cluster = "lab"};
  const Result<Done> written = write_plan_file(at("plan.json"), aim, *make_plan({}));
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().text().find("came from standard input"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
