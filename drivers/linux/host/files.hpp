// Small files of one machine, under its root: /sys, /proc and /etc as the kernel and people wrote them. Paths
// are given as on the machine itself ("/proc/cmdline"); another root is a recorded machine.
//
// Promises: a file that is not there (unsupported) and one that may not be read (denied) are told apart, in
// the kernel's words and with the path. A file of our own is replaced whole (specs/files/replace_file.hpp).
// Refuses what is not a regular file (a FIFO would hold the reader up) and more than kFileMax bytes; what a
// file says is for the caller to check.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "specs/model/result.hpp"

namespace lockstep {

class HostFiles {
 public:
  static constexpr std::size_t kFileMax = 64U << 20;  // a choice: all of Debian 12's index has some 50 MB

  explicit HostFiles(std::filesystem::path root) : root_(std::move(root)) {}

  // Where it is under the root.
  std::filesystem::path at(std::string_view path) const;
  bool exists(std::string_view path) const;
  // Names in a folder, sorted; a folder that is not there has none.
  std::vector<std::string> names(std::string_view folder) const;
  // The last part of what a symbolic link points to ("mlx5_core"); empty: no link.
  std::string linked_name(std::string_view link) const;

  Result<std::string> read(std::string_view path) const;
  // Without the blanks and newlines at its end.
  Result<std::string> line(std::string_view path) const;
  // One write(2) to a file that is there: sysfs and procfs take each write as a whole value.
  Result<Done> write(std::string_view path, std::string_view text) const;
  // A file of our own, made or replaced whole; its folder is made if need be.
  Result<Done> replace(std::string_view path, std::string_view text) const;
  // Not an error where there is none.
  Result<Done> remove(std::string_view path) const;

 private:
  std::filesystem::path root_;
};

// Without blanks and newlines at both ends.
std::string_view trimmed(std::string_view text);

}  // namespace lockstep
