// Backup and restore of a cluster's store, and a description of its content.
//
// Promises of back_up(): it needs no leadership and blocks no writer; the file appears whole or not at all
// (replace_file), is one SQLite file without a log beside it, and passed SQLite's integrity check.
// Promises of restore(): it happens whole or not at all, whenever it is interrupted; only if the store was
// damaged, its log may be missing after an interruption. What was there before, log included, is kept in the
// same directory under the name that it returns; the next epoch is higher by kEpochGap than any that this
// machine knows, from the backup or from what was there. restore() refuses: while another process leads
// (conflict); a backup that is damaged, has a newer layout, is of another cluster, or is no backup of a
// store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "reconciler/store/store.hpp"

namespace lockstep {

// Epochs that a lost disk gave out after the backup are unknown: one leader per second for eleven days makes
// a million.
inline constexpr std::uint64_t kEpochGap = 1'000'000;

struct Backup {
  std::string file;
  std::string at;  // "2026-11-21T10:05:26Z"
  std::uint64_t bytes = 0;
  std::uint64_t changes = 0;
  std::uint64_t epoch = 0;  // the last that was given out
  // Why the backup could not be recorded in the state directory; the backup itself is complete nevertheless.
  std::optional<Error> not_noted = std::nullopt;
};
Result<Backup> back_up(const std::string& directory, const std::string& file, const StoreOptions& options);

struct Restored {
  std::string kept;  // the file with what was there before; empty: nothing was
  std::uint64_t changes = 0;
  std::uint64_t epoch = 0;  // lower than the next leader's
};
// `command`: shown to others who find the cluster locked meanwhile.
Result<Restored> restore(const std::string& directory, const std::string& file, const std::string& command,
                         const StoreOptions& options);

// Takes over the content of another state directory, as a restore of its backup, for a cluster that has
// another name now. Both are locked meanwhile.
Result<Restored> take_over(const std::string& from, const std::string& directory, const std::string& command,
                           const StoreOptions& options);

// The file of a store.
struct StoreFile {
  std::string file;
  bool begun = false;  // false: never written to, and what follows is zero
  std::uint64_t bytes = 0;
  int layout = 0;
  std::string cluster;
  std::uint64_t epoch = 0;            // the last that was given out
  std::optional<Backup> last_backup;  // that back_up() made here
};
Result<StoreFile> describe(const std::string& directory);

}  // namespace lockstep
