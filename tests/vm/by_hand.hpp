// Manual commands, in a machine without a shell.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>

#include <sstream>
#include <string>
#include <vector>

namespace lockstep {

// Runs a command of words separated by spaces, without quoting; the program is found in PATH. Returns its
// wait status, or -1 if it was not started. `quiet` discards its output.
inline int status_of(const std::string& words, bool quiet) {
  std::istringstream in(words);
  std::vector<std::string> all;
  for (std::string one; in >> one;) all.push_back(one);
  std::vector<char*> arguments;
  for (std::string& one : all) arguments.push_back(one.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (const int output : {1, 2})
    if (quiet) posix_spawn_file_actions_addopen(&files, output, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  int status = -1;
  if (::posix_spawnp(&child, arguments[0], &files, nullptr, arguments.data(), environ) == 0)
    ::waitpid(child, &status, 0);
  posix_spawn_file_actions_destroy(&files);
  return status;
}

// Runs a command; its failure is a test failure.
inline void by_hand(const std::string& words) { EXPECT_EQ(status_of(words, false), 0) << words; }

}  // namespace lockstep
