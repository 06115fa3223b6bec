// Compares one observation of a host with eight RoCE ports with the usual tools that read the same,
// alternating in the same emulated machine. The verdict is based on the 95 % confidence interval of the
// geometric mean of the ratios. tests/perf/observe_vs_tools.sh runs it; README.md there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numeric>

#include "drivers/linux/driver.hpp"
#include "tests/vm/by_hand.hpp"
#include "tests/vm/nic_lab.hpp"

namespace lockstep {
namespace {

constexpr int kPorts = 8;
constexpr int kRounds = 6;
constexpr double kStudent = 2.571;  // Student's t, 97.5 %, 5 degrees of freedom: one less than the rounds
constexpr double kGoal = 10;

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class BesideTools : public NicLab {
 protected:
  void SetUp() override {
    NicLab::SetUp();
    for (int i = 0; i < kPorts; ++i) make("rail" + std::to_string(i), "mlx5");
    for (int i = 0; i < kPorts; ++i) {
      const std::string port = "rail" + std::to_string(i);
      by_hand("ip link set " + port + " up");
      by_hand("rdma link add rxe" + std::to_string(i) + " type rxe netdev " + port);
    }
  }
  void TearDown() override {
    for (int i = 0; i < kPorts; ++i) by_hand("rdma link delete rxe" + std::to_string(i));
    NicLab::TearDown();
  }

  // The tools that report what the rows of the driver report; some have no result here, as has the driver.
  static void tools() {
    const auto quietly = [](const std::string& words) { ASSERT_NE(status_of(words, true), -1) << words; };
    for (int i = 0; i < kPorts; ++i) {
      const std::string port = "rail" + std::to_string(i);
      for (const char* const object : {"pfc", "ets", "buffer", "app", "maxrate", "dcbx"})
        quietly(std::string("dcb -j ") + object + " show dev " + port);
      for (const char* const question : {"", "-a ", "-g ", "-c ", "-l ", "-k ", "--show-fec "})
        quietly("ethtool " + std::string(question) + port);
    }
    for (const char* const once :
         {"ip -j -d link", "ip -j address", "ip -j route show table all", "ip -j rule", "tc -j qdisc",
          "rdma -j dev", "rdma -j link", "devlink -j dev info", "devlink -j dev param", "devlink -j health",
          "devlink -j port"})
      quietly(once);
  }
};

TEST_F(BesideTools, IsTenTimesFaster) {
  LinuxTarget target;
  target.device = "gpu1";
  target.software_rate = false;
  Attached ours = make_linux_driver(target);
  std::size_t entries = 0;
  std::vector<double> mine;
  std::vector<double> theirs;
  const auto observe = [&] {
    const auto seen = ours.driver->observe(Scope{}, "", soon());
    ASSERT_TRUE(seen) << seen.error().text();
    entries = seen->have.size();
  };
  observe();  // warm-up of what is read once per process, as in a daemon
  for (int round = 0; round < kRounds; ++round) {
    if (round % 2 == 0) mine.push_back(seconds_of(observe));
    theirs.push_back(seconds_of(tools));
    if (round % 2 == 1) mine.push_back(seconds_of(observe));
  }
  std::vector<double> logs;
  for (std::size_t i = 0; i < mine.size(); ++i) logs.push_back(std::log(theirs[i] / mine[i]));
  const double mean = std::accumulate(logs.begin(), logs.end(), 0.0) / kRounds;
  double squares = 0;
  for (const double one : logs) squares += (one - mean) * (one - mean);
  const double half = kStudent * std::sqrt(squares / (kRounds - 1) / kRounds);
  std::sort(mine.begin(), mine.end());
  std::sort(theirs.begin(), theirs.end());
  std::printf(
      "RESULT observe ours %.1f ms (%zu entries)  tools %.1f ms  ratio %.1f (95 %% of %.1f to %.1f)\n",
      mine[kRounds / 2] * 1e3, entries, theirs[kRounds / 2] * 1e3, std::exp(mean), std::exp(mean - half),
      std::exp(mean + half));
  EXPECT_GE(std::exp(mean - half), kGoal);
}

}  // namespace
}  // namespace lockstep
