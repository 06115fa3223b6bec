// Tests the rule of tests/needs.hpp and tests/needs.sh.
#include "tests/needs.hpp"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <optional>
#include <string>

namespace lockstep {
namespace {

class Needs : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* const ci = std::getenv("CI")) before_ = ci;
  }
  void TearDown() override {
    if (before_)
      ::setenv("CI", before_->c_str(), 1);
    else
      ::unsetenv("CI");
  }

  // The result of a test that calls `by`.
  static testing::TestPartResult result_of(void (*by)()) {
    testing::TestPartResultArray results;
    {
      const testing::ScopedFakeTestPartResultReporter reporter(&results);
      by();
    }
    EXPECT_EQ(results.size(), 1);
    return results.GetTestPartResult(0);
  }
  static int exit_code(const std::string& script) {
    const int status = std::system((". " LOCKSTEP_SOURCE_DIR "/tests/needs.sh; " + script).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  static void lacks_a_package() { LOCKSTEP_NOT_TESTED_BUT_ON_CI("needs lldpd"); }
  static void lacks_a_feature() { LOCKSTEP_NOT_TESTED("a feature of newer kernels"); }

 private:
  std::optional<std::string> before_;
};

TEST_F(Needs, MissingPackageSkipsTheTestAndFailsOnCi) {
  for (const char* const elsewhere : {"", "false"}) {
    ::setenv("CI", elsewhere, 1);
    const testing::TestPartResult skipped = result_of(lacks_a_package);
    EXPECT_TRUE(skipped.skipped());
    EXPECT_NE(std::string(skipped.message()).find("not tested: needs lldpd"), std::string::npos);
    EXPECT_EQ(exit_code("not_tested_but_on_ci needs lldpd >/dev/null"), 77);
  }
  for (const char* const here : {"true", "1"}) {
    ::setenv("CI", here, 1);
    const testing::TestPartResult failed = result_of(lacks_a_package);
    EXPECT_TRUE(failed.fatally_failed());
    EXPECT_NE(std::string(failed.message()).find("this must run on CI: needs lldpd"), std::string::npos);
    EXPECT_EQ(exit_code("not_tested_but_on_ci needs lldpd >/dev/null"), 1);
  }
}

TEST_F(Needs, MissingFeatureSkipsTheTestEverywhere) {
  for (const char* const ci : {"", "true"}) {
    ::setenv("CI", ci, 1);
    EXPECT_TRUE(result_of(lacks_a_feature).skipped());
    EXPECT_EQ(exit_code("not_tested a feature of newer kernels >/dev/null"), 77);
  }
}

}  // namespace
}  // namespace lockstep
