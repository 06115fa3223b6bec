#include "specs/model/uuid.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

// RFC 9562, A.3.
constexpr const char* kExample = "919108f7-52d1-4320-9bac-f847db4148a8";

TEST(Uuid, IsWrittenAsTheRfcShowsIt) {
  const std::array<std::uint8_t, 16> bits{0x91, 0x91, 0x08, 0xf7, 0x52, 0xd1, 0x43, 0x20,
                                          0x9b, 0xac, 0xf8, 0x47, 0xdb, 0x41, 0x48, 0xa8};
  EXPECT_EQ(uuid_v4(bits), kExample);
}

TEST(Uuid, HasVersionAndVariantWhateverTheRandomBits) {
  for (const unsigned byte : {0x00U, 0x5AU, 0xFFU}) {
    std::array<std::uint8_t, 16> bits{};
    bits.fill(static_cast<std::uint8_t>(byte));
    const std::string one = uuid_v4(bits);
    EXPECT_EQ(one[14], '4') << one;
    EXPECT_EQ(parse_uuid_v4(one), one);
  }
}

TEST(Uuid, IsReadInEitherCaseAndOtherTextIsRefused) {
  EXPECT_EQ(parse_uuid_v4("919108F7-52D1-4320-9BAC-F847DB4148A8"), kExample);
  for (const char* const text :
       {"", "919108f7-52d1-4320-9bac-f847db4148a", "919108f7-52d1-4320-9bac-f847db4148a8 ",
        "919108f752d1-4320-9bac-f847db4148a8-", "g19108f7-52d1-4320-9bac-f847db4148a8",
        "../../../../../../../../../../etc/pa", "00000000-0000-0000-0000-000000000000",
        "ffffffff-ffff-ffff-ffff-ffffffffffff", "919108f7-52d1-1320-9bac-f847db4148a8",
        "919108f7-52d1-4320-cbac-f847db4148a8"})
    EXPECT_FALSE(parse_uuid_v4(text)) << text;
}

}  // namespace
}  // namespace lockstep
