#include "reconciler/store/sqlite_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "reconciler/store/layout.hpp"
#include "reconciler/store/utc_text.hpp"

namespace lockstep {
namespace {

// Former leaders, kept for users. A choice.
constexpr int kEpochsKept = 1000;

bool is_missing(const std::string& file) {
  struct stat found {};
  return ::stat(file.c_str(), &found) != 0 && errno == ENOENT;
}

// A journal is never empty once it was begun, and files beside it show that it was: a measuring lock, a
// backup's record.
Result<Done> refuse_emptied(const std::string& directory) {
  struct stat found {};
  const std::string file = store_file(directory);
  if (::stat(file.c_str(), &found) != 0 || found.st_size != 0) return Done{};
  if (is_missing(measuring_lock_file(directory)) && is_missing(last_backup_file(directory))) return Done{};
  return Error{ErrorKind::refused,
               file +
                   " is empty, and was not: what it knew is gone. Restore a backup (`lockstep state restore "
                   "FILE`), or remove it to begin anew: changes that were not validated are forgotten then"};
}

}  // namespace

std::string store_file(const std::string& directory) { return directory + "/journal.sqlite"; }
std::string last_backup_file(const std::string& directory) { return directory + "/last-backup.json"; }

Result<std::uint64_t> last_epoch(const Database& database) {
  return database.number("SELECT seq FROM sqlite_sequence WHERE name = 'epochs'");
}

SqliteFile::SqliteFile(std::string directory, StoreOptions options)
    : directory_(std::move(directory)), options_(std::move(options)) {}

Result<SqliteFile::Reading> SqliteFile::read() {
  if (!database_ || never_begun_) TRY_DONE(refuse_emptied(directory_));
  if (never_begun_ && !is_missing(store_file(directory_))) {
    database_.reset();
    never_begun_ = false;
  }
  if (!database_ && !is_missing(store_file(directory_))) {
    TRY(Database opened, Database::open(store_file(directory_), Database::Use::read));
    database_.emplace(std::move(opened));
  }
  if (database_) {
    TRY(const int layout, layout_of(*database_));
    if (layout > 0) return Reading{*database_, layout};
  }
  TRY(Database empty, Database::in_memory());
  TRY_DONE(bring_up_to_date(empty));
  database_.emplace(std::move(empty));
  never_begun_ = true;
  return Reading{*database_, kLayout};
}

Result<Transaction> SqliteFile::write() {
  if (epoch_ == 0)
    return Error{ErrorKind::denied, store_file(directory_) + ": only who leads the cluster writes to it"};
  TRY(Transaction whole, Transaction::begin(*database_));
  TRY(const std::uint64_t last, last_epoch(*database_));
  if (last != epoch_)
    return Error{ErrorKind::denied, store_file(directory_) + ": epoch " + std::to_string(epoch_) +
                                        " is over: " + std::to_string(last) +
                                        " was given out since, so another process leads"};
  return whole;
}

Result<std::uint64_t> SqliteFile::lead(const std::string& command) {
  if (epoch_ != 0) return epoch_;
  TRY(FileLock lock, lock_for_writing(directory_, command, options_.now()));
  TRY_DONE(refuse_emptied(directory_));
  TRY(Database opened, Database::open(store_file(directory_), Database::Use::write));
  TRY_DONE(opened.write_ahead());
  TRY_DONE(bring_up_to_date(opened));
  command_ = command;
  TRY(Transaction whole, Transaction::begin(opened));
  TRY(const std::uint64_t epoch, add_epoch(opened, 0));
  TRY_DONE(name_cluster(opened));
  TRY_DONE(whole.commit());
  epoch_ = epoch;
  database_.reset();
  lock_.emplace(std::move(lock));
  database_.emplace(std::move(opened));
  never_begun_ = false;
  return epoch_;
}

Result<std::uint64_t> SqliteFile::raise_above(std::uint64_t epoch) {
  if (epoch < epoch_) return epoch_;
  if (epoch - epoch_ > kEpochsAhead)
    return Error{ErrorKind::refused, store_file(directory_) + ": epoch " + std::to_string(epoch) +
                                         " is too far above this store's " + std::to_string(epoch_) +
                                         ": no controller of this cluster can have given it out"};
  TRY(Transaction whole, write());
  TRY(const std::uint64_t raised, add_epoch(*database_, epoch));
  TRY_DONE(whole.commit());
  return epoch_ = raised;
}

Result<std::uint64_t> SqliteFile::add_epoch(const Database& database, std::uint64_t above) const {
  TRY(const std::uint64_t last, last_epoch(database));
  TRY_DONE(Statement(database, "INSERT INTO epochs(epoch, begun, pid, command) VALUES(?, ?, ?, ?)")
               .bind(std::max(last, above) + 1)
               .bind(utc_text(options_.now()))
               .bind(static_cast<std::uint64_t>(::getpid()))
               .bind(command_)
               .run());
  TRY_DONE(
      database.execute("DELETE FROM epochs WHERE epoch <= (SELECT epoch FROM epochs ORDER BY epoch DESC "
                       "LIMIT 1 OFFSET " +
                       std::to_string(kEpochsKept) + ")"));
  return last_epoch(database);
}

Result<Done> SqliteFile::name_cluster(const Database& database) const {
  if (options_.cluster.empty()) return Done{};
  TRY_DONE(Statement(database, "INSERT OR IGNORE INTO identity(one, cluster) VALUES(1, ?)")
               .bind(options_.cluster)
               .run());
  return Done{};
}

void SqliteFile::resign() {
  epoch_ = 0;
  database_.reset();
  lock_.reset();
}

}  // namespace lockstep
