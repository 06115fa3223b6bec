// Commands that would disturb each other on one twin are refused or wait, and report the other process.
#include <unistd.h>

#include <memory>
#include <optional>

#include "reconciler/store/file_lock.hpp"
#include "tests/needs.hpp"
#include "tests/twin/pod.hpp"

namespace lockstep::twin_test {
namespace {

class Turns : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = Pod::impossible(); !why.empty()) LOCKSTEP_NOT_TESTED_BUT_ON_CI(why);
    pod_ = std::make_unique<Pod>();
  }
  std::string by_us() const { return "by process " + std::to_string(::getpid()); }

  std::unique_ptr<Pod> pod_;
};

TEST_F(Turns, TwinDownIsRefusedDuringAWriteUnlessForced) {
  const auto writing = lock_for_writing(pod_->state(), "lockstep apply");
  ASSERT_TRUE(writing) << writing.error().text();
  const Said refused = pod_->run({"twin", "down", pod_->specs()});
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.out.find(by_us()), std::string::npos) << refused.out;
  EXPECT_NE(refused.out.find("(lockstep apply)"), std::string::npos) << refused.out;
  EXPECT_EQ(pod_->run({"twin", "status", pod_->specs()}).code, 0) << "it is untouched";
  const Said forced = pod_->run({"twin", "down", "--force", pod_->specs()});
  EXPECT_EQ(forced.code, 0) << forced.out;
  EXPECT_EQ(pod_->run({"twin", "status", pod_->specs()}).code, 1);
}

TEST_F(Turns, SecondBenchReportsThatItWaitsForTheFirst) {
  std::optional<Result<FileLock>> first(lock_for_measuring(pod_->state(), "lockstep bench"));
  ASSERT_TRUE(*first) << first->error().text();
  const Said refused = pod_->run({"twin", "down", pod_->specs()});
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.out.find("being measured " + by_us()), std::string::npos) << refused.out;
  Running bench(pod_->argv({"bench", "--twin", "--only", "latency", pod_->specs()}),
                std::chrono::seconds(300));
  EXPECT_TRUE(bench.says("waiting: this cluster is being measured " + by_us()));
  first.reset();
  const Said measured = bench.end();
  EXPECT_EQ(measured.code, 0) << measured.out;
  EXPECT_NE(measured.out.find("latency"), std::string::npos) << measured.out;
}

}  // namespace
}  // namespace lockstep::twin_test
