#include "drivers/linux/ethtool/part.hpp"
#include "tests/unit/linux/no_descriptors.hpp"

namespace lockstep {
namespace {

TEST(EthtoolPart, AFailedRequestIsNotReportedAsIncapable) {
  const auto part = make_ethtool_part();
  const NoDescriptors none;
  const auto unasked = part->incapable(
      {}, {}, Call{.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10), .stop = {}});
  EXPECT_TRUE(unasked.empty()) << unasked.front().reason;
}

}  // namespace
}  // namespace lockstep
