#include <gtest/gtest.h>

#include "drivers/linux/host/shares.hpp"

namespace lockstep {
namespace {

// Devices that hold a number each; one device may refuse other numbers, always or from a point on.
class SharesOfThree : public ::testing::Test {
 protected:
  Shares to(int wanted) {
    Shares out;
    for (std::size_t i = 0; i < 3; ++i)
      out.push_back({"device " + std::to_string(i), [this, i, wanted] { return put(i, wanted); },
                     [this, i, was = held[i]] { return put(i, was); }});
    return out;
  }
  Result<Done> put(std::size_t device, int wanted) {
    if (held[device] == wanted) return Done{};
    if (device == refuses || (device == stuck_at && wanted != 7))
      return Error{ErrorKind::refused, "device " + std::to_string(device) + " is stubborn"};
    held[device] = wanted;
    return Done{};
  }

  std::vector<int> held{1, 2, 3};
  std::size_t refuses = 9;
  std::size_t stuck_at = 9;  // takes 7 and nothing after
};

TEST_F(SharesOfThree, AreSetAllOrNone) {
  refuses = 2;
  const auto refused = set_all(to(7));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(), "device 2 is stubborn");
  EXPECT_EQ(refused.error().kind, ErrorKind::refused);
  EXPECT_EQ(held, (std::vector<int>{1, 2, 3}));
  refuses = 9;
  EXPECT_TRUE(set_all(to(7)));
  EXPECT_EQ(held, (std::vector<int>{7, 7, 7}));
}

TEST_F(SharesOfThree, AFailedRollbackIsReportedWithAnUnknownOutcome) {
  refuses = 2;
  stuck_at = 0;
  const auto refused = set_all(to(7));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unknown_outcome);
  EXPECT_EQ(refused.error().what, "device 2 is stubborn; not put back: device 0 (device 0 is stubborn)");
  EXPECT_EQ(held, (std::vector<int>{7, 2, 3}));
}

TEST_F(SharesOfThree, DifferingValuesAreRestoredByTheTextThatReportedThem) {
  Mixed mixed;
  Shares shares = to(7);
  ASSERT_TRUE(set_all(shares));
  mixed.remember("1, 2, 3", std::move(shares));
  EXPECT_FALSE(mixed.put_back("3, 2, 1"));
  const auto back = mixed.put_back("1, 2, 3");
  ASSERT_TRUE(back);
  EXPECT_TRUE(*back);
  EXPECT_EQ(held, (std::vector<int>{1, 2, 3}));
}

}  // namespace
}  // namespace lockstep
