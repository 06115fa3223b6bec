// SavedConfig: the files on a switch from which SONiC gets its configuration back: config_db.json, which its
// next boot loads, and checkpoints, to which `config rollback NAME` returns.
//
// Promises: a file has what `config save` and `config checkpoint` write (sonic-utilities 691b1bbc,
// config/main.py and generic_config_updater/generic_updater.py), and is replaced as a whole, where SONiC's
// commands empty it first. read() parses a file again only if it has changed. Of its own checkpoints,
// whose names begin with "lockstep-", the newest kCheckpointsKept stay; those of others are left alone. A
// retry within kRetriedWithin leaves the checkpoint of its transaction as it is; an older one of that name is
// another controller's, and replaced. Refuses transactions whose name would lead out of the folder.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "drivers/sonic/config_db.hpp"
#include "specs/model/result.hpp"

namespace lockstep::sonic {

inline constexpr const char* kSavedConfigFile = "/etc/sonic/config_db.json";
inline constexpr const char* kCheckpointFolder = "/etc/sonic/checkpoints";

// Chosen: the last changes of a day's work.
inline constexpr std::size_t kCheckpointsKept = 10;
// Chosen: a controller retries within minutes; transactions are named alike where its state began anew.
inline constexpr std::chrono::hours kRetriedWithin{1};
// Chosen: that of 512 ports with all their queues has 2 MB.
inline constexpr std::size_t kSavedConfigBytes = std::size_t{64} << 20;

class SavedConfig {
 public:
  // Empty: there is no such file, or folder, that could be reached.
  SavedConfig(std::string file, std::string checkpoints)
      : file_(std::move(file)), checkpoints_(std::move(checkpoints)) {}

  const std::string& file() const { return file_; }

  // What the next boot loads. Errors name the file.
  const Result<ConfigDb>& read();
  Result<Done> save(const ConfigDb& running);
  // What is configured before a transaction.
  Result<Done> checkpoint(std::string_view transaction, const ConfigDb& running);

 private:
  std::string file_;
  std::string checkpoints_;
  std::string read_as_;  // identity and times of the file that was read; empty: none was
  Result<ConfigDb> saved_ = ConfigDb();
};

}  // namespace lockstep::sonic
