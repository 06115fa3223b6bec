#include "reconciler/store/database.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "specs/files/descriptor.hpp"
#include "specs/files/file_error.hpp"

namespace lockstep {
namespace {

ErrorKind kind_of(int code) {
  switch (code) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return ErrorKind::conflict;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN: return ErrorKind::denied;
    default: return ErrorKind::refused;
  }
}

// What the user can do about it.
const char* advice_for(int code) {
  switch (code) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return "; another process holds it for longer than 5 s";
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
      return "; this user needs to read and write the file, those beside it and their folder";
    case SQLITE_FULL: return "; the journal has none of it: make room on that file system and try again";
    case SQLITE_IOERR: return "; look at the disk and its file system (dmesg)";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return "; the file is damaged: `lockstep state restore BACKUP` puts a backup in its place and keeps it "
             "under another name";
    default: return "";
  }
}

constexpr int kPrimaryCode = 0xff;  // of an extended result code (sqlite3.h)

bool is_read_only(const std::string& file) {
  struct statvfs disk {};
  return ::statvfs(file.c_str(), &disk) == 0 && (disk.f_flag & ST_RDONLY) != 0;
}

Error failure_of(const std::string& file, const std::string& doing, sqlite3* connection) {
  if (connection == nullptr) return Error{ErrorKind::refused, file + ": " + doing + ": out of memory"};
  int code = sqlite3_errcode(connection) & kPrimaryCode;
  std::string what = sqlite3_errmsg(connection);
  // SQLite's message does not contain the system's error. On a completely full disk the index beside the log
  // (-shm) reports it; on a read-only file system the index is missing, and that is the only system error.
  const int system = sqlite3_system_errno(connection);
  const bool full = system == ENOSPC || system == EDQUOT;
  if (code == SQLITE_IOERR && system != 0) what += std::string(" (") + std::strerror(system) + ")";
  if ((code == SQLITE_IOERR || code == SQLITE_CANTOPEN) && full) code = SQLITE_FULL;
  if (code == SQLITE_CANTOPEN && is_read_only(file)) what += std::string(" (") + std::strerror(EROFS) + ")";
  return Error{kind_of(code), file + ": " + doing + ": " + what + advice_for(code)};
}

}  // namespace

// Fails only if statements are left, and those are destroyed before their database.
void Database::Closer::operator()(sqlite3* connection) const { (void)sqlite3_close(connection); }

namespace {

// Device data must not be readable by others. SQLite gives its log the file's own mode (os_unix.c,
// findCreateFileMode).
constexpr mode_t kJournalMode = 0600;

Result<Done> make_private(const std::string& file) {
  const auto failed = [&file] { return file_error(file, errno); };
  if (const Descriptor made(::open(file.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, kJournalMode));
      made)
    return ::fchmod(made.number(), kJournalMode) == 0 ? Result<Done>(Done{}) : failed();
  if (errno != EEXIST) return failed();
  // O_PATH: closing any other descriptor of the file would drop SQLite's own locks (fcntl_locking(2)).
  const Descriptor there(::open(file.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat found {};
  if (!there || ::fstat(there.number(), &found) != 0) return failed();
  if (!S_ISREG(found.st_mode)) return Error{ErrorKind::refused, file + ": is no regular file"};
  const std::string itself = "/proc/self/fd/" + std::to_string(there.number());
  if ((found.st_mode & 07777) != kJournalMode && ::chmod(itself.c_str(), kJournalMode) != 0) return failed();
  return Done{};
}

constexpr const char* kInMemory = ":memory:";

}  // namespace

Result<Database> Database::open(const std::string& file, Use use) {
  if (use == Use::write && file != kInMemory) TRY_DONE(make_private(file));
  sqlite3* connection = nullptr;
  // A file that this user can't write is opened for reading all the same (sqlite3_open_v2).
  const int how = SQLITE_OPEN_READWRITE | (use == Use::write ? SQLITE_OPEN_CREATE : 0);
  const int opened = sqlite3_open_v2(file.c_str(), &connection, how | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(file, connection);
  if (opened != SQLITE_OK ||
      sqlite3_busy_timeout(connection, static_cast<int>(kBusyWait.count())) != SQLITE_OK)
    return database.failure("open");
  if (use == Use::read) TRY_DONE(database.execute("PRAGMA query_only=ON"));
  return database;
}

Result<Database> Database::in_memory() { return open(kInMemory, Use::write); }

Result<Done> Database::write_ahead() const {
  TRY(const std::string mode, text("PRAGMA journal_mode=WAL"));
  if (mode != "wal")
    return Error{ErrorKind::refused,
                 file_ + ": SQLite has no write-ahead log here (journal_mode is '" + mode +
                     "'); it needs a local file system with shared memory: put the state directory on one "
                     "(LOCKSTEP_STATE_DIR)"};
  TRY_DONE(execute("PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON"));
  constexpr std::uint64_t kFull = 2;  // sqlite.org/pragma.html#pragma_synchronous
  TRY(const std::uint64_t synchronous, number("PRAGMA synchronous"));
  TRY(const std::uint64_t keys, number("PRAGMA foreign_keys"));
  if (synchronous < kFull || keys != 1)
    return Error{ErrorKind::refused,
                 file_ + ": this SQLite does not sync what it commits, or checks no foreign keys"};
  return Done{};
}

Result<std::string> Database::damage() const {
  Result<std::string> found = text("PRAGMA integrity_check(1)");
  if (found) return *found == "ok" ? std::string() : *std::move(found);
  const int code = sqlite3_errcode(handle()) & kPrimaryCode;
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) return std::string(sqlite3_errmsg(handle()));
  return found;
}

Result<Done> Database::execute(const std::string& text) const {
  if (sqlite3_exec(handle(), text.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return failure("write");
  return Done{};
}

Result<std::uint64_t> Database::number(const std::string& text) const {
  std::uint64_t out = 0;
  TRY_DONE(Statement(*this, text).each([&out](const Statement& row) { out = row.number(0); }));
  return out;
}

Result<std::string> Database::text(const std::string& text) const {
  std::string out;
  TRY_DONE(Statement(*this, text).each([&out](const Statement& row) { out = row.text(0); }));
  return out;
}

Error Database::failure(const std::string& doing) const { return failure_of(file_, doing, handle()); }

Statement::Statement(const Database& database, const std::string& text) : database_(database) {
  check(sqlite3_prepare_v2(database.handle(), text.data(), static_cast<int>(text.size()), &statement_,
                           nullptr));
}

// sqlite3_finalize() repeats the result of the last step, which was checked.
Statement::~Statement() { (void)sqlite3_finalize(statement_); }

// The first failure is kept.
void Statement::check(int code) {
  if (code != SQLITE_OK && !failed_) failed_ = std::make_unique<Error>(database_.failure("prepare"));
}

Statement& Statement::bind(const std::string& text) {
  if (!failed_)
    check(sqlite3_bind_text64(statement_, ++bound_, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind(std::uint64_t number) {
  if (!failed_) check(sqlite3_bind_int64(statement_, ++bound_, static_cast<sqlite3_int64>(number)));
  return *this;
}

Statement& Statement::bind(std::optional<double> number) {
  if (failed_) return *this;
  ++bound_;
  check(number ? sqlite3_bind_double(statement_, bound_, *number) : sqlite3_bind_null(statement_, bound_));
  return *this;
}

// sqlite3_reset() repeats the result of the last step, which was checked.
void Statement::again() {
  (void)sqlite3_reset(statement_);
  bound_ = 0;
}

Result<std::size_t> Statement::run() {
  if (failed_) return std::move(*failed_);
  if (sqlite3_step(statement_) != SQLITE_DONE) return database_.failure("write");
  return static_cast<std::size_t>(sqlite3_changes(database_.handle()));
}

Result<Done> Statement::each(const std::function<void(const Statement&)>& row) {
  if (failed_) return std::move(*failed_);
  int step = sqlite3_step(statement_);
  for (; step == SQLITE_ROW; step = sqlite3_step(statement_)) row(*this);
  if (step != SQLITE_DONE) return database_.failure("read");
  return Done{};
}

std::string Statement::text(int column) const {
  const auto* const bytes = sqlite3_column_text(statement_, column);
  return bytes == nullptr ? std::string()
                          : std::string(reinterpret_cast<const char*>(bytes),
                                        static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
}

std::uint64_t Statement::number(int column) const {
  return static_cast<std::uint64_t>(sqlite3_column_int64(statement_, column));
}

std::optional<double> Statement::real(int column) const {
  if (sqlite3_column_type(statement_, column) == SQLITE_NULL) return std::nullopt;
  return sqlite3_column_double(statement_, column);
}

Result<Transaction> Transaction::begin(const Database& database) {
  TRY_DONE(database.execute("BEGIN IMMEDIATE"));
  return Transaction(database);
}

// SQLite rolls back by itself after some errors. If the rollback fails here, the next BEGIN is refused with
// an error.
Transaction::~Transaction() {
  if (database_ != nullptr && sqlite3_get_autocommit(database_->handle()) == 0)
    (void)database_->execute("ROLLBACK");
}

Result<Done> Transaction::commit() {
  TRY_DONE(database_->execute("COMMIT"));
  database_ = nullptr;
  return Done{};
}

Result<Done> copy_database(const Database& from, const Database& to) {
  sqlite3_backup* const copy = sqlite3_backup_init(to.handle(), "main", from.handle(), "main");
  if (copy == nullptr) return to.failure("copy from " + from.file());
  constexpr int kAllPages = -1;
  const int stepped = sqlite3_backup_step(copy, kAllPages);
  // Stores its error in `to`, even if reading `from` failed.
  if (sqlite3_backup_finish(copy) != SQLITE_OK || stepped != SQLITE_DONE)
    return to.failure("copy from " + from.file());
  return Done{};
}

}  // namespace lockstep
