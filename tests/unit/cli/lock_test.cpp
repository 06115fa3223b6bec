// `lockstep lock` and `validate --locked`: the numbers that git has are those that an apply gives out.
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "said.hpp"
#include "specs_copy.hpp"

namespace lockstep {
namespace {

class Lock : public testing::Test {
 protected:
  void SetUp() override { ::setenv("LOCKSTEP_STATE_DIR", (copy_.path() + "/../state").c_str(), 1); }
  void TearDown() override { ::unsetenv("LOCKSTEP_STATE_DIR"); }
  std::string file() const { return copy_.path() + "/allocations.lock"; }
  nlohmann::json written() const { return nlohmann::json::parse(text_of(file())); }
  Answer locked() const { return say({"validate", "--locked", copy_.path()}); }
  Answer lock() const { return say({"lock", copy_.path()}); }
  // A fifth host, and a port for it at each leaf.
  void add_a_host() {
    copy_.replace("devices.yaml", "names: gpu[1-4]", "names: gpu[1-5]")
        .replace("fabric.yaml", "{from: \"gpu[1-4]:rail[0-1]\", to: \"leaf[0-1]:swp[1-4]\"",
                 "{from: \"gpu[1-5]:rail[0-1]\", to: \"leaf[0-1]:swp[1-5]\"");
  }
  SpecsCopy copy_;
};

TEST_F(Lock, SpecsWithoutTheFileAreNotLocked) {
  const Answer said = locked();
  EXPECT_EQ(said.code, 1);
  EXPECT_NE(said.err.find("allocations.lock does not name this cluster; it lacks "), std::string::npos)
      << said.err;
  EXPECT_NE(said.err.find("run `lockstep lock`, and commit the file"), std::string::npos) << said.err;
  EXPECT_FALSE(std::filesystem::exists(file())) << "validate touches nothing";
}

TEST_F(Lock, WritesWhatValidateAsksForAndChangesNothingAgain) {
  const Answer first = lock();
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_NE(first.out.find("allocations.lock is written: the cluster's name and UUID; "), std::string::npos)
      << first.out;
  EXPECT_EQ(locked().code, 0) << locked().err;
  const std::string before = text_of(file());
  EXPECT_EQ(lock().out, "allocations.lock is up to date\n");
  EXPECT_EQ(text_of(file()), before);
}

TEST_F(Lock, ANewDeviceIsNamedAndRenumbersNothing) {
  ASSERT_EQ(lock().code, 0);
  const nlohmann::json before = written();
  add_a_host();
  const Answer stale = locked();
  EXPECT_EQ(stale.code, 1);
  EXPECT_NE(stale.err.find("lacks 1 number (Fabric/backend port/leaves swp5)"), std::string::npos)
      << stale.err;
  EXPECT_EQ(written(), before);
  const Answer said = say({"lock", "-o", "json", copy_.path()});
  ASSERT_EQ(said.code, 0) << said.err;
  const nlohmann::json report = nlohmann::json::parse(said.out);
  EXPECT_EQ(report["kind"], "LockReport");
  EXPECT_FALSE(report["given"].empty());
  EXPECT_TRUE(report["moved"].empty()) << report;
  EXPECT_TRUE(report["freed"].empty()) << report;
  const nlohmann::json after = written();
  EXPECT_EQ(after["cluster"], before["cluster"]);
  for (const auto& [pool, numbers] : before["pools"].items())
    for (const auto& [name, number] : numbers.items())
      EXPECT_EQ(after["pools"][pool][name], number) << pool << " " << name;
  EXPECT_EQ(locked().code, 0) << locked().err;
}

TEST_F(Lock, NumbersStayWithTheirNamesUntilTheyAreGivenOutAnew) {
  add_a_host();
  ASSERT_EQ(lock().code, 0);
  const std::string before = text_of(file());
  copy_.replace("devices.yaml", "names: gpu[1-5]", "names: gpu[1-4]")
      .replace("fabric.yaml", "gpu[1-5]:rail[0-1]\", to: \"leaf[0-1]:swp[1-5]\"",
               "gpu[1-4]:rail[0-1]\", to: \"leaf[0-1]:swp[1-4]\"");
  EXPECT_EQ(locked().code, 0) << locked().err;
  EXPECT_EQ(lock().out, "allocations.lock is up to date\n");
  EXPECT_EQ(text_of(file()), before) << "gpu5 may come back";
  const Answer anew = say({"lock", "--renumber", copy_.path()});
  EXPECT_EQ(anew.out,
            "allocations.lock is written: 1 number (Fabric/backend port/leaves swp5) freed; commit it\n")
      << anew.err;
  EXPECT_EQ(text_of(file()).find("swp5"), std::string::npos);
}

TEST_F(Lock, InvalidSpecsWriteNothing) {
  copy_.replace("fabric.yaml", "hosts: 10.64.0.0/16", "hosts: 10.64.0.0/33");
  EXPECT_EQ(lock().code, 1);
  EXPECT_FALSE(std::filesystem::exists(file()));
}

}  // namespace
}  // namespace lockstep
