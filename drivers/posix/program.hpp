// Runs a program to its end and returns its output.
//
// Promises: no shell; the program gets three descriptors and no other, and no signal is ignored or blocked
// for it. A program that does not end in time, or whose call must end, is killed. The first bytes of each
// output are kept, as many as it says. With a group of its own, whatever it started and left in that group
// has ended as well when run() returns, whether it ended well or was killed.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/posix/call.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

struct Program {
  std::string name;                // looked up as execvp(3) does; with a slash, that file
  std::string package{};           // the package to install if the program is missing
  std::vector<std::string> words;  // its arguments
  std::chrono::milliseconds patience;
  std::optional<std::vector<std::string>> environment{};  // "NAME=value" each; none: this process's
  // A process group for it and its children: no Ctrl-C at the terminal, and no prompt there.
  bool own_group = false;
  // A choice: a signature with the largest RSA key that OpenSSH accepts (16,384 bits) has about 4 KiB, all
  // settings of a ConnectX-7 some 20 KiB.
  std::size_t largest_output = std::size_t{1} << 20;
};

struct Ended {
  bool well;  // exit code 0
  std::string out;
  std::string err;
  int signal = 0;  // that ended it; 0: it exited
  int code = 0;    // its exit code; 0 with a signal
  // The error message in one line, from the program's output.
  std::string complaint() const;
};

// Unsupported: the program is missing. Transient: it did not end in time. Cancelled: the call was stopped.
Result<Ended> run(const Program& program, std::string_view input = {}, const Call& call = {});

}  // namespace lockstep
