#include "reconciler/report/fitting_lines.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(FittingLines, StopsAtTheNumberOfLines) {
  FittingLines lines(2, 1000);
  for (const char* const line : {"a\n", "b\n", "c\n", "d\n"}) lines.add(line);
  EXPECT_EQ(lines.text(), "a\nb\n");
  EXPECT_EQ(lines.left_out(), 2U);
}

// A shorter line after one that did not fit would be out of order.
TEST(FittingLines, LeavesOutAllThatComesAfterALineThatDoesNotFit) {
  FittingLines lines(10, 4);
  for (const char* const line : {"a\n", "too long\n", "c\n"}) lines.add(line);
  EXPECT_EQ(lines.text(), "a\n");
  EXPECT_EQ(lines.left_out(), 2U);
}

TEST(FittingLines, ALineMayFillTheRoomExactly) {
  FittingLines lines(10, 4);
  lines.add("abc\n");
  EXPECT_EQ(lines.text(), "abc\n");
  EXPECT_EQ(lines.left_out(), 0U);
}

}  // namespace
}  // namespace lockstep
