// When a file changed last: another text after it was written, replaced, or had its mode changed.
#pragma once

#include <sys/stat.h>

#include <string>

namespace lockstep {

// "-": it is not there.
inline std::string file_stamp(const std::string& file) {
  struct stat found {};
  if (file.empty() || ::stat(file.c_str(), &found) != 0) return "-";
  std::string out;
  // The inode as well: a replaced file may have the size and, within a clock tick, the time of the former.
  for (const auto part :
       {static_cast<long long>(found.st_mtim.tv_sec), static_cast<long long>(found.st_mtim.tv_nsec),
        static_cast<long long>(found.st_ctim.tv_sec), static_cast<long long>(found.st_ctim.tv_nsec),
        static_cast<long long>(found.st_size), static_cast<long long>(found.st_ino)})
    out += std::to_string(part) + ",";
  return out;
}

}  // namespace lockstep
