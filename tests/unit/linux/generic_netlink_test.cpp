// Decoding of a generic netlink reply about a family, as Linux 6.18 sent it for ethtool (without its
// operations), also truncated and mutated.
#include "drivers/linux/generic_netlink.hpp"

#include <gtest/gtest.h>

#include "tests/unit/linux/fuzz.hpp"

namespace lockstep {
namespace {

const std::string kFamily =
    "010200000c000200657468746f6f6c0006000100150000000800030001000000080004000000000008000500000000001c000700"
    "1800010008000200060000000c0001006d6f6e69746f7200";

TEST(GenericNetlink, GroupsAreFoundByName) {
  const auto groups = netlink::decode_groups(bytes_of(kFamily));
  ASSERT_TRUE(groups) << groups.error().text();
  ASSERT_EQ(groups->size(), 1U);
  EXPECT_EQ(groups->at("monitor"), 6U);
}

TEST(GenericNetlink, CutAndMutatedBytesGiveAnAnswerOrAnError) {
  fuzz(kFamily, [](const Buffer& bytes) { (void)netlink::decode_groups(bytes); });
}

}  // namespace
}  // namespace lockstep
