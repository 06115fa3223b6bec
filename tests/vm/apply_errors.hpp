// The errors of an apply.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "drivers/driver.hpp"

namespace lockstep {

// Every outcome that is an error, in order; a missing receipt is a test failure.
inline std::vector<Error> apply_errors(Driver& driver, const ChangeSet& changes, const Call& call) {
  std::vector<Error> out;
  const auto receipt = driver.apply(changes, Guard{}, call);
  EXPECT_TRUE(receipt) << receipt.error().text();
  if (!receipt) return out;
  for (const Receipt::Outcome& one : receipt->outcomes)
    if (one.error) out.push_back(*one.error);
  return out;
}

}  // namespace lockstep
