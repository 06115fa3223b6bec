#include "reconciler/cli/suites.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace lockstep {
namespace {

class TurnToMeasure : public testing::Test {
 protected:
  TurnToMeasure() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-turn-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    ::setenv("LOCKSTEP_STATE_DIR", directory_.c_str(), 1);
    cluster_.id = "pod";
  }
  ~TurnToMeasure() override {
    ::unsetenv("LOCKSTEP_STATE_DIR");
    std::filesystem::remove_all(directory_);
  }

  std::string directory_;
  OpenedCluster cluster_;
};

TEST_F(TurnToMeasure, IsNotTakenByACallThatIsOver) {
  std::stop_source stop;
  stop.request_stop();
  const auto stopped = turn_to_measure(cluster_, "lockstep bench", {.stop = stop.get_token()});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().kind, ErrorKind::cancelled);
  const auto late = turn_to_measure(cluster_, "lockstep bench", {.deadline = Time::min(), .stop = {}});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, ErrorKind::transient);
  EXPECT_TRUE(turn_to_measure(cluster_, "lockstep bench", {}));
}

TEST_F(TurnToMeasure, AWaitThatIsOverNamesWhoMeasures) {
  const auto first = turn_to_measure(cluster_, "lockstep apply", {});
  ASSERT_TRUE(first) << first.error().text();
  const auto second = turn_to_measure(
      cluster_, "lockstep bench",
      {.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20), .stop = {}});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::conflict) << second.error().text();
}

}  // namespace
}  // namespace lockstep
