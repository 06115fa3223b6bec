// Decoding of recorded, truncated and mutated RDMA netlink messages, and the bytes of our requests.
#include <gtest/gtest.h>

#include "drivers/linux/rdma/nldev.hpp"
#include "tests/unit/linux/recorded/rdma.hpp"

namespace lockstep {
namespace {

using namespace recorded::rdma;

TEST(RdmaNetlink, ADeviceIsDecoded) {
  const auto device = rdma::decode_device(bytes_of(kDevice));
  ASSERT_TRUE(device) << device.error().text();
  ASSERT_TRUE(*device);
  EXPECT_EQ((*device)->index, 0U);
  EXPECT_EQ((*device)->name, "rxe1");
  EXPECT_EQ((*device)->ports, 1U);
  EXPECT_EQ((*device)->protocol, "roce");
  EXPECT_EQ((*device)->firmware, "");
  EXPECT_EQ((*device)->node_guid, 0xfffe000001U);
}

TEST(RdmaNetlink, APortIsDecoded) {
  const auto port = rdma::decode_port(bytes_of(kPort));
  ASSERT_TRUE(port) << port.error().text();
  ASSERT_TRUE(*port);
  EXPECT_EQ((*port)->device, "rxe1");
  EXPECT_EQ((*port)->number, 1U);
  EXPECT_EQ(rdma::state_words((*port)->state), "ACTIVE");
  EXPECT_EQ(rdma::physical_state_words((*port)->physical_state), "LINK_UP");
  EXPECT_EQ((*port)->netdev, "h1");
  EXPECT_EQ(rdma::state_words(9), "9");
}

TEST(RdmaNetlink, ImpossibleValuesAreAnError) {
  EXPECT_FALSE(rdma::decode_device(bytes_of("0800010000000000"))) << "without a name";
  EXPECT_FALSE(rdma::decode_device(bytes_of("090002007278653100000000"))) << "without its number";
  EXPECT_FALSE(rdma::decode_port(bytes_of("0600030001000000090002007278653100000000")))
      << "a number of 2 bytes";
  EXPECT_FALSE(rdma::decode_port(bytes_of("ff00010000000000"))) << "longer than the message";
}

TEST(RdmaNetlink, CutAndMutatedBytesGiveAnAnswerOrAnError) {
  for (const std::string& hex : {kDevice, kPort})
    fuzz(hex, [](const Buffer& bytes) {
      (void)rdma::decode_device(bytes);
      (void)rdma::decode_port(bytes);
    });
}

TEST(RdmaNetlink, RequestsMatchTheKernelsFormat) {
  EXPECT_EQ(hex_of(rdma::devices_request().finish(7)),
            "1000000001140103"
            "0700000000000000");
  EXPECT_EQ(hex_of(rdma::ports_request(3).finish(7)),
            "1800000005140103"
            "0700000000000000"
            "0800010003000000");
}

}  // namespace
}  // namespace lockstep
