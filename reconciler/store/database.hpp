// Database: one SQLite connection, its statements and transactions; every result of SQLite is checked.
//
// Promises: an error names the file, the operation, SQLite's message and a remedy; a transaction that is not
// committed leaves nothing. A database locked by another connection is waited for up to kBusyWait, then
// refused (conflict). For one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "specs/model/result.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace lockstep {

// With a write-ahead log readers and the writer don't wait for each other. Waits are for a process that
// recovers the log of a killed writer, or ends it: milliseconds; and, between the leader and a process that
// records measurements, for the other's transaction: a second for 100,000 figures. A choice.
inline constexpr std::chrono::milliseconds kBusyWait{5000};

class Database {
 public:
  // read: refuses statements that write, but recovers the log of a killed writer if it has permission. write:
  // creates a missing file; only its owner has access (0600) from then on.
  enum class Use : std::uint8_t { read, write };
  static Result<Database> open(const std::string& file, Use use);
  static Result<Database> in_memory();

  // From here on a commit survives a power loss and blocks no reader: journal_mode=WAL, synchronous=FULL,
  // foreign_keys=ON, each read back.
  Result<Done> write_ahead() const;
  // Damage as reported by PRAGMA integrity_check; empty: none.
  Result<std::string> damage() const;

  Result<Done> execute(const std::string& text) const;
  Result<std::uint64_t> number(const std::string& text) const;  // of one row and column; 0: none, or NULL
  Result<std::string> text(const std::string& text) const;      // of one row and column; empty: none, or NULL

  const std::string& file() const { return file_; }
  sqlite3* handle() const { return connection_.get(); }
  // The error of the last call that failed on this connection; `doing`: "write".
  Error failure(const std::string& doing) const;

 private:
  Database(const std::string& file, sqlite3* connection) : file_(file), connection_(connection) {}
  struct Closer {
    void operator()(sqlite3* connection) const;
  };
  std::string file_;
  std::unique_ptr<sqlite3, Closer> connection_;
};

// One prepared statement: bound in order, then run or stepped row by row. Earlier failures are returned from
// run() or each().
class Statement {
 public:
  Statement(const Database& database, const std::string& text);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(const std::string& text);
  Statement& bind(std::uint64_t number);
  Statement& bind(std::optional<double> number);  // none: NULL
  // Resets it, with nothing bound.
  void again();
  // Returns the number of rows that it changed.
  Result<std::size_t> run();
  Result<Done> each(const std::function<void(const Statement&)>& row);

  std::string text(int column) const;  // of the current row; NULL is empty
  std::uint64_t number(int column) const;
  std::optional<double> real(int column) const;  // none: NULL

 private:
  void check(int code);
  const Database& database_;
  sqlite3_stmt* statement_ = nullptr;
  std::unique_ptr<Error> failed_;
  int bound_ = 0;
};

// Rolled back unless committed.
class Transaction {
 public:
  // Does not wait for readers.
  static Result<Transaction> begin(const Database& database);
  ~Transaction();
  Transaction(Transaction&& other) noexcept : database_(other.database_) { other.database_ = nullptr; }
  Transaction& operator=(Transaction&&) = delete;
  Result<Done> commit();

 private:
  explicit Transaction(const Database& database) : database_(&database) {}
  const Database* database_;  // null: committed, or moved to another object
};

// Replaces the content of `to` with that of `from`, in one transaction of `to`. Readers of both continue.
Result<Done> copy_database(const Database& from, const Database& to);

}  // namespace lockstep
