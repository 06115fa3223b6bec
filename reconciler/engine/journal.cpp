#include "reconciler/engine/journal.hpp"

#include <sqlite3.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "reconciler/engine/plan.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

// The file's layouts: each entry leads from the one before it. A file of a higher number was written by a
// newer lockstep.
constexpr std::array kLayouts{
    R"(
CREATE TABLE changes (id INTEGER PRIMARY KEY AUTOINCREMENT, begun TEXT NOT NULL, ended TEXT, outcome TEXT,
                      author TEXT NOT NULL, reason TEXT NOT NULL, digest TEXT NOT NULL, plan TEXT NOT NULL,
                      epoch INTEGER NOT NULL);
CREATE TABLE tickets (ticket TEXT PRIMARY KEY, change INTEGER NOT NULL REFERENCES changes(id), step INTEGER NOT NULL,
                      device TEXT NOT NULL, driver TEXT NOT NULL, writes TEXT NOT NULL, begun TEXT NOT NULL,
                      state INTEGER NOT NULL, settled TEXT, note TEXT);
CREATE INDEX tickets_of_change ON tickets(change);
CREATE TABLE kept (key TEXT PRIMARY KEY, value TEXT NOT NULL, written TEXT NOT NULL);
CREATE TABLE epochs (epoch INTEGER PRIMARY KEY AUTOINCREMENT, begun TEXT NOT NULL, pid INTEGER NOT NULL,
                     command TEXT NOT NULL);
)",
    "ALTER TABLE changes ADD COLUMN gate INTEGER NOT NULL DEFAULT 0;",
    // at: milliseconds since 1970
    "CREATE TABLE cures (device TEXT NOT NULL, remedy TEXT NOT NULL, at INTEGER NOT NULL);"
    "CREATE INDEX cures_of ON cures(device, remedy, at);",
    "CREATE TABLE written (device TEXT NOT NULL, path TEXT NOT NULL, found TEXT NOT NULL, wrote TEXT NOT "
    "NULL,"
    " restore INTEGER NOT NULL DEFAULT 0, object TEXT NOT NULL DEFAULT '', PRIMARY KEY (device, path));",
    "ALTER TABLE written ADD COLUMN tried TEXT;"};
constexpr int kLayout = static_cast<int>(kLayouts.size());
constexpr int kLayoutOfGates = 2;
constexpr int kLayoutOfWrites = 4;
constexpr int kLayoutOfTries = 5;

// Of a verified write: its value is there, whatever was tried before.
constexpr const char* kRememberVerified =
    "INSERT INTO written(device, path, found, wrote) VALUES(?1, ?2, ?3, ?4) "
    "ON CONFLICT(device, path) DO UPDATE SET wrote = excluded.wrote, tried = NULL";
// Of one that is not known to hold. ?5: what was seen there before it, which an earlier try may have left.
constexpr const char* kRememberTried =
    "INSERT INTO written(device, path, found, wrote, tried) VALUES(?1, ?2, ?3, ?3, ?4) "
    "ON CONFLICT(device, path) DO UPDATE SET wrote = CASE WHEN tried = ?5 THEN tried ELSE wrote END, "
    "tried = excluded.tried";

std::uint64_t milliseconds_of(WallTime at) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count());
}

Error failure(sqlite3* database, const std::string& what) {
  const int code = database != nullptr ? sqlite3_errcode(database) : SQLITE_CANTOPEN;
  const ErrorKind kind =
      code == SQLITE_BUSY || code == SQLITE_LOCKED ? ErrorKind::conflict : ErrorKind::refused;
  return Error{
      kind, "journal: " + what + ": " + (database != nullptr ? sqlite3_errmsg(database) : "out of memory")};
}

// One prepared statement: bound in order, stepped row by row.
class Statement {
 public:
  Statement(sqlite3* database, const char* text) : database_(database) {
    ok_ = sqlite3_prepare_v2(database, text, -1, &statement_, nullptr) == SQLITE_OK;
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(const std::string& text) {
    if (ok_)
      sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
    return *this;
  }
  Statement& bind(std::uint64_t number) {
    if (ok_) sqlite3_bind_int64(statement_, ++bound_, static_cast<sqlite3_int64>(number));
    return *this;
  }
  Result<Done> run() {
    if (!ok_ || sqlite3_step(statement_) != SQLITE_DONE) return failure(database_, "write");
    return Done{};
  }
  Result<Done> each(const std::function<void(Statement&)>& row) {
    if (!ok_) return failure(database_, "read");
    int step = sqlite3_step(statement_);
    for (; step == SQLITE_ROW; step = sqlite3_step(statement_)) row(*this);
    if (step != SQLITE_DONE) return failure(database_, "read");
    return Done{};
  }
  std::string text(int column) const {
    const auto* const bytes = sqlite3_column_text(statement_, column);
    return bytes == nullptr ? std::string()
                            : std::string(reinterpret_cast<const char*>(bytes),
                                          static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
  }
  std::uint64_t number(int column) const {
    return static_cast<std::uint64_t>(sqlite3_column_int64(statement_, column));
  }

 private:
  sqlite3* database_;
  sqlite3_stmt* statement_ = nullptr;
  bool ok_ = false;
  int bound_ = 0;
};

Result<Done> execute(sqlite3* database, const char* text) {
  if (sqlite3_exec(database, text, nullptr, nullptr, nullptr) != SQLITE_OK)
    return failure(database, "set up");
  return Done{};
}

// Rolled back unless committed.
class Transaction {
 public:
  explicit Transaction(sqlite3* database) : database_(database) {
    sqlite3_exec(database_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr);
  }
  ~Transaction() {
    if (sqlite3_get_autocommit(database_) == 0)
      sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  Result<Done> commit() const { return execute(database_, "COMMIT"); }

 private:
  sqlite3* database_;
};

// A device's bytes that are no UTF-8 are kept as U+FFFD: JSON has no words for them.
std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string writes_json(const ChangeSet& changes) {
  Json out = Json::array();
  for (const Change& change : changes)
    out.push_back(
        {{"path", change.path.text()}, {"was", to_json(change.was)}, {"want", to_json(change.want)}});
  return text_of(out);
}

ChangeSet writes_of(const std::string& text) {
  ChangeSet changes;
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_array()) return changes;
  for (const Json& one : json) {
    if (!one.is_object() || !one.contains("path") || !one["path"].is_string()) continue;
    const auto path = Path::parse(one["path"].get<std::string>());
    if (!path || !one.contains("was") || !one.contains("want")) continue;  // a row of another version
    const auto was = value_from_json(path->row(), one["was"]);
    const auto want = value_from_json(path->row(), one["want"]);
    if (was && want) changes.push_back({*path, *was, *want, 0});
  }
  return changes;
}

// The file's layout, after what a writer does to bring it up to date.
Result<int> prepare_layout(sqlite3* database, bool read_only) {
  if (!read_only) TRY_DONE(execute(database, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"));
  TRY_DONE(execute(database, "PRAGMA foreign_keys=ON; PRAGMA busy_timeout=5000;"));
  int layout = 0;
  TRY_DONE(Statement(database, "PRAGMA user_version").each([&layout](Statement& row) {
    layout = static_cast<int>(row.number(0));
  }));
  if (layout > kLayout)
    return Error{ErrorKind::unsupported, "journal: written by a newer lockstep (layout " +
                                             std::to_string(layout) + ", this one knows " +
                                             std::to_string(kLayout) + ")"};
  if (layout == kLayout || read_only) return layout;
  TRY_DONE(execute(database, "BEGIN IMMEDIATE"));
  for (; layout < kLayout; ++layout) TRY_DONE(execute(database, kLayouts[static_cast<std::size_t>(layout)]));
  TRY_DONE(execute(database, ("PRAGMA user_version=" + std::to_string(kLayout)).c_str()));
  TRY_DONE(execute(database, "COMMIT"));
  return layout;
}

Result<Done> forget_unwritten(sqlite3* database, const std::string& device) {
  return Statement(database, "DELETE FROM written WHERE device = ? AND found = wrote AND tried IS NULL")
      .bind(device)
      .run();
}

// The tickets of a change, in the order of the writes, with their state.
Result<std::vector<std::pair<LedgerTicket, TicketState>>> tickets_of(sqlite3* database,
                                                                     std::uint64_t change) {
  std::vector<std::pair<LedgerTicket, TicketState>> all;
  TRY_DONE(Statement(database,
                     "SELECT ticket, step, device, driver, writes, state FROM tickets WHERE change = ? "
                     "ORDER BY rowid")
               .bind(change)
               .each([&all](Statement& row) {
                 all.emplace_back(LedgerTicket{row.text(0), static_cast<std::uint32_t>(row.number(1)),
                                               row.text(2), row.text(3), writes_of(row.text(4))},
                                  static_cast<TicketState>(row.number(5)));
               }));
  return all;
}

}  // namespace

Journal::Journal() = default;
Journal::~Journal() = default;
void Journal::Closer::operator()(sqlite3* database) const { sqlite3_close(database); }

Result<std::unique_ptr<Journal>> Journal::open(const std::string& directory, const JournalOptions& options) {
  std::unique_ptr<Journal> journal(new Journal());
  std::string file = directory + "/journal.sqlite";
  if (!options.read_only) {
    TRY(FileLock lock, lock_for_writing(directory, options.command));
    journal->lock_.emplace(std::move(lock));
  }
  std::error_code unseen;
  const bool never_begun = options.read_only && !std::filesystem::exists(file, unseen) && !unseen;
  if (never_begun) file = ":memory:";
  sqlite3* database = nullptr;
  const int flags =
      options.read_only && !never_begun ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int opened = sqlite3_open_v2(file.c_str(), &database, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  journal->database_.reset(database);
  if (opened != SQLITE_OK) return failure(database, file);
  TRY(journal->layout_, prepare_layout(database, options.read_only && !never_begun));
  if (options.read_only) return journal;
  TRY_DONE(Statement(database, "INSERT INTO epochs(begun, pid, command) VALUES(?, ?, ?)")
               .bind(utc_now())
               .bind(static_cast<std::uint64_t>(getpid()))
               .bind(options.command)
               .run());
  journal->epoch_ = static_cast<std::uint64_t>(sqlite3_last_insert_rowid(database));
  return journal;
}

Result<std::uint64_t> Journal::begin(const Plan& plan, const std::string& author, const std::string& reason) {
  TRY_DONE(
      Statement(database_.get(),
                "INSERT INTO changes(begun, author, reason, digest, plan, epoch) VALUES(?, ?, ?, ?, ?, ?)")
          .bind(utc_now())
          .bind(author)
          .bind(reason)
          .bind(plan.digest)
          .bind(text_of(to_json(plan)))
          .bind(epoch_)
          .run());
  return static_cast<std::uint64_t>(sqlite3_last_insert_rowid(database_.get()));
}

Result<Done> Journal::ticket(std::uint64_t change, const LedgerTicket& ticket) {
  return Statement(database_.get(),
                   "INSERT INTO tickets(ticket, change, step, device, driver, writes, begun, state) "
                   "VALUES(?, ?, ?, ?, ?, ?, ?, 0)")
      .bind(ticket.ticket)
      .bind(change)
      .bind(std::uint64_t{ticket.step})
      .bind(ticket.device)
      .bind(ticket.driver)
      .bind(writes_json(ticket.changes))
      .bind(utc_now())
      .run();
}

Result<Done> Journal::receipt(const std::string& ticket, TicketState state, const std::string& note) {
  const Transaction whole(database_.get());
  if (state != TicketState::undone) TRY_DONE(remember_writes(ticket, state == TicketState::kept));
  TRY_DONE(Statement(database_.get(), "UPDATE tickets SET state = ?, settled = ?, note = ? WHERE ticket = ?")
               .bind(static_cast<std::uint64_t>(state))
               .bind(utc_now())
               .bind(note)
               .bind(ticket)
               .run());
  return whole.commit();
}

// Once what was found is back, nothing of ours is left.
Result<Done> Journal::remember_writes(const std::string& ticket, bool verified) {
  std::string device;
  ChangeSet changes;
  TRY_DONE(Statement(database_.get(), "SELECT device, writes FROM tickets WHERE ticket = ?")
               .bind(ticket)
               .each([&](Statement& row) {
                 device = row.text(0);
                 changes = writes_of(row.text(1));
               }));
  std::set<Path> begun;  // a guard is written twice in one ticket: only the first `was` is an observation
  for (const Change& change : changes) {
    const std::string was = text_of(to_json(change.was));
    Statement remember(database_.get(), verified ? kRememberVerified : kRememberTried);
    remember.bind(device).bind(change.path.text()).bind(was).bind(text_of(to_json(change.want)));
    if (!verified) remember.bind(begun.insert(change.path).second ? was : "");
    TRY_DONE(remember.run());
  }
  return forget_unwritten(database_.get(), device);
}

Result<std::vector<WrittenEntry>> Journal::written() const {
  std::vector<WrittenEntry> all;
  if (layout_ < kLayoutOfWrites) return all;
  const std::string text = std::string("SELECT device, path, found, wrote, restore, object, ") +
                           (layout_ < kLayoutOfTries ? "NULL" : "tried") +
                           " FROM written ORDER BY device, path";
  TRY_DONE(Statement(database_.get(), text.c_str()).each([&all](Statement& row) {
    const auto path = Path::parse(row.text(1));
    if (!path) return;  // of another version
    const auto value = [&](int column) {
      return value_from_json(path->row(), Json::parse(row.text(column), nullptr, false));
    };
    const auto found = value(2);
    const auto wrote = value(3);
    if (!found || !wrote) return;
    all.push_back({row.text(0), *path, *found, *wrote, {}, row.number(4) != 0, row.text(5)});
    if (row.text(6).empty()) return;
    if (const auto tried = value(6)) all.back().tried = *tried;
  }));
  return all;
}

Result<Done> Journal::note(const std::vector<WrittenEntry>& entries) {
  const Transaction whole(database_.get());
  for (const WrittenEntry& one : entries) {
    TRY_DONE(Statement(database_.get(),
                       "UPDATE written SET wrote = ?, tried = NULLIF(?, ''), restore = ?, object = ? "
                       "WHERE device = ? AND path = ?")
                 .bind(text_of(to_json(one.wrote)))
                 .bind(one.tried ? text_of(to_json(*one.tried)) : "")
                 .bind(std::uint64_t{one.restore})
                 .bind(one.object)
                 .bind(one.device)
                 .bind(one.path.text())
                 .run());
    TRY_DONE(forget_unwritten(database_.get(), one.device));
  }
  return whole.commit();
}

Result<Done> Journal::forget(const std::vector<WrittenEntry>& entries) {
  const Transaction whole(database_.get());
  for (const WrittenEntry& one : entries)
    TRY_DONE(Statement(database_.get(), "DELETE FROM written WHERE device = ? AND path = ?")
                 .bind(one.device)
                 .bind(one.path.text())
                 .run());
  return whole.commit();
}

Result<Done> Journal::gate(std::uint64_t change, GateState state) {
  return Statement(database_.get(), "UPDATE changes SET gate = ? WHERE id = ?")
      .bind(static_cast<std::uint64_t>(state))
      .bind(change)
      .run();
}

Result<Done> Journal::end(std::uint64_t change, const std::string& outcome) {
  return Statement(database_.get(), "UPDATE changes SET ended = ?, outcome = ? WHERE id = ?")
      .bind(utc_now())
      .bind(outcome)
      .bind(change)
      .run();
}

Result<Done> Journal::cure(const std::string& device, const std::string& remedy, WallTime at) {
  return Statement(database_.get(), "INSERT INTO cures(device, remedy, at) VALUES(?, ?, ?)")
      .bind(device)
      .bind(remedy)
      .bind(milliseconds_of(at))
      .run();
}

Result<std::size_t> Journal::cures(const std::string& device, const std::string& remedy,
                                   WallTime since) const {
  std::size_t count = 0;
  TRY_DONE(Statement(database_.get(), "SELECT COUNT(*) FROM cures WHERE device = ? AND remedy = ? AND at > ?")
               .bind(device)
               .bind(remedy)
               .bind(milliseconds_of(since))
               .each([&count](Statement& row) { count = row.number(0); }));
  return count;
}

Result<std::vector<InFlight>> Journal::in_flight() const {
  std::vector<InFlight> all;
  TRY_DONE(Statement(database_.get(),
                     "SELECT id, begun, author, plan FROM changes WHERE ended IS NULL ORDER BY id")
               .each([&all](Statement& row) {
                 all.push_back({row.number(0), row.text(1), row.text(2), row.text(3), {}, {}});
               }));
  for (InFlight& one : all) {
    TRY(auto tickets, tickets_of(database_.get(), one.change));
    for (auto& [ticket, state] : tickets) {
      if (state == TicketState::begun)
        one.unsettled.push_back(std::move(ticket));
      else if (state == TicketState::kept)
        one.kept.push_back(std::move(ticket));
    }
  }
  return all;
}

Result<std::vector<OwedChange>> Journal::owed() const {
  std::vector<OwedChange> all;
  if (layout_ < kLayoutOfGates) return all;
  TRY_DONE(Statement(database_.get(), "SELECT id, begun, author FROM changes WHERE gate = ? ORDER BY id")
               .bind(static_cast<std::uint64_t>(GateState::owed))
               .each([&all](Statement& row) {
                 all.push_back({row.number(0), row.text(1), row.text(2), {}});
               }));
  for (OwedChange& one : all) {
    TRY(auto tickets, tickets_of(database_.get(), one.change));
    for (auto& [ticket, state] : tickets)
      if (state != TicketState::undone) one.tickets.push_back(std::move(ticket));
  }
  std::erase_if(all, [](const OwedChange& one) { return one.tickets.empty(); });
  return all;
}

Result<std::vector<JournalChange>> Journal::changes(std::size_t newest) const {
  std::vector<JournalChange> all;
  TRY_DONE(
      Statement(
          database_.get(),
          "SELECT id, begun, ended, outcome, author, reason, digest FROM changes ORDER BY id DESC LIMIT ?")
          .bind(std::uint64_t{newest})
          .each([&all](Statement& row) {
            all.push_back({row.number(0), row.text(1), row.text(2), row.text(3), row.text(4), row.text(5),
                           row.text(6)});
          }));
  return all;
}

Result<Done> Journal::keep(const std::string& key, const Json& blob) {
  return Statement(database_.get(),
                   "INSERT INTO kept(key, value, written) VALUES(?, ?, ?) "
                   "ON CONFLICT(key) DO UPDATE SET value = excluded.value, written = excluded.written")
      .bind(key)
      .bind(text_of(blob))
      .bind(utc_now())
      .run();
}

Result<std::optional<Json>> Journal::kept(const std::string& key) const {
  std::optional<std::string> text;
  TRY_DONE(Statement(database_.get(), "SELECT value FROM kept WHERE key = ?")
               .bind(key)
               .each([&text](Statement& row) { text = row.text(0); }));
  if (!text) return std::optional<Json>();
  Json json = Json::parse(*text, nullptr, false);
  if (json.is_discarded())
    return Error{ErrorKind::refused, "journal: what is kept under '" + key + "' is broken"};
  return std::optional<Json>(std::move(json));
}

}  // namespace lockstep
