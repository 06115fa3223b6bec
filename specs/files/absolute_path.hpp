// The whole path of a file, without "." and "..", whether it exists or not.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace lockstep {

// As it was given, if the current folder is not to be had.
inline std::string absolute_path(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::path whole = std::filesystem::absolute(path, ignored).lexically_normal();
  return whole.empty() ? path.string() : whole.string();
}

}  // namespace lockstep
