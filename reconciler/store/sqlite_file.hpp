// SqliteFile: the file of a store and the lock beside it: decides who may read and who may write it.
//
// Promises: a reader creates no file; a write is one transaction under leadership, refused (denied) if this
// object does not lead, or if a higher epoch was given out since (removing the lock file lets a second leader
// in).
#pragma once

#include <optional>
#include <string>

#include "reconciler/store/database.hpp"
#include "reconciler/store/file_lock.hpp"
#include "reconciler/store/store.hpp"

namespace lockstep {

// The names of files in a state directory.
std::string store_file(const std::string& directory);
std::string last_backup_file(const std::string& directory);

// The last epoch that was given out, by this file or by what was restored into it.
Result<std::uint64_t> last_epoch(const Database& database);

class SqliteFile {
 public:
  SqliteFile(std::string directory, StoreOptions options);

  struct Reading {
    const Database& database;
    int layout;  // a reader leaves an older one as it is
  };
  Result<Reading> read();
  Result<Transaction> write();
  // Call after write().
  const Database& database() const { return *database_; }

  Result<std::uint64_t> lead(const std::string& command);
  Result<std::uint64_t> raise_above(std::uint64_t epoch);
  void resign();
  std::uint64_t epoch() const { return epoch_; }
  const std::string& directory() const { return directory_; }
  WallTime now() const { return options_.now(); }
  SaidBy said_by(const std::string& device, Path path) const {
    return options_.said_by ? options_.said_by(device, path) : SaidBy{};
  }
  // Stores the cluster's name, if the file does not have it yet.
  Result<Done> name_cluster(const Database& database) const;

 private:
  // Within a transaction; higher than all that the file knows, and than `above`.
  Result<std::uint64_t> add_epoch(const Database& database, std::uint64_t above) const;

  std::string directory_;
  StoreOptions options_;
  std::optional<FileLock> lock_;
  std::optional<Database> database_;  // declared after the lock: closed before that is given up
  bool never_begun_ = false;          // database_ is an empty one in memory
  std::uint64_t epoch_ = 0;
  std::string command_;  // of the leader
};

}  // namespace lockstep
