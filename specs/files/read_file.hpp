// read_file: the one way to read a file that others may have put there: specs, files that specs name, files
// named on the command line.
//
// Promises: reads only regular files and never hangs: a FIFO or a device is not waited for, and is not even
// opened unless it replaces a file at that very moment; reads at most `most` bytes and one more, whatever
// size the file claims; never leaks a descriptor. read_beneath() reads nothing outside the folder: the kernel
// refuses absolute names, `..`, links that lead out (absolute ones all do) and /proc's magic links as it
// opens the file (openat2(2)), so that replacing a folder by a link does not bypass the check. With a kernel
// without openat2 (before 5.6), or in a sandbox that forbids it, the folders are entered one by one, and all
// links are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace lockstep {

struct FileText {
  enum class Outcome : std::uint8_t { read, missing, too_large, outside, refused };
  Outcome outcome = Outcome::read;
  std::string text{};  // of the file, if it was read
  std::string why{};   // otherwise, such as "cannot read FILE: no such file"

  explicit operator bool() const { return outcome == Outcome::read; }
};

// `name` is relative to `folder`. Links to targets beneath the folder are followed.
FileText read_beneath(const std::string& folder, const std::string& name, std::size_t most);

// A file named by the user or by this program: links to it are followed.
FileText read_named(const std::string& file, std::size_t most);

// Reads an open descriptor of any kind to its end, for example standard input. Blocks.
FileText read_open(int descriptor, std::size_t most);

// Why another library must not open a file by its name; empty: it is a regular file.
std::string why_not_regular(const std::string& file);

}  // namespace lockstep
