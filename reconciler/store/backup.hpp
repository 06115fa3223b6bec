// Backup and restore of a cluster's store, and what it holds.
//
// Promises of back_up(): it needs no leadership and holds no writer up; the file appears whole or not at all
// (replace_file), is one SQLite file without a log beside it, and passed SQLite's integrity check.
// Promises of restore(): it happens whole or not at all, whenever it is cut off; of a store that was damaged,
// and only then, the log may be gone from beside it after a cut. What was there before, log and all, is kept
// in the same directory under the name that it returns; the next epoch is higher than any that this machine
// knows of, from the backup or from what was there, by kEpochGap. restore() refuses: while somebody leads
// (conflict); a backup that is damaged, of a newer layout, of another cluster, or no backup of a store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "reconciler/store/store.hpp"

namespace lockstep {

// Epochs that were given out after the backup, by a disk that is lost, are unknown: a leader a second for
// eleven days are a million.
inline constexpr std::uint64_t kEpochGap = 1'000'000;

struct Backup {
  std::string file;
  std::string at;  // "2026-11-21T10:05:26Z"
  std::uint64_t bytes = 0;
  std::uint64_t changes = 0;
  std::uint64_t epoch = 0;  // the last that was given out
  // Why the state directory could not be told of it; it is there and whole nevertheless.
  std::optional<Error> not_noted = std::nullopt;
};
Result<Backup> back_up(const std::string& directory, const std::string& file, const StoreOptions& options);

struct Restored {
  std::string kept;  // the file with what was there before; empty: nothing was
  std::uint64_t changes = 0;
  std::uint64_t epoch = 0;  // lower than the next leader's
};
// `command`: shown to whoever finds the cluster locked meanwhile.
Result<Restored> restore(const std::string& directory, const std::string& file, const std::string& command,
                         const StoreOptions& options);

// The content of another state directory, as a restore of its backup, for a cluster that goes by another name
// now. Both are locked meanwhile.
Result<Restored> take_over(const std::string& from, const std::string& directory, const std::string& command,
                           const StoreOptions& options);

// The file of a store.
struct StoreFile {
  std::string file;
  bool begun = false;  // false: nobody ever wrote to it, and what follows is zero
  std::uint64_t bytes = 0;
  int layout = 0;
  std::string cluster;
  std::uint64_t epoch = 0;            // the last that was given out
  std::optional<Backup> last_backup;  // that back_up() made here
};
Result<StoreFile> describe(const std::string& directory);

}  // namespace lockstep
