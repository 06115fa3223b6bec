// Small files of one machine below its root: /sys, /proc and /etc. Paths are given as on the machine itself
// ("/proc/cmdline"); a root other than / is a recorded machine.
//
// Promises: distinguishes a missing file (unsupported) from one without read permission (denied), in the
// kernel's words and with the path. A file of our own is replaced as a whole (specs/files/replace_file.hpp).
// Refuses what is not a regular file (a FIFO would block the reader) and more than kFileMax bytes; checking
// the content is up to the caller.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "specs/model/result.hpp"

namespace lockstep {

class HostFiles {
 public:
  static constexpr std::size_t kFileMax = 64U << 20;  // arbitrary; all of Debian 12's index has some 50 MB

  explicit HostFiles(std::filesystem::path root) : root_(std::move(root)) {}

  // The path below the root.
  std::filesystem::path at(std::string_view path) const;
  bool exists(std::string_view path) const;
  // Names in a folder, sorted; empty for a missing folder.
  std::vector<std::string> names(std::string_view folder) const;
  // The last component of a symbolic link's target ("mlx5_core"); empty: not a link.
  std::string linked_name(std::string_view link) const;

  Result<std::string> read(std::string_view path) const;
  // Without trailing blanks and newlines.
  Result<std::string> line(std::string_view path) const;
  // One write(2) to an existing file: sysfs and procfs take each write as a whole value.
  Result<Done> write(std::string_view path, std::string_view text) const;
  // A file of our own, created or replaced as a whole; its folder is created if needed.
  Result<Done> replace(std::string_view path, std::string_view text) const;
  // A missing file is not an error.
  Result<Done> remove(std::string_view path) const;

 private:
  std::filesystem::path root_;
};

// Without leading and trailing blanks and newlines.
std::string_view trimmed(std::string_view text);

}  // namespace lockstep
