// A file of sysfs, configfs or debugfs that holds one number, and the configfs entry that must exist for the
// file to exist.
//
// Promises: read back after a write, as bnxt_re's debugfs accepts values that the firmware then refuses.
// Refuses a file that does not hold a number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "drivers/linux/host/files.hpp"

namespace lockstep::rdma {

// Exists as long as the object, and longer if it existed before. An empty folder name: nothing to be made.
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
  std::string apply = {};  // written afterwards, if such a file exists
  bool hex = false;        // written as "0x1a"; when read, a file's own prefix decides
};

Result<std::int64_t> read_number(const HostFiles& files, const NumberFile& file);
Result<Done> write_number(const HostFiles& files, const NumberFile& file, std::int64_t wanted);

}  // namespace lockstep::rdma
