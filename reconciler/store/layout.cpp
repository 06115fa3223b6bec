#include "reconciler/store/layout.hpp"

#include <array>

namespace lockstep {
namespace {

constexpr std::array<const char*, kLayout> kLayouts{
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
    "ALTER TABLE written ADD COLUMN tried TEXT;",
    // One row at most. The indexes spare a walk over every plan. gate = 1: GateState::owed.
    "CREATE TABLE identity (one INTEGER PRIMARY KEY CHECK (one = 1), cluster TEXT NOT NULL);"
    "CREATE INDEX changes_begun ON changes(id) WHERE ended IS NULL;"
    "CREATE INDEX changes_owed ON changes(id) WHERE gate = 1;",
    // A pair, an endpoint or a group may have any name: WITHOUT ROWID stores it once, in the key.
    R"(
CREATE TABLE runs (number INTEGER PRIMARY KEY AUTOINCREMENT, purpose TEXT NOT NULL, change INTEGER NOT NULL,
                   under INTEGER NOT NULL, at TEXT NOT NULL, command TEXT NOT NULL, author TEXT NOT NULL,
                   verdict TEXT NOT NULL, config TEXT NOT NULL, version TEXT NOT NULL, kernel TEXT NOT NULL,
                   measured INTEGER NOT NULL, kept INTEGER NOT NULL);
CREATE INDEX runs_of_change ON runs(change);
CREATE TABLE run_parts (run INTEGER NOT NULL REFERENCES runs(number) ON DELETE CASCADE, part INTEGER NOT NULL,
                        suite TEXT NOT NULL, benchmark TEXT NOT NULL, workload TEXT NOT NULL,
                        transport TEXT NOT NULL, metric TEXT NOT NULL, unit TEXT NOT NULL,
                        PRIMARY KEY (run, part)) WITHOUT ROWID;
CREATE TABLE run_figures (run INTEGER NOT NULL, part INTEGER NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL,
                          ring TEXT NOT NULL, bytes INTEGER NOT NULL, control INTEGER NOT NULL,
                          count INTEGER NOT NULL, least REAL, median REAL, most REAL, p1 REAL, p5 REAL, p10 REAL,
                          p25 REAL, p75 REAL, p90 REAL, p95 REAL, p99 REAL, p999 REAL, noise REAL, nominal REAL,
                          cpu REAL, cpu_limited INTEGER NOT NULL, trouble TEXT NOT NULL, why TEXT NOT NULL,
                          PRIMARY KEY (run, part, source, target, ring, bytes, control),
                          FOREIGN KEY (run, part) REFERENCES run_parts(run, part) ON DELETE CASCADE)
                         WITHOUT ROWID;
CREATE TABLE run_devices (device TEXT NOT NULL, boot TEXT NOT NULL, drivers TEXT NOT NULL, first INTEGER NOT NULL,
                          last INTEGER NOT NULL, PRIMARY KEY (device, first)) WITHOUT ROWID;
)",
    // subjects: a JSON list; none: all
    "ALTER TABLE changes ADD COLUMN subjects TEXT;"
    "CREATE TABLE refused (digest TEXT PRIMARY KEY, change INTEGER NOT NULL, devices TEXT NOT NULL, ground "
    "TEXT "
    "NOT NULL, why TEXT NOT NULL, cleared INTEGER NOT NULL, times INTEGER NOT NULL);",
    // engine/gate_json.hpp; none: nothing was measured, or the change was judged since.
    "ALTER TABLE changes ADD COLUMN measured_before TEXT;",
    "ALTER TABLE refused DROP COLUMN devices;"
    "ALTER TABLE refused DROP COLUMN ground;"};

}  // namespace

Result<int> layout_of(const Database& database) {
  TRY(const std::uint64_t layout, database.number("PRAGMA user_version"));
  if (layout > kLayout)
    return Error{ErrorKind::unsupported, database.file() + ": written by a newer lockstep (layout " +
                                             std::to_string(layout) + ", this one knows " +
                                             std::to_string(kLayout) + "): use that one"};
  return static_cast<int>(layout);
}

Result<Done> bring_up_to_date(const Database& database) {
  TRY(int layout, layout_of(database));
  if (layout == kLayout) return Done{};
  TRY(Transaction whole, Transaction::begin(database));
  TRY(layout, layout_of(database));
  for (; layout < kLayout; ++layout) TRY_DONE(database.execute(kLayouts[static_cast<std::size_t>(layout)]));
  TRY_DONE(database.execute("PRAGMA user_version=" + std::to_string(kLayout)));
  return whole.commit();
}

}  // namespace lockstep
