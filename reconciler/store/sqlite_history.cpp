#include "reconciler/store/sqlite_history.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "reconciler/engine/plan.hpp"
#include "reconciler/store/layout.hpp"
#include "reconciler/store/utc_text.hpp"
#include "specs/model/value_json.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

// For a verified write: its value is in place, whatever was tried before.
constexpr const char* kRememberVerified =
    "INSERT INTO written(device, path, found, wrote) VALUES(?1, ?2, ?3, ?4) "
    "ON CONFLICT(device, path) DO UPDATE SET wrote = excluded.wrote, tried = NULL";
// For a write that is about to be made. ?5: the value observed before it, which an earlier try may have left.
// A recorded object stays: only note() replaces it.
constexpr const char* kRememberTried =
    "INSERT INTO written(device, path, found, wrote, tried, restore, object) VALUES(?1, ?2, ?3, ?3, ?4, ?6, "
    "?7) "
    "ON CONFLICT(device, path) DO UPDATE SET wrote = CASE WHEN tried = ?5 THEN tried ELSE wrote END, "
    "tried = excluded.tried, restore = CASE WHEN object = '' THEN excluded.restore ELSE restore END, "
    "object = CASE WHEN object = '' THEN excluded.object ELSE object END";
// For a write that is not in place: it was rolled back.
constexpr const char* kForgetTried =
    "UPDATE written SET tried = NULL WHERE device = ?1 AND path = ?2 AND tried = ?3";

// What retention deletes. ?1 and ?2: the newest change beyond Retention::newest and beyond Retention::most, 0
// if there is none; ?3: changes that ended before are old enough. gate = 1 is GateState::owed and state = 2
// TicketState::undone, as in owed().
constexpr const char* kOldChanges =
    "(SELECT id FROM changes WHERE id <= MAX(?1, ?2) AND ended IS NOT NULL AND (id <= ?2 OR ended < ?3) "
    "AND id NOT IN (SELECT id FROM changes AS owing WHERE gate = 1 AND EXISTS "
    "(SELECT 1 FROM tickets WHERE change = owing.id AND state <> 2)))";
static_assert(static_cast<int>(GateState::owed) == 1 && static_cast<int>(TicketState::undone) == 2);

std::uint64_t milliseconds_of(WallTime at) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count());
}

std::string writes_json(const ChangeSet& changes) {
  Json out = Json::array();
  for (const Change& change : changes)
    out.push_back(
        {{"path", change.path.text()}, {"was", to_json(change.was)}, {"want", to_json(change.want)}});
  return stored_text(out);
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

Result<Done> forget_unwritten(const Database& database, const std::string& device) {
  TRY_DONE(Statement(database, "DELETE FROM written WHERE device = ? AND found = wrote AND tried IS NULL")
               .bind(device)
               .run());
  return Done{};
}

// A change that wrote nothing, or was rolled back completely, needs no validation: gate 1 is GateState::owed,
// 2 is settled, and state 2 TicketState::undone.
constexpr const char* kEnd =
    "UPDATE changes SET ended = ?1, outcome = ?2, gate = CASE WHEN owes THEN gate ELSE 2 END, "
    "subjects = CASE WHEN owes THEN subjects END, measured_before = CASE WHEN owes THEN measured_before END "
    "FROM (SELECT gate <> 1 OR EXISTS (SELECT 1 FROM tickets WHERE change = ?3 AND state <> 2) AS owes "
    "FROM changes WHERE id = ?3) WHERE id = ?3";
static_assert(static_cast<int>(GateState::settled) == 2);

constexpr const char* kChanges = "SELECT id, begun, ended, outcome, author, reason, digest FROM changes ";
ChangeRecord change_of(const Statement& row) {
  return {row.number(0), row.text(1), row.text(2), row.text(3), row.text(4), row.text(5), row.text(6)};
}

// The newest change that is not among the `count` newest; 0: there is none.
Result<std::uint64_t> newest_beyond(const Database& database, std::size_t count) {
  return database.number("SELECT id FROM changes ORDER BY id DESC LIMIT 1 OFFSET " + std::to_string(count));
}

}  // namespace

Result<std::vector<RecordedTicket>> tickets_of(const Database& database, std::uint64_t change) {
  std::vector<RecordedTicket> all;
  TRY_DONE(Statement(database,
                     "SELECT ticket, step, device, driver, writes, state, begun, note FROM tickets WHERE "
                     "change = ? ORDER BY rowid")
               .bind(change)
               .each([&all](const Statement& row) {
                 all.push_back({{row.text(0), static_cast<std::uint32_t>(row.number(1)), row.text(2),
                                 row.text(3), writes_of(row.text(4))},
                                static_cast<TicketState>(row.number(5)),
                                row.text(6),
                                row.text(7)});
               }));
  return all;
}

Result<Done> update(const Database& database, Statement& statement, const std::string& what) {
  TRY(const std::size_t changed, statement.run());
  if (changed == 1) return Done{};
  return Error{ErrorKind::refused, database.file() + ": there is no " + what};
}

std::string stored_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<std::uint64_t> SqliteHistory::begin(const Plan& plan, const std::string& author,
                                           const std::string& reason) {
  TRY(Transaction whole, file_.write());
  TRY_DONE(forget_old());
  TRY_DONE(
      Statement(file_.database(),
                "INSERT INTO changes(begun, author, reason, digest, plan, epoch) VALUES(?, ?, ?, ?, ?, ?)")
          .bind(utc_text(file_.now()))
          .bind(author)
          .bind(reason)
          .bind(plan.digest)
          .bind(stored_text(to_json(plan)))
          .bind(epoch())
          .run());
  TRY(const std::uint64_t change, file_.database().number("SELECT last_insert_rowid()"));
  TRY_DONE(whole.commit());
  return change;
}

Result<Done> SqliteHistory::forget_old() const {
  const Database& database = file_.database();
  TRY(const std::uint64_t newest, newest_beyond(database, kRetention.newest));
  TRY(const std::uint64_t most, newest_beyond(database, kRetention.most));
  const std::string cutoff = utc_text(file_.now() - kRetention.age);
  for (const char* const text : {"DELETE FROM tickets WHERE change IN ", "DELETE FROM changes WHERE id IN "})
    TRY_DONE(Statement(database, std::string(text) + kOldChanges).bind(newest).bind(most).bind(cutoff).run());
  TRY_DONE(Statement(database,
                     "DELETE FROM refused WHERE rowid NOT IN (SELECT rowid FROM refused ORDER BY "
                     "change DESC, rowid DESC LIMIT ?)")
               .bind(std::uint64_t{kRefusedMost})
               .run());
  TRY_DONE(Statement(database, "DELETE FROM cures WHERE at < ?")
               .bind(milliseconds_of(file_.now() - kCureWindowMax))
               .run());
  return Done{};
}

Result<Done> SqliteHistory::ticket(std::uint64_t change, const LedgerTicket& ticket) {
  TRY(Transaction whole, file_.write());
  TRY_DONE(Statement(file_.database(),
                     "INSERT INTO tickets(ticket, change, step, device, driver, writes, begun, state) "
                     "VALUES(?, ?, ?, ?, ?, ?, ?, 0)")
               .bind(ticket.ticket)
               .bind(change)
               .bind(std::uint64_t{ticket.step})
               .bind(ticket.device)
               .bind(ticket.driver)
               .bind(writes_json(ticket.changes))
               .bind(utc_text(file_.now()))
               .run());
  TRY_DONE(remember_tried(ticket.device, ticket.changes));
  return whole.commit();
}

Result<Done> SqliteHistory::receipt(const std::string& ticket, TicketState state, const std::string& note) {
  TRY(Transaction whole, file_.write());
  if (state != TicketState::failed) TRY_DONE(remember_outcome(ticket, state));
  TRY_DONE(update(
      file_.database(),
      Statement(file_.database(), "UPDATE tickets SET state = ?, settled = ?, note = ? WHERE ticket = ?")
          .bind(static_cast<std::uint64_t>(state))
          .bind(utc_text(file_.now()))
          .bind(note)
          .bind(ticket),
      "ticket " + ticket));
  return whole.commit();
}

// Stores the found value, and the object that restores it, before it is overwritten: a run that is killed in
// between loses neither.
Result<Done> SqliteHistory::remember_tried(const std::string& device, const ChangeSet& changes) const {
  std::set<Path> begun;  // a guard is written twice in one ticket: only the first `was` is an observation
  for (const Change& change : changes) {
    const std::string was = stored_text(to_json(change.was));
    const SaidBy said = file_.said_by(device, change.path);
    TRY_DONE(Statement(file_.database(), kRememberTried)
                 .bind(device)
                 .bind(change.path.text())
                 .bind(was)
                 .bind(stored_text(to_json(change.want)))
                 .bind(begun.insert(change.path).second ? was : "")
                 .bind(std::uint64_t{said.restore})
                 .bind(said.object)
                 .run());
  }
  return Done{};
}

// Once the found value is back, nothing of ours is left.
Result<Done> SqliteHistory::remember_outcome(const std::string& ticket, TicketState state) const {
  const Database& database = file_.database();
  std::string device;
  ChangeSet changes;
  TRY_DONE(Statement(database, "SELECT device, writes FROM tickets WHERE ticket = ?")
               .bind(ticket)
               .each([&](const Statement& row) {
                 device = row.text(0);
                 changes = writes_of(row.text(1));
               }));
  for (const Change& change : changes) {
    const std::string want = stored_text(to_json(change.want));
    if (state == TicketState::undone) {
      TRY_DONE(Statement(database, kForgetTried).bind(device).bind(change.path.text()).bind(want).run());
      continue;
    }
    TRY_DONE(Statement(database, kRememberVerified)
                 .bind(device)
                 .bind(change.path.text())
                 .bind(stored_text(to_json(change.was)))
                 .bind(want)
                 .run());
  }
  return forget_unwritten(database, device);
}

Result<std::vector<WrittenEntry>> SqliteHistory::written() const {
  TRY(const SqliteFile::Reading from, file_.read());
  std::vector<WrittenEntry> all;
  if (from.layout < kLayoutOfWrites) return all;
  const std::string text = std::string("SELECT device, path, found, wrote, restore, object, ") +
                           (from.layout < kLayoutOfTries ? "NULL" : "tried") +
                           " FROM written ORDER BY device, path";
  TRY_DONE(Statement(from.database, text).each([&all](const Statement& row) {
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

Result<Done> SqliteHistory::note(const std::vector<WrittenEntry>& entries) {
  TRY(Transaction whole, file_.write());
  for (const WrittenEntry& one : entries) {
    TRY_DONE(Statement(file_.database(),
                       "UPDATE written SET wrote = ?, tried = NULLIF(?, ''), restore = ?, object = ? "
                       "WHERE device = ? AND path = ?")
                 .bind(stored_text(to_json(one.wrote)))
                 .bind(one.tried ? stored_text(to_json(*one.tried)) : "")
                 .bind(std::uint64_t{one.restore})
                 .bind(one.object)
                 .bind(one.device)
                 .bind(one.path.text())
                 .run());
    TRY_DONE(forget_unwritten(file_.database(), one.device));
  }
  return whole.commit();
}

Result<Done> SqliteHistory::forget(const std::vector<WrittenEntry>& entries) {
  TRY(Transaction whole, file_.write());
  for (const WrittenEntry& one : entries)
    TRY_DONE(Statement(file_.database(), "DELETE FROM written WHERE device = ? AND path = ?")
                 .bind(one.device)
                 .bind(one.path.text())
                 .run());
  return whole.commit();
}

Result<Done> SqliteHistory::end(std::uint64_t change, const std::string& outcome) {
  TRY(Transaction whole, file_.write());
  TRY_DONE(update(file_.database(),
                  Statement(file_.database(), kEnd).bind(utc_text(file_.now())).bind(outcome).bind(change),
                  "change " + std::to_string(change)));
  return whole.commit();
}

Result<Done> SqliteHistory::cure(const std::string& device, const std::string& remedy, WallTime at) {
  TRY(Transaction whole, file_.write());
  TRY_DONE(Statement(file_.database(), "INSERT INTO cures(device, remedy, at) VALUES(?, ?, ?)")
               .bind(device)
               .bind(remedy)
               .bind(milliseconds_of(at))
               .run());
  return whole.commit();
}

Result<std::size_t> SqliteHistory::cures(const std::string& device, const std::string& remedy,
                                         WallTime since) const {
  TRY(const SqliteFile::Reading from, file_.read());
  std::size_t count = 0;
  TRY_DONE(Statement(from.database, "SELECT COUNT(*) FROM cures WHERE device = ? AND remedy = ? AND at > ?")
               .bind(device)
               .bind(remedy)
               .bind(milliseconds_of(since))
               .each([&count](const Statement& row) { count = row.number(0); }));
  return count;
}

Result<std::vector<InFlight>> SqliteHistory::in_flight() const {
  TRY(const SqliteFile::Reading from, file_.read());
  std::vector<InFlight> all;
  TRY_DONE(
      Statement(from.database, "SELECT id, begun, author, plan FROM changes WHERE ended IS NULL ORDER BY id")
          .each([&all](const Statement& row) {
            all.push_back({row.number(0), row.text(1), row.text(2), row.text(3), {}, {}});
          }));
  for (InFlight& one : all) {
    TRY(auto tickets, tickets_of(from.database, one.change));
    for (RecordedTicket& each : tickets) {
      if (each.state == TicketState::begun)
        one.unsettled.push_back(std::move(each.ticket));
      else if (each.state == TicketState::kept)
        one.kept.push_back(std::move(each.ticket));
    }
  }
  return all;
}

Result<std::vector<ChangeRecord>> SqliteHistory::changes(std::size_t newest) const {
  TRY(const SqliteFile::Reading from, file_.read());
  std::vector<ChangeRecord> all;
  TRY_DONE(Statement(from.database, kChanges + std::string("ORDER BY id DESC LIMIT ?"))
               .bind(std::uint64_t{newest})
               .each([&all](const Statement& row) { all.push_back(change_of(row)); }));
  return all;
}

Result<std::optional<ChangeRecord>> SqliteHistory::change(std::uint64_t number) const {
  TRY(const SqliteFile::Reading from, file_.read());
  std::optional<ChangeRecord> found;
  TRY_DONE(Statement(from.database, kChanges + std::string("WHERE id = ?"))
               .bind(number)
               .each([&found](const Statement& row) { found = change_of(row); }));
  return found;
}

Result<TouchedDevices> SqliteHistory::touched(std::uint64_t change) const {
  TRY(const SqliteFile::Reading from, file_.read());
  TouchedDevices out;
  TRY_DONE(Statement(from.database, "SELECT COUNT(DISTINCT step) FROM tickets WHERE change = ?")
               .bind(change)
               .each([&out](const Statement& row) { out.steps = row.number(0); }));
  TRY_DONE(Statement(from.database, "SELECT DISTINCT device FROM tickets WHERE change = ? ORDER BY device")
               .bind(change)
               .each([&out](const Statement& row) { out.devices.push_back(row.text(0)); }));
  TRY_DONE(Statement(from.database, "SELECT instr(plan, '\"remedy\"') > 0 FROM changes WHERE id = ?")
               .bind(change)
               .each([&out](const Statement& row) { out.remedies = row.number(0) != 0; }));
  return out;
}

Result<std::vector<RecordedTicket>> SqliteHistory::tickets(std::uint64_t change) const {
  TRY(const SqliteFile::Reading from, file_.read());
  return tickets_of(from.database, change);
}

Result<HistoryTotals> SqliteHistory::totals() const {
  TRY(const SqliteFile::Reading from, file_.read());
  HistoryTotals all;
  const auto count = [&from](const std::string& table) {
    return from.database.number("SELECT COUNT(*) FROM " + table);
  };
  TRY(all.changes, count("changes"));
  TRY(all.tickets, count("tickets"));
  if (from.layout >= kLayoutOfCures) {
    TRY(all.cures, count("cures"));
  }
  if (from.layout >= kLayoutOfWrites) {
    TRY(all.written, count("written"));
  }
  return all;
}

}  // namespace lockstep
