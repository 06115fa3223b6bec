// A file of sysfs, configfs or debugfs that holds one number, and the entry of configfs without which it is
// not there.
//
// Promises: read back after a write, as bnxt_re's debugfs accepts what the firmware then refuses. Refuses a
// file that holds no number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "drivers/linux/host/files.hpp"

namespace lockstep::rdma {

// There as long as the object, and longer if it was there before. No folder: nothing to be made.
class ConfigfsEntry {
 public:
  static Result<ConfigfsEntry> open(const HostFiles& files, const std::string& folder);
  ConfigfsEntry(ConfigfsEntry&& other) noexcept;
  ConfigfsEntry& operator=(ConfigfsEntry&&) = delete;
  ~ConfigfsEntry();

 private:
  explicit ConfigfsEntry(std::string made) : made_(std::move(made)) {}
  std::string made_;
};

struct NumberFile {
  std::string path;        // empty: the driver has none
  std::string entry = {};  // of configfs
  std::string apply = {};  // written after it, where there is such a file
  bool hex = false;        // written as "0x1a"; read, a file says itself
};

Result<std::int64_t> read_number(const HostFiles& files, const NumberFile& file);
Result<Done> write_number(const HostFiles& files, const NumberFile& file, std::int64_t wanted);

}  // namespace lockstep::rdma
