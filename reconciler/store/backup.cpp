#include "reconciler/store/backup.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "reconciler/store/layout.hpp"
#include "reconciler/store/sqlite_file.hpp"
#include "reconciler/store/utc_text.hpp"
#include "specs/files/absolute_path.hpp"
#include "specs/files/file_error.hpp"
#include "specs/files/read_file.hpp"
#include "specs/files/replace_file.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kOwnerOnly = 0600;  // device data must not be readable by others

Error wrong(const std::string& file, const std::string& what) {
  return Error{ErrorKind::refused, file + ": " + what};
}

Result<bool> exists(const std::string& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) == 0) return true;
  if (errno == ENOENT) return false;
  return file_error(file, errno);
}

// Converts a copy of a database with a write-ahead log into one without.
Result<Done> close_log(const std::string& path) {
  TRY(const Database copy, Database::open(path, Database::Use::write));
  TRY(const std::string mode, copy.text("PRAGMA journal_mode=DELETE"));
  if (mode != "delete") return wrong(path, "SQLite can't end its write-ahead log (" + mode + ")");
  TRY(const std::string damage, copy.damage());
  return damage.empty() ? Result<Done>(Done{}) : wrong(path, "the copy is damaged: " + damage);
}

// Copies into a file that is empty or missing.
Result<Done> copy_to(const Database& from, const std::string& path) {
  {
    TRY(const Database to, Database::open(path, Database::Use::write));
    TRY_DONE(copy_database(from, to));
  }
  return close_log(path);
}

Result<Done> copy_whole(const Database& from, const std::string& file) {
  const auto copy = [&](const std::string& beside) -> Result<Done> {
    Result<Done> copied = copy_to(from, beside);
    return copied ? copied : wrap(file, std::move(copied.error()));
  };
  return replace_file_by(file, copy, {.mode = kOwnerOnly});
}

nlohmann::json to_json(const Backup& backup) {
  return {{"file", backup.file},
          {"at", backup.at},
          {"bytes", backup.bytes},
          {"changes", backup.changes},
          {"epoch", backup.epoch}};
}

// None: there is none, or it can't be read.
std::optional<Backup> last_backup(const std::string& directory) {
  constexpr std::size_t kLargest = std::size_t{1} << 20;  // a path and four numbers
  const nlohmann::json json =
      nlohmann::json::parse(read_named(last_backup_file(directory), kLargest).text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto word = [&json](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const auto count = [&json](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
  };
  return Backup{word("file"), word("at"), count("bytes"), count("changes"), count("epoch"), {}};
}

// Refuses a target in the state directory: a backup must not take a name of ours, and is useless on a lost
// disk.
Result<Done> is_elsewhere(const std::string& directory, const std::string& file) {
  std::error_code why;
  const fs::path folder = fs::path(file).has_parent_path() ? fs::path(file).parent_path() : fs::path(".");
  if (!fs::equivalent(folder, directory, why) || why) return Done{};
  return wrong(file, "is in the state directory itself; a backup belongs on another disk");
}

// Checks the content of a backup before anything is touched.
Result<Done> check_backup(const Database& backup, const std::string& cluster) {
  TRY(const std::string damage, backup.damage());
  if (!damage.empty()) return wrong(backup.file(), "is damaged: " + damage + "; take another backup");
  TRY(const int layout, layout_of(backup));
  TRY(const std::uint64_t tables,
      backup.number("SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name IN "
                    "('changes', 'tickets', 'kept', 'epochs')"));
  if (layout == 0 || tables != 4)
    return wrong(backup.file(), "is no backup of a store; `lockstep state backup` makes one");
  if (layout < kLayoutOfIdentity || cluster.empty()) return Done{};
  TRY(const std::string of, backup.text("SELECT cluster FROM identity"));
  if (of.empty() || of == cluster) return Done{};
  return wrong(backup.file(), "is a backup of cluster " + of + ", not of " + cluster);
}

Result<Done> set_last_epoch(const Database& database, std::uint64_t epoch) {
  TRY(const std::size_t set,
      Statement(database, "UPDATE sqlite_sequence SET seq = ? WHERE name = 'epochs'").bind(epoch).run());
  if (set > 0) return Done{};
  TRY_DONE(
      Statement(database, "INSERT INTO sqlite_sequence(name, seq) VALUES('epochs', ?)").bind(epoch).run());
  return Done{};
}

// One restore, under the cluster's lock.
class Restoring {
 public:
  Restoring(const std::string& directory, const StoreOptions& options, const Database& backup)
      : directory_(directory), options_(options), backup_(backup) {}

  Result<Restored> run() {
    TRY(const bool was_there, exists(live_));
    TRY(kept_, was_there ? name_for_old() : Result<std::string>(std::string()));
    TRY(const bool sound, was_there ? live_is_sound() : Result<bool>(false));
    TRY(const std::uint64_t of_backup, last_epoch(backup_));
    // The record of the last backup has an epoch even if the store is damaged.
    const std::optional<Backup> noted = last_backup(directory_);
    epoch_ = std::max({live_epoch_, of_backup, noted ? noted->epoch : 0}) + kEpochGap;
    TRY_DONE(sound ? replace_content() : replace_whole(was_there));
    TRY(const std::uint64_t changes, backup_.number("SELECT COUNT(*) FROM changes"));
    return Restored{kept_, changes, epoch_};
  }

 private:
  // False: damaged. An error: that could not be determined, or a newer lockstep wrote it.
  Result<bool> live_is_sound() {
    TRY(const Database live, Database::open(live_, Database::Use::read));
    TRY(const std::string damage, live.damage());
    if (const Result<std::uint64_t> epoch = last_epoch(live); epoch) live_epoch_ = *epoch;
    if (!damage.empty()) return false;
    TRY_DONE(layout_of(live));
    return true;
  }

  Result<std::string> name_for_old() const {
    std::string at = utc_text(options_.now());
    std::erase_if(at, [](char c) { return c == '-' || c == ':'; });
    const std::string stem = directory_ + "/journal.before-restore-" + at;
    std::string name = stem + ".sqlite";
    for (int again = 2;; ++again) {
      TRY(const bool taken, exists(name));
      if (!taken) return name;
      name = stem + "-" + std::to_string(again) + ".sqlite";
    }
  }

  // The backup as it will be used: with this layout, and an epoch above all that are known.
  Result<Done> prepare(const std::string& path) const {
    TRY_DONE(copy_to(backup_, path));
    TRY(const Database fresh, Database::open(path, Database::Use::write));
    TRY_DONE(bring_up_to_date(fresh));
    TRY_DONE(
        Statement(fresh, "UPDATE identity SET cluster = ?1 WHERE ?1 <> ''").bind(options_.cluster).run());
    return set_last_epoch(fresh, epoch_);
  }

  // Readers may have the file open: SQLite changes its content, in one transaction.
  Result<Done> replace_content() const {
    {
      TRY(const Database live, Database::open(live_, Database::Use::read));
      TRY_DONE(copy_whole(live, kept_));
    }
    const std::string prepared = directory_ + "/restoring.sqlite";
    TRY_DONE(remove(prepared));  // left by a restore that was killed
    Result<Done> done = prepare(prepared);
    if (done) done = take_content_of(prepared);
    TRY_DONE(remove(prepared));
    if (!done) TRY_DONE(remove(kept_));  // the store is unchanged
    return done;
  }

  Result<Done> take_content_of(const std::string& prepared) const {
    TRY(const Database from, Database::open(prepared, Database::Use::read));
    TRY(const Database live, Database::open(live_, Database::Use::write));
    TRY_DONE(live.write_ahead());
    return copy_database(from, live);
  }

  // The log of a damaged file is removed first: SQLite would take it for the new file's.
  Result<Done> replace_whole(bool was_there) const {
    // The replaced file is kept with its mode, so that is restricted first.
    if (was_there && ::chmod(live_.c_str(), kOwnerOnly) != 0) return file_error(live_, errno);
    return replace_file_by(live_, [&](const std::string& beside) -> Result<Done> {
      TRY_DONE(prepare(beside));
      if (was_there && ::link(live_.c_str(), kept_.c_str()) != 0) return file_error(kept_, errno);
      const std::string log = live_ + "-wal";
      TRY(const bool logged, exists(log));
      if (logged && was_there && ::rename(log.c_str(), (kept_ + "-wal").c_str()) != 0)
        return file_error(log, errno);
      if (logged && !was_there) TRY_DONE(remove(log));
      return remove(live_ + "-shm");
    });
  }

  static Result<Done> remove(const std::string& file) {
    if (::unlink(file.c_str()) == 0 || errno == ENOENT) return Done{};
    return file_error(file, errno);
  }

  const std::string& directory_;
  const StoreOptions& options_;
  const Database& backup_;
  const std::string live_ = store_file(directory_);
  std::string kept_;
  std::uint64_t live_epoch_ = 0;
  std::uint64_t epoch_ = 0;
};

}  // namespace

Result<Backup> back_up(const std::string& directory, const std::string& file, const StoreOptions& options) {
  TRY_DONE(is_elsewhere(directory, file));
  TRY(const StoreFile store, describe(directory));
  if (!store.begun) return wrong(store.file, "nothing was ever written here: there is nothing to back up");
  TRY(const Database from, Database::open(store.file, Database::Use::read));
  Backup made;
  made.at = utc_text(options.now());
  made.file = absolute_path(file);
  TRY_DONE(copy_whole(from, file));
  TRY(const Database copy, Database::open(file, Database::Use::read));
  TRY(made.changes, copy.number("SELECT COUNT(*) FROM changes"));
  TRY(made.epoch, last_epoch(copy));
  std::error_code unseen;
  made.bytes = fs::file_size(file, unseen);
  if (Result<Done> noted = replace_file(last_backup_file(directory), to_json(made).dump(2) + "\n"); !noted)
    made.not_noted = std::move(noted.error());
  return made;
}

Result<Restored> restore(const std::string& directory, const std::string& file, const std::string& command,
                         const StoreOptions& options) {
  std::error_code different;
  if (fs::equivalent(file, store_file(directory), different) && !different)
    return wrong(file, "is the store itself; restore takes a backup of it");
  // SQLite would wait for a FIFO, and write to a device.
  if (const std::string why = why_not_regular(file); !why.empty()) return wrong(file, why);
  TRY(const FileLock lock, lock_for_writing(directory, command, options.now()));
  TRY(const Database backup, Database::open(file, Database::Use::read));
  TRY_DONE(check_backup(backup, options.cluster));
  return Restoring(directory, options, backup).run();
}

Result<Restored> take_over(const std::string& from, const std::string& directory, const std::string& command,
                           const StoreOptions& options) {
  TRY(const FileLock theirs, lock_for_writing(from, command, options.now()));
  TRY(const FileLock ours, lock_for_writing(directory, command, options.now()));
  TRY(const Database other, Database::open(store_file(from), Database::Use::read));
  TRY_DONE(check_backup(other, ""));
  return Restoring(directory, options, other).run();
}

Result<StoreFile> describe(const std::string& directory) {
  StoreFile out;
  out.file = store_file(directory);
  out.last_backup = last_backup(directory);
  TRY(const bool there, exists(out.file));
  if (!there) return out;
  TRY(const Database from, Database::open(out.file, Database::Use::read));
  TRY(out.layout, layout_of(from));
  if (out.layout == 0) return out;
  out.begun = true;
  std::error_code unseen;
  out.bytes = fs::file_size(out.file, unseen);
  TRY(out.epoch, last_epoch(from));
  if (out.layout >= kLayoutOfIdentity) {
    TRY(out.cluster, from.text("SELECT cluster FROM identity"));
  }
  return out;
}

}  // namespace lockstep
