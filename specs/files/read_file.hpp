// read_file: the one way to read a file that others may have put there: specs, what they name, files that a
// person names.
//
// Promises: only regular files are read; nothing hangs: a FIFO or a device is not waited for, and is not even
// opened unless it takes a file's place at that very moment; at most `most` bytes and one more are read,
// whatever size the file claims; a descriptor is never left open. read_beneath() reads nothing outside the
// folder: absolute names, `..`, links that lead out (absolute ones all do) and /proc's magic links are
// refused by the kernel as it opens the file (openat2(2)), so that no exchange of a folder for a link gets
// past it. A kernel without openat2 (before 5.6), or a sandbox that forbids it: the folders are entered one
// by one, and all links are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace lockstep {

struct FileText {
  enum class Outcome : std::uint8_t { read, missing, too_large, outside, refused };
  Outcome outcome = Outcome::read;
  std::string text{};  // of the file, if it was read
  std::string why{};   // else, as in "cannot read FILE: no such file"

  explicit operator bool() const { return outcome == Outcome::read; }
};

// `name` is relative to `folder`. Links to what is beneath the folder too are followed.
FileText read_beneath(const std::string& folder, const std::string& name, std::size_t most);

// A file that a person or this program names: links to it are followed.
FileText read_named(const std::string& file, std::size_t most);

// To the end of what is open already, whatever it is: standard input. Waits for it.
FileText read_open(int descriptor, std::size_t most);

// Why a file that another library opens by its name must not be; empty: it is a regular file.
std::string why_not_regular(const std::string& file);

}  // namespace lockstep
