#include "reconciler/store/sqlite_runs.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "reconciler/store/history.hpp"
#include "reconciler/store/layout.hpp"
#include "reconciler/store/utc_text.hpp"

namespace lockstep {
namespace {

// An unknown name, written by another version, is read as the first value.
template <class E>
E word_of(const std::string& text) {
  const auto all = words(E{});
  const auto found = std::find(all.begin(), all.end(), text);
  return found == all.end() ? E{} : static_cast<E>(found - all.begin());
}

std::string text_of(std::string_view word) { return std::string(word); }

// What many figures of a run share is stored once, as a part.
using Part = std::tuple<std::string, std::string, Workload, std::string, Metric, std::string>;
Part part_of(const RunFigure& one) {
  return {one.suite, one.benchmark, one.workload, one.transport, one.metric, one.unit};
}

constexpr const char* kHeads =
    "SELECT number, purpose, change, under, at, command, author, verdict, config, version, kernel, measured, "
    "kept FROM runs ";
RunHead head_of(const Statement& row) {
  return {.number = row.number(0),
          .purpose = word_of<RunPurpose>(row.text(1)),
          .change = row.number(2),
          .under = row.number(3),
          .at = row.text(4),
          .command = row.text(5),
          .author = row.text(6),
          .verdict = row.text(7),
          .config_hash = row.text(8),
          .version = row.text(9),
          .kernel = row.text(10),
          .measured = row.number(11),
          .kept = row.number(12)};
}

constexpr const char* kFigures =
    "SELECT run, suite, benchmark, workload, transport, metric, unit, source, target, ring, bytes, control, "
    "count, least, median, most, p1, p5, p10, p25, p75, p90, p95, p99, p999, noise, nominal, cpu, "
    "cpu_limited, trouble, why FROM run_figures JOIN run_parts USING (run, part) ";
RunFigure figure_of(const Statement& row) {
  RunFigure out;
  out.suite = row.text(1);
  out.benchmark = row.text(2);
  out.workload = word_of<Workload>(row.text(3));
  out.transport = row.text(4);
  out.metric = word_of<Metric>(row.text(5));
  out.unit = row.text(6);
  out.from = row.text(7);
  out.to = row.text(8);
  out.group = row.text(9);
  out.bytes = row.number(10);
  out.control = row.number(11) != 0;
  out.seen.count = row.number(12);
  out.seen.least = row.real(13);
  out.seen.median = row.real(14);
  out.seen.most = row.real(15);
  int column = 16;
  for (std::optional<double>& percentile : out.seen.percentiles) percentile = row.real(column++);
  out.seen.noise = row.real(column++).value_or(0);
  out.nominal = row.real(column++);
  out.cpu = row.real(column++);
  out.cpu_limited = row.number(column++) != 0;
  out.trouble = word_of<bench::Trouble>(row.text(column++));
  out.why = row.text(column);
  return out;
}

// Records without leadership: on a connection of its own, in a file that has this layout.
Result<Database> open_to_record(const SqliteFile& file) {
  const std::string name = store_file(file.directory());
  {
    const Result<Database> there = Database::open(name, Database::Use::read);
    TRY(const int layout, there ? layout_of(*there) : Result<int>(0));
    if (layout == kLayout) {
      TRY(Database ready, Database::open(name, Database::Use::write));
      TRY_DONE(ready.write_ahead());
      return ready;
    }
  }
  TRY(const FileLock lock, lock_for_writing(file.directory(), "recording what was measured", file.now()));
  TRY(Database made, Database::open(name, Database::Use::write));
  TRY_DONE(made.write_ahead());
  TRY_DONE(bring_up_to_date(made));
  TRY_DONE(file.name_cluster(made));
  return made;
}

Result<Done> add_parts(const Database& database, std::uint64_t run,
                       const std::map<Part, std::uint64_t>& all) {
  for (const auto& [part, number] : all) {
    const auto& [suite, benchmark, workload, transport, metric, unit] = part;
    TRY_DONE(Statement(database,
                       "INSERT INTO run_parts(run, part, suite, benchmark, workload, transport, metric, "
                       "unit) VALUES(?, ?, ?, ?, ?, ?, ?, ?)")
                 .bind(run)
                 .bind(number)
                 .bind(suite)
                 .bind(benchmark)
                 .bind(text_of(to_string(workload)))
                 .bind(transport)
                 .bind(text_of(to_string(metric)))
                 .bind(unit)
                 .run());
  }
  return Done{};
}

Result<Done> add_figures(const Database& database, std::uint64_t run, const std::vector<RunFigure>& figures) {
  std::map<Part, std::uint64_t> parts;
  for (const RunFigure& one : figures) parts.try_emplace(part_of(one), parts.size());
  TRY_DONE(add_parts(database, run, parts));
  // For a pair that was measured twice the last figure is kept.
  Statement add(database,
                "INSERT OR REPLACE INTO run_figures(run, part, source, target, ring, bytes, control, count, "
                "least, median, most, p1, p5, p10, p25, p75, p90, p95, p99, p999, noise, nominal, cpu, "
                "cpu_limited, trouble, why) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
                "?, ?, ?, ?, ?, ?, ?)");
  for (const RunFigure& one : figures) {
    add.again();
    add.bind(run).bind(parts.at(part_of(one))).bind(one.from).bind(one.to).bind(one.group).bind(one.bytes);
    add.bind(std::uint64_t{one.control}).bind(one.seen.count);
    add.bind(one.seen.least).bind(one.seen.median).bind(one.seen.most);
    for (const std::optional<double>& percentile : one.seen.percentiles) add.bind(percentile);
    add.bind(std::optional(one.seen.noise)).bind(one.nominal).bind(one.cpu);
    add.bind(std::uint64_t{one.cpu_limited});
    add.bind(one.trouble == bench::Trouble::none ? std::string() : text_of(to_string(one.trouble)));
    add.bind(one.why);
    TRY_DONE(add.run());
  }
  return Done{};
}

// Stores from which run to which a device was found in one boot: a row per boot, not per run.
Result<Done> add_devices(const Database& database, std::uint64_t run, const std::vector<RunDevice>& devices) {
  Statement longer(database,
                   "UPDATE run_devices SET last = ?1 WHERE device = ?2 AND boot = ?3 AND drivers = ?4 AND "
                   "first = (SELECT MAX(first) FROM run_devices WHERE device = ?2)");
  Statement add(database,
                "INSERT OR REPLACE INTO run_devices(last, device, boot, drivers, first) VALUES(?1, ?2, ?3, "
                "?4, ?1)");
  for (const RunDevice& one : devices) {
    longer.again();
    TRY(const std::size_t known, longer.bind(run).bind(one.device).bind(one.boot).bind(one.drivers).run());
    if (known > 0) continue;
    add.again();
    TRY_DONE(add.bind(run).bind(one.device).bind(one.boot).bind(one.drivers).run());
  }
  return Done{};
}

Result<std::uint64_t> newest_bench_beyond(const Database& database, std::size_t count) {
  return database.number(
      "SELECT number FROM runs WHERE purpose = 'bench' ORDER BY number DESC LIMIT 1 OFFSET " +
      std::to_string(count));
}

Result<Done> forget_old(const Database& database, WallTime now) {
  TRY_DONE(database.execute(
      "DELETE FROM runs WHERE purpose <> 'bench' AND change NOT IN (SELECT id FROM changes)"));
  TRY(const std::uint64_t newest, newest_bench_beyond(database, kRetention.newest));
  TRY(const std::uint64_t most, newest_bench_beyond(database, kRetention.most));
  TRY_DONE(Statement(database,
                     "DELETE FROM runs WHERE purpose = 'bench' AND number <= MAX(?1, ?2) AND (number <= ?2 "
                     "OR at < ?3)")
               .bind(newest)
               .bind(most)
               .bind(utc_text(now - kRetention.age))
               .run());
  for (const char* const of : {"purpose = 'bench'", "purpose <> 'bench'"}) {
    // The newest run keeps its figures, however many.
    const std::string beyond =
        std::string(
            "(SELECT number FROM (SELECT number, SUM(kept) OVER (ORDER BY number DESC) AS sum, ROW_NUMBER() "
            "OVER (ORDER BY number DESC) AS place FROM runs WHERE kept > 0 AND ") +
        of + ") WHERE sum > ? AND place > 1)";
    TRY_DONE(Statement(database, "DELETE FROM run_parts WHERE run IN " + beyond)
                 .bind(std::uint64_t{kFiguresMost})
                 .run());
    TRY_DONE(Statement(database, "UPDATE runs SET kept = 0 WHERE number IN " + beyond)
                 .bind(std::uint64_t{kFiguresMost})
                 .run());
  }
  return database.execute("DELETE FROM run_devices WHERE last < (SELECT MIN(number) FROM runs)");
}

}  // namespace

std::string subject_of(const RunFigure& figure) {
  bench::Measurement named;
  named.from = figure.from;
  named.to = figure.to;
  named.group = figure.group;
  named.bytes = figure.bytes;
  return named.subject();
}

Result<std::uint64_t> SqliteRuns::record(const FileLock&, const MeasuredRun& run) {
  TRY(const Database database, open_to_record(file_));
  TRY(Transaction whole, Transaction::begin(database));
  const RunHead& head = run.head;
  TRY_DONE(
      Statement(database,
                "INSERT INTO runs(purpose, change, under, at, command, author, verdict, config, version, "
                "kernel, measured, kept) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0)")
          .bind(text_of(to_string(head.purpose)))
          .bind(head.change)
          .bind(head.under)
          .bind(head.at)
          .bind(head.command)
          .bind(head.author)
          .bind(head.verdict)
          .bind(head.config_hash)
          .bind(head.version)
          .bind(head.kernel)
          .run());
  TRY(const std::uint64_t number, database.number("SELECT last_insert_rowid()"));
  TRY_DONE(add_figures(database, number, run.figures));
  TRY_DONE(add_devices(database, number, run.devices));
  TRY_DONE(Statement(database,
                     "UPDATE runs SET kept = (SELECT COUNT(*) FROM run_figures WHERE run = ?1), measured = "
                     "(SELECT COUNT(*) FROM run_figures WHERE run = ?1) WHERE number = ?1")
               .bind(number)
               .run());
  TRY_DONE(forget_old(database, file_.now()));
  TRY_DONE(whole.commit());
  return number;
}

Result<std::vector<RunHead>> SqliteRuns::newest(std::size_t count, std::optional<RunPurpose> purpose) const {
  TRY(const SqliteFile::Reading from, file_.read());
  std::vector<RunHead> all;
  if (from.layout < kLayoutOfRuns) return all;
  Statement rows(from.database,
                 kHeads + std::string(purpose ? "WHERE purpose = ? " : "") + "ORDER BY number DESC LIMIT ?");
  if (purpose) rows.bind(text_of(to_string(*purpose)));
  rows.bind(std::uint64_t{count});
  TRY_DONE(rows.each([&all](const Statement& row) { all.push_back(head_of(row)); }));
  return all;
}

Result<std::vector<RunHead>> SqliteRuns::of_change(std::uint64_t change) const {
  TRY(const SqliteFile::Reading from, file_.read());
  std::vector<RunHead> all;
  if (from.layout < kLayoutOfRuns) return all;
  TRY_DONE(Statement(from.database,
                     kHeads + std::string("WHERE change = ? AND purpose <> 'bench' ORDER BY number"))
               .bind(change)
               .each([&all](const Statement& row) { all.push_back(head_of(row)); }));
  return all;
}

Result<std::optional<MeasuredRun>> SqliteRuns::find(std::uint64_t number) const {
  TRY(const SqliteFile::Reading from, file_.read());
  std::optional<MeasuredRun> found;
  if (from.layout < kLayoutOfRuns) return found;
  TRY_DONE(Statement(from.database, kHeads + std::string("WHERE number = ?"))
               .bind(number)
               .each([&found](const Statement& row) { found.emplace().head = head_of(row); }));
  if (!found) return found;
  TRY_DONE(Statement(from.database,
                     "SELECT device, boot, drivers FROM run_devices WHERE first <= ?1 AND last >= ?1 ORDER "
                     "BY device")
               .bind(number)
               .each([&found](const Statement& row) {
                 found->devices.push_back({row.text(0), row.text(1), row.text(2)});
               }));
  TRY_DONE(Statement(from.database, kFigures + std::string("WHERE run = ? ORDER BY part, source, target, "
                                                           "ring, bytes, control"))
               .bind(number)
               .each([&found](const Statement& row) { found->figures.push_back(figure_of(row)); }));
  return found;
}

Result<std::vector<std::string>> SqliteRuns::suites_of(std::uint64_t number) const {
  TRY(const SqliteFile::Reading from, file_.read());
  std::vector<std::string> all;
  if (from.layout < kLayoutOfRuns) return all;
  TRY_DONE(Statement(from.database, "SELECT DISTINCT suite FROM run_parts WHERE run = ? ORDER BY suite")
               .bind(number)
               .each([&all](const Statement& row) { all.push_back(row.text(0)); }));
  return all;
}

Result<std::vector<FigureOfRun>> SqliteRuns::figures_of(const std::string& name, Metric metric) const {
  TRY(const SqliteFile::Reading from, file_.read());
  std::vector<FigureOfRun> all;
  if (from.layout < kLayoutOfRuns) return all;
  // ';' comes after ':': the ports of a device.
  TRY_DONE(Statement(from.database,
                     kFigures + std::string("WHERE metric = ?1 AND (source = ?2 OR target = ?2 OR ring = ?2 "
                                            "OR (source >= ?2 || ':' AND source < ?2 || ';') OR (target >= "
                                            "?2 || ':' AND target < ?2 || ';')) ORDER BY run, part, source, "
                                            "target, ring, bytes, control"))
               .bind(text_of(to_string(metric)))
               .bind(name)
               .each([&all](const Statement& row) {
                 all.push_back({row.number(0), figure_of(row)});
               }));
  return all;
}

Result<RunTotals> SqliteRuns::totals() const {
  TRY(const SqliteFile::Reading from, file_.read());
  RunTotals all;
  if (from.layout < kLayoutOfRuns) return all;
  TRY(all.runs, from.database.number("SELECT COUNT(*) FROM runs"));
  TRY(all.figures, from.database.number("SELECT SUM(kept) FROM runs"));
  return all;
}

}  // namespace lockstep
