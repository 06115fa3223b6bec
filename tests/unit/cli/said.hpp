// Runs a command of the program in this process, and returns its output and exit code.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "reconciler/cli/command_line.hpp"

namespace lockstep {

struct Answer {
  int code = 0;
  std::string out;
  std::string err;
};

inline Answer say(std::vector<std::string> words) {
  words.insert(words.begin(), "lockstep");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  Answer said;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  said.code = run_command_line(static_cast<int>(argv.size()), argv.data());
  said.out = testing::internal::GetCapturedStdout();
  said.err = testing::internal::GetCapturedStderr();
  return said;
}

}  // namespace lockstep
