// The rule for tests that can't run on this machine (tests/needs.sh implements it for scripts).
//
// CI (environment variable CI) has root, the packages of cmake/install-packages.sh and what is built from
// them: a test that lacks one of them fails there, so that no suite passes without having tested anything.
// Elsewhere such a test is skipped. A test that needs a kernel feature or a device is skipped everywhere if
// the machine lacks it. A skipped test reports what was not tested.
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
