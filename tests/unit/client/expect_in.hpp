// That a text has a part.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace lockstep::client {

inline void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "no " << part << " in " << text;
}

}  // namespace lockstep::client
