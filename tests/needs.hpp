// What becomes of a test that can't run on this machine: the one rule (tests/needs.sh has it for scripts).
//
// On CI (environment variable CI) root, the packages of cmake/install-packages.sh and what is built of them
// are there: a test that lacks one of them fails, so that no suite is green for having tested nothing.
// Elsewhere it is skipped, as is everywhere what a kernel or a device simply hasn't. A skipped test says what
// was not tested.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace lockstep {

inline bool on_ci() {
  const char* const ci = std::getenv("CI");
  return ci != nullptr && !std::string_view(ci).empty() && std::string_view(ci) != "false";
}

}  // namespace lockstep

// Ends a test function or SetUp(), as GTEST_SKIP() does.
#define LOCKSTEP_NOT_TESTED(why) GTEST_SKIP() << "not tested: " << (why)
#define LOCKSTEP_NOT_TESTED_BUT_ON_CI(why)                                     \
  do {                                                                         \
    if (::lockstep::on_ci()) GTEST_FAIL() << "this must run on CI: " << (why); \
    LOCKSTEP_NOT_TESTED(why);                                                  \
  } while (false)
// LOCKSTEP_NEEDS_ROOT("makes network namespaces")
#define LOCKSTEP_NEEDS_ROOT(as_it) \
  if (::geteuid() != 0) LOCKSTEP_NOT_TESTED_BUT_ON_CI("needs root: " as_it)
