// Text recorded from FRR 8.4.4-1.1~deb12u2 (README.md describes how), by file name.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace lockstep::frr {

inline std::string recorded(const std::string& name) {
  std::ifstream in(std::string(LOCKSTEP_SOURCE_DIR) + "/tests/unit/frr/recorded/" + name);
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

}  // namespace lockstep::frr
