// Ctrl-C while the cluster is observed: an incomplete observation must not be reported as drift.
#include <cstdlib>

#include "tests/needs.hpp"
#include "tests/twin/pod.hpp"

namespace lockstep::twin_test {
namespace {

TEST(Interrupted, InterruptedObservationReportsNoDrift) {
  if (const std::string why = Pod::impossible(); !why.empty()) LOCKSTEP_NOT_TESTED_BUT_ON_CI(why);
  const Pod pod;
  ASSERT_EQ(pod.drift().code, 0);
  for (int ms = 5; ms < 200; ms += 5) {
    std::vector<std::string> words{"/usr/bin/timeout", "--preserve-status", "--signal=INT",
                                   std::to_string(ms / 1000.0)};
    for (const std::string& word : pod.argv({"drift", "--twin", "-o", "json", pod.specs()}))
      words.push_back(word);
    const Said said = Running(words, std::chrono::seconds(60)).end();
    constexpr int kBeforeItTookTheSignal = 130;  // 128 + SIGINT
    EXPECT_TRUE(said.code == 0 || said.code == 1 || said.code == kBeforeItTookTheSignal)
        << "after " << ms << " ms: " << said.code << "\n"
        << said.out;
  }
}

}  // namespace
}  // namespace lockstep::twin_test
