// Shared buffers as reported by a kernel, of the device that netdev/nic_buffers.c creates.
#include <gtest/gtest.h>

#include <algorithm>

#include "drivers/linux/devlink/inventory.hpp"
#include "tests/vm/by_hand.hpp"

namespace lockstep {
namespace {

constexpr std::uint32_t kMebi = 1 << 20;

devlink::DeviceFacts switch_facts() {
  const Call call{.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10), .stop = {}};
  auto all = devlink::read_inventory(HostFiles("/"), call);
  EXPECT_TRUE(all) << all.error().text();
  if (!all) return {};
  const auto found =
      std::ranges::find(*all, "test_switch.0", [](const auto& one) { return one.device.name; });
  EXPECT_NE(found, all->end());
  return found == all->end() ? devlink::DeviceFacts{} : *found;
}

TEST(SharedBuffers, ReadsABufferItsPoolsAndTheirBindings) {
  const devlink::DeviceFacts facts = switch_facts();
  ASSERT_EQ(facts.buffers.size(), 1U);
  EXPECT_EQ(facts.buffers[0].size, 16 * kMebi);
  EXPECT_EQ(facts.buffers[0].ingress_pools, 2U);
  EXPECT_EQ(facts.buffers[0].egress_pools, 2U);
  std::string pools;
  for (const devlink::Pool& one : facts.pools)
    pools += std::to_string(one.index) + (one.egress ? " egress " : " ingress ") +
             std::to_string(one.size / kMebi) + (one.dynamic ? " dynamic\n" : " static\n");
  EXPECT_EQ(pools, "0 ingress 8 dynamic\n1 ingress 4 static\n2 egress 8 dynamic\n3 egress 4 static\n");
  EXPECT_EQ(facts.ports.size(), 2U);
  EXPECT_EQ(facts.bindings.size(), 2U * 2U * 8U) << "ports, directions, classes";
  for (const devlink::Binding& one : facts.bindings) {
    const bool lossless = one.traffic_class == 3;
    EXPECT_EQ(one.pool, (one.egress ? 2 : 0) + (lossless ? 1 : 0)) << one.port << " " << one.traffic_class;
    EXPECT_EQ(one.threshold, lossless ? kMebi : 9U);
  }
}

TEST(SharedBuffers, ReadsManualChanges) {
  by_hand("devlink sb pool set platform/test_switch.0 sb 0 pool 1 size 2097152 thtype dynamic");
  by_hand("devlink sb tc bind set platform/test_switch.0/1 sb 0 tc 5 type ingress pool 1 th 4");
  const devlink::DeviceFacts facts = switch_facts();
  const auto pool = std::ranges::find(facts.pools, 1, &devlink::Pool::index);
  ASSERT_NE(pool, facts.pools.end());
  EXPECT_EQ(pool->size, 2 * kMebi);
  EXPECT_TRUE(pool->dynamic);
  const auto binding = std::ranges::find_if(facts.bindings, [](const devlink::Binding& one) {
    return one.port == 1 && one.traffic_class == 5 && !one.egress;
  });
  ASSERT_NE(binding, facts.bindings.end());
  EXPECT_EQ(binding->pool, 1);
  EXPECT_EQ(binding->threshold, 4U);
  by_hand("devlink sb tc bind set platform/test_switch.0/1 sb 0 tc 5 type ingress pool 0 th 9");
  by_hand("devlink sb pool set platform/test_switch.0 sb 0 pool 1 size 4194304 thtype static");
}

}  // namespace
}  // namespace lockstep
