// A file of sysfs, configfs or debugfs that holds one number, and the folder of configfs that must be made
// for it to be there.
//
// Promises: read back after a write (bnxt_re's debugfs accepts what the firmware then refuses). Refuses a
// file that holds no number.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>
#include <utility>

#include "drivers/linux/host/files.hpp"

namespace lockstep::rdma {

// There as long as the object, and longer if it was there before.
class ConfigfsEntry {
 public:
  static Result<ConfigfsEntry> open(const HostFiles& files, const std::string& folder) {
    const std::string at = files.at(folder);
    if (::mkdir(at.c_str(), 0755) == 0) return ConfigfsEntry(at);
    if (errno == EEXIST) return ConfigfsEntry({});
    const int code = errno;
    return Error{code == EACCES || code == EPERM ? ErrorKind::denied : ErrorKind::refused,
                 folder + ": " + std::strerror(code)};
  }
  ConfigfsEntry(ConfigfsEntry&& other) noexcept : made_(std::exchange(other.made_, {})) {}
  ConfigfsEntry& operator=(ConfigfsEntry&&) = delete;
  ~ConfigfsEntry() {
    if (!made_.empty()) (void)::rmdir(made_.c_str());
  }

 private:
  explicit ConfigfsEntry(std::string made) : made_(std::move(made)) {}
  std::string made_;
};

// "106", "0x1a"
inline Result<std::int64_t> number_in(std::string_view text, std::string_view path) {
  const bool hex = text.starts_with("0x");
  const std::string_view digits = text.substr(hex ? 2 : 0);
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out, hex ? 16 : 10);
  if (error == std::errc{} && end == digits.data() + digits.size()) return out;
  return Error{ErrorKind::transient, std::string(path) + " holds no number: '" + std::string(text) + "'"};
}

inline Result<std::int64_t> read_number(const HostFiles& files, const std::string& path) {
  TRY(const std::string line, files.line(path));
  return number_in(line, path);
}

inline Result<Done> write_number(const HostFiles& files, const std::string& path, const std::string& text,
                                 std::int64_t wanted) {
  TRY_DONE(files.write(path, text));
  TRY(const std::int64_t now, read_number(files, path));
  if (now == wanted) return Done{};
  return Error{ErrorKind::refused, path + " took " + text + " and has " + std::to_string(now)};
}

}  // namespace lockstep::rdma
