// Disabled by default (takes seconds and needs an idle machine):
//   unit_twin --gtest_also_run_disabled_tests --gtest_filter='TwinScale.*'
#include <gtest/gtest.h>

#include "tests/unit/twin/live.hpp"

namespace lockstep {
namespace {

void time_up(int hosts, int rails, int spines, bool lldp, bool offload) {
  const TwinLayout layout = rail_pod(test_cluster("z"), hosts, rails, spines, offload);
  const DownAtEnd end{layout.cluster};
  const auto begin = std::chrono::steady_clock::now();
  std::string step;
  const auto note = [&](const TwinProgress& one) {
    if (one.step == step && one.done != one.of) return;
    const auto at =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
    step = one.step;
    std::printf("  %5lld ms %s %zu/%zu\n", static_cast<long long>(at.count()), step.c_str(), one.done,
                one.of);
  };
  TwinOptions options;
  options.lldp = lldp;
  const auto handle = up(layout, options, note, {});
  ASSERT_TRUE(handle) << handle.error().text();
  std::printf("%d hosts x %d rails, %d switches, %zu cables, lldp %d: up in %lld ms\n", hosts, rails,
              rails + spines, layout.cables.size(), lldp, static_cast<long long>(handle->took.count()));
  const auto down_begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(down(layout.cluster));
  std::printf("down in %lld ms\n",
              static_cast<long long>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                         std::chrono::steady_clock::now() - down_begin)
                                         .count()));
}

TEST(TwinScale, DISABLED_FourHostsTwoRails) {
  NEEDS_ROOT;
  time_up(4, 2, 2, true, false);
  time_up(4, 2, 2, false, false);
}

TEST(TwinScale, DISABLED_SixtyFourHostsEightRails) {
  NEEDS_ROOT;
  time_up(64, 8, 4, false, true);
  time_up(64, 8, 4, false, false);
}

}  // namespace
}  // namespace lockstep
