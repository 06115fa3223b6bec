// Runs a program to its end and returns its output.
//
// Promises: no shell; the program gets three descriptors and no other, and no signal is ignored or blocked
// for it. A program that does not end in time is killed. The first MiB of each output is kept.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "specs/model/result.hpp"

namespace lockstep {

struct Program {
  std::string name;                // looked up as execvp(3) does; with a slash, that file
  std::string package{};           // the package to install if the program is missing
  std::vector<std::string> words;  // its arguments
  std::chrono::milliseconds patience;
};

struct Ended {
  bool well;  // exit code 0
  std::string out;
  std::string err;
  // The error message in one line, from the program's output.
  std::string complaint() const;
};

// Unsupported: the program is missing. Transient: it did not end in time.
Result<Ended> run(const Program& program, std::string_view input = {});

}  // namespace lockstep
