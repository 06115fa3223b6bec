// Runs: a recorded run is read back completely, beside any leader, and how many are kept.
#include "reconciler/store/runs.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "history_lab.hpp"
#include "killed_at_write.hpp"
#include "oracle.hpp"
#include "reconciler/store/backup.hpp"
#include "reconciler/store/layout.hpp"
#include "small_disk.hpp"
#include "tests/needs.hpp"

namespace lockstep {
namespace {

constexpr WallTime kNow{std::chrono::hours(500'000)};  // 2027-01-15

RunFigure latency(const std::string& from, const std::string& to, double median) {
  RunFigure out;
  out.suite = "slo";
  out.benchmark = "pairs";
  out.metric = Metric::latency;
  out.unit = "s";
  out.transport = "tcp";
  out.from = from;
  out.to = to;
  out.seen.count = 100'000;
  out.seen.least = median / 2;
  out.seen.median = median;
  out.seen.most = median * 9;
  for (std::size_t i = 0; i < out.seen.percentiles.size(); ++i)
    out.seen.percentiles[i] = median * (0.9 + 0.1 * static_cast<double>(i));
  return out;
}

MeasuredRun bench_run(std::vector<RunFigure> figures, const std::string& at = "2027-01-15T08:00:00Z") {
  MeasuredRun out;
  out.head.purpose = RunPurpose::bench;
  out.head.at = at;
  out.head.command = "lockstep bench";
  out.head.author = "ann";
  out.head.verdict = "pass";
  out.head.config_hash = "sha256:1";
  out.head.version = "1";
  out.head.kernel = "Linux 6";
  out.devices = {{"gpu1", "boot-1", "linux"}, {"gpu2", "", ""}};
  out.figures = std::move(figures);
  return out;
}

class RecordedRuns : public StateDirectory {
 protected:
  static StoreOptions clock() {
    return {.cluster = "pod", .now = [] { return kNow; }};
  }
  Result<std::uint64_t> record(const MeasuredRun& run, const std::string& in) const {
    TRY(const FileLock turn, lock_for_measuring(in, "test"));
    TRY(const std::unique_ptr<Store> store, open_store(in, clock()));
    return store->runs().record(turn, run);
  }
  Result<std::uint64_t> record(const MeasuredRun& run) const { return record(run, directory); }
  MeasuredRun found(std::uint64_t number) const {
    const auto run = stored(directory)->runs().find(number);
    if (!run || !*run) throw std::runtime_error("no run " + std::to_string(number));
    return **run;
  }
  std::string ask(const std::string& text) const { return Oracle(file()).ask(text); }
};

template <class T>
rc::Gen<std::optional<T>> maybe(rc::Gen<T> gen) {
  return rc::gen::mapcat(rc::gen::arbitrary<bool>(), [gen](bool there) {
    return there ? rc::gen::map(gen, [](T value) { return std::optional<T>(value); })
                 : rc::gen::just(std::optional<T>());
  });
}
// Of all magnitudes, always finite.
rc::Gen<double> number_of_any_size() {
  return rc::gen::map(rc::gen::pair(rc::gen::arbitrary<double>(), rc::gen::inRange(-300, 300)),
                      [](const std::pair<double, int>& parts) {
                        const double made = parts.first * std::pow(10.0, parts.second);
                        return std::isfinite(made) ? made : 5e-324;
                      });
}
rc::Gen<RunFigure> any_figure() {
  const auto text = rc::gen::arbitrary<std::string>();  // any bytes, including 0
  return rc::gen::exec([text] {
    RunFigure out;
    for (std::string* const field :
         {&out.suite, &out.benchmark, &out.unit, &out.transport, &out.from, &out.to, &out.group, &out.why})
      *field = *text;
    out.workload = static_cast<Workload>(*rc::gen::inRange(0, 10));
    out.metric = static_cast<Metric>(*rc::gen::inRange(0, 4));
    out.trouble = static_cast<bench::Trouble>(*rc::gen::inRange(0, 6));
    out.bytes = *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 62U);
    out.seen.count = *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 62U);
    out.control = *rc::gen::arbitrary<bool>();
    out.cpu_limited = *rc::gen::arbitrary<bool>();
    out.seen.noise = *number_of_any_size();
    for (std::optional<double>* const field :
         {&out.seen.least, &out.seen.median, &out.seen.most, &out.nominal, &out.cpu})
      *field = *maybe(number_of_any_size());
    for (std::optional<double>& field : out.seen.percentiles) field = *maybe(number_of_any_size());
    return out;
  });
}

RC_GTEST_FIXTURE_PROP(RecordedRuns, AreReadBackUnchanged, ()) {
  const auto text = rc::gen::arbitrary<std::string>();
  MeasuredRun run;
  RunHead& head = run.head;
  for (std::string* const field :
       {&head.at, &head.command, &head.author, &head.verdict, &head.config_hash, &head.version, &head.kernel})
    *field = *text;
  head.change = *rc::gen::inRange(0, 1000);
  head.under = *rc::gen::inRange(0, 1000);
  run.figures = *rc::gen::container<std::vector<RunFigure>>(any_figure());
  for (std::size_t i = 0; i < run.figures.size(); ++i) run.figures[i].from += std::to_string(i);  // unique
  run.devices.push_back({*text, *text, *text});
  const auto number = record(run);
  RC_ASSERT(bool(number));
  const MeasuredRun read = found(*number);
  head.number = *number;
  head.measured = head.kept = run.figures.size();
  RC_ASSERT(read.head == head);
  RC_ASSERT(std::find(read.devices.begin(), read.devices.end(), run.devices[0]) != read.devices.end());
  RC_ASSERT(read.figures.size() == run.figures.size());
  for (const RunFigure& one : run.figures)
    RC_ASSERT(std::find(read.figures.begin(), read.figures.end(), one) != read.figures.end());
}

// A bench beside a running apply must not take its epoch.
TEST_F(RecordedRuns, AreRecordedBesideAnActiveLeader) {
  const auto leader = led(directory, clock());
  const auto change = leader->history().begin(Plan{}, "ann", "why");
  ASSERT_TRUE(change);
  const auto number = record(bench_run({latency("gpu1:rail0", "gpu2:rail0", 1e-5)}));
  ASSERT_TRUE(number) << number.error().text();
  EXPECT_TRUE(leader->history().ticket(*change, ticket("t1")));
  EXPECT_TRUE(leader->history().end(*change, "kept"));
  EXPECT_EQ(leader->leadership().epoch(), 1U);
  EXPECT_EQ(ask("SELECT MAX(epoch) FROM epochs"), "1");
  EXPECT_EQ(found(*number).figures.size(), 1U);
  EXPECT_TRUE(Oracle(file()).sound());
}

TEST_F(RecordedRuns, NameTheSuitesThatTheyMeasured) {
  RunFigure other = latency("gpu1:rail0", "gpu3:rail0", 1);
  other.suite = "nightly";
  const auto both = record(
      bench_run({latency("gpu1:rail0", "gpu2:rail0", 1), other, latency("gpu2:rail0", "gpu1:rail0", 1)}));
  const auto none = record(bench_run({}));
  EXPECT_EQ(*stored(directory)->runs().suites_of(*both), (std::vector<std::string>{"nightly", "slo"}));
  EXPECT_TRUE(stored(directory)->runs().suites_of(*none)->empty());
}

TEST_F(RecordedRuns, CreateTheStoreWithoutALeader) {
  ASSERT_TRUE(record(bench_run({})));
  EXPECT_EQ(ask("SELECT cluster FROM identity"), "pod");
  EXPECT_EQ(ask("SELECT COUNT(*) FROM epochs"), "0") << "who measures does not lead";
  EXPECT_FALSE(stored(directory)->leadership().holder());
  EXPECT_EQ(led(directory, clock())->leadership().epoch(), 1U);
  EXPECT_EQ(stored(directory)->runs().totals()->runs, 1U);
}

constexpr const char* kBackToLayoutSix =
    "DROP TABLE run_figures; DROP TABLE run_parts; DROP TABLE run_devices; DROP TABLE runs;"
    "DROP TABLE refused; ALTER TABLE changes DROP COLUMN subjects;"
    "ALTER TABLE changes DROP COLUMN measured_before; PRAGMA user_version = 6";

// An older lockstep that leads could no longer read a newer file.
TEST_F(RecordedRuns, DoNotMigrateAFileUnderALeader) {
  const auto older = led(directory, clock());
  ASSERT_EQ(ask(kBackToLayoutSix), "");
  EXPECT_TRUE(stored(directory)->runs().newest(5)->empty()) << "an older file has none";
  EXPECT_TRUE(stored(directory)->runs().suites_of(1)->empty());
  const auto refused = record(bench_run({}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::conflict) << refused.error().text();
  EXPECT_EQ(ask("PRAGMA user_version"), "6");
  EXPECT_TRUE(older->history().cure("leaf0", "clear-session", WallTime{})) << "it leads on";
  older->leadership().resign();
  EXPECT_TRUE(record(bench_run({})));
  EXPECT_EQ(ask("PRAGMA user_version"), std::to_string(kLayout));
}

TEST_F(RecordedRuns, KeepTheBootOfEachDeviceAtTheirTime) {
  const auto with = [this](const std::string& boot) {
    MeasuredRun run = bench_run({});
    run.devices[0].boot = boot;
    return *record(run);
  };
  const std::uint64_t first = with("a");
  with("a");
  const std::uint64_t third = with("b");
  const std::uint64_t fourth = with("");
  EXPECT_EQ(found(first).devices[0].boot, "a");
  EXPECT_EQ(found(third).devices[0].boot, "b");
  EXPECT_EQ(found(fourth).devices[0].boot, "") << "unknown is not what it was before";
  EXPECT_EQ(ask("SELECT COUNT(*) FROM run_devices WHERE device = 'gpu1'"), "3") << "a line a boot";
}

TEST_F(RecordedRuns, OfADeviceIncludeExactlyItsPorts) {
  RunFigure ring = latency("", "", 1);
  ring.group = "gpu7";
  const auto number =
      record(bench_run({latency("gpu7:rail0", "gpu1:rail0", 1), latency("gpu1:rail1", "gpu7", 1),
                        latency("gpu77:rail0", "gpu71:rail0", 1), latency("gpu7:rail10", "a", 1),
                        latency("gpu7;x", "a", 1), ring}));
  ASSERT_TRUE(number) << number.error().text();
  const auto store = stored(directory);
  const auto names = [&store](const std::string& of) {
    std::string out;
    const auto all = store->runs().figures_of(of, Metric::latency);
    for (const FigureOfRun& one : *all) out += subject_of(one.figure) + "; ";
    return out;
  };
  EXPECT_EQ(names("gpu7"), "gpu7; gpu1:rail1 -> gpu7; gpu7:rail0 -> gpu1:rail0; gpu7:rail10 -> a; ");
  EXPECT_EQ(names("gpu7:rail0"), "gpu7:rail0 -> gpu1:rail0; ");
  EXPECT_TRUE(store->runs().figures_of("gpu7", Metric::bandwidth)->empty());
}

TEST_F(RecordedRuns, OfChangesAreKeptWithTheirChange) {
  const auto leader = led(directory, clock());
  const auto kept = leader->history().begin(Plan{}, "ann", "why");
  ASSERT_TRUE(kept);
  MeasuredRun gone = bench_run({latency("a", "b", 1)});
  gone.head.purpose = RunPurpose::after;
  gone.head.change = *kept + 100;
  MeasuredRun stays = gone;
  stays.head.change = *kept;
  stays.head.at = "2001-01-01T00:00:00Z";
  ASSERT_TRUE(record(gone));
  ASSERT_TRUE(record(stays));
  ASSERT_TRUE(record(bench_run({})));
  EXPECT_EQ(ask("SELECT MIN(number) || ',' || MAX(number) FROM runs"), "2,3");
  EXPECT_EQ(ask("SELECT group_concat(run) FROM run_figures"), "2");
  EXPECT_TRUE(leader->history().end(*kept, "kept"));
}

TEST_F(RecordedRuns, OfBenchesAreRetainedLikeChanges) {
  const auto add = [this](int count, const char* day) {
    ASSERT_EQ(
        ask(fmt::format("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) "
                        "INSERT INTO runs(purpose, change, under, at, command, author, verdict, config, "
                        "version, kernel, measured, kept) SELECT 'bench', 0, 0, '{}', '', '', '', '', '', "
                        "'', 0, 0 FROM n",
                        count, day)),
        "");
  };
  ASSERT_TRUE(record(bench_run({}, "2026-01-01T00:00:00Z")));
  add(1500, "2026-01-01T00:00:00Z");
  ASSERT_TRUE(record(bench_run({})));
  EXPECT_EQ(ask("SELECT COUNT(*) FROM runs"), "1000");
  add(5000, "2026-12-31T00:00:00Z");
  ASSERT_TRUE(record(bench_run({})));
  EXPECT_EQ(ask("SELECT COUNT(*) FROM runs"), "5002") << "those of the quarter stay, with the newest before";
  add(12'000, "2026-12-31T00:00:00Z");
  ASSERT_TRUE(record(bench_run({})));
  EXPECT_EQ(ask("SELECT COUNT(*) FROM runs"), "10000");
}

// The newest figures of benches and of gates are kept separately, and the runs that lose theirs record that.
TEST_F(RecordedRuns, DropTheOldestFiguresBeyondTheLimit) {
  const auto leader = led(directory, clock());
  const auto change = leader->history().begin(Plan{}, "ann", "why");
  MeasuredRun gate = bench_run({latency("a", "b", 1)});
  gate.head.purpose = RunPurpose::after;
  gate.head.change = *change;
  ASSERT_TRUE(record(gate));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(record(bench_run({latency("a", "b", 1)})));
  ASSERT_EQ(ask("UPDATE runs SET measured = 600000, kept = 600000 WHERE number > 2"), "");
  const auto last = record(bench_run({latency("a", "b", 1)}));
  ASSERT_TRUE(last);
  EXPECT_EQ(ask("SELECT group_concat(run) FROM run_figures"), "1,4,5") << "the gate's stay";
  EXPECT_EQ(ask("SELECT group_concat(number) FROM runs WHERE kept = 0"), "2,3");
  EXPECT_EQ(found(3).head.measured, 600'000U);
  ASSERT_EQ(ask("UPDATE runs SET kept = 2000000 WHERE number = 5"), "");
  ASSERT_TRUE(record(bench_run({latency("a", "b", 1)})));
  EXPECT_EQ(ask("SELECT group_concat(run) FROM run_figures"), "1,6") << "never those of the newest";
}

// 32,768 endpoints with three pairs each: 11 MB of bandwidths, 17 MB of latencies.
TEST_F(RecordedRuns, OfALargeClusterTakeLessThan200BytesAFigure) {
  constexpr std::size_t kEndpoints = 32'768;
  std::vector<RunFigure> bandwidths;
  std::vector<RunFigure> latencies;
  for (std::size_t i = 0; i < kEndpoints; ++i)
    for (const std::size_t further : {1UL, 9UL, 4099UL}) {  // three pairs for each
      const auto name = [](std::size_t end) { return fmt::format("gpu{}:rail{}", end / 8, end % 8); };
      const double jitter = 1 + static_cast<double>(i % 97) / 1013;
      const RunFigure pair = latency(name(i), name((i + further) % kEndpoints), 11.7e-6 * jitter);
      if (i % 8 == 0) latencies.push_back(pair);  // an eighth is enough to measure the size
      RunFigure& one = bandwidths.emplace_back(pair);
      one.metric = Metric::bandwidth;
      one.unit = "bit/s";
      one.seen = {.count = 3, .least = 381e9 * jitter, .median = 385e9 * jitter, .most = 391e9 * jitter};
      one.seen.noise = 0.0259740259740;
      one.nominal = 392e9;
      one.cpu = 0.31 * jitter;
    }
  const auto size = [this] {
    return std::stod(ask("PRAGMA page_count")) * std::stod(ask("PRAGMA page_size"));
  };
  const auto bytes_each = [&](const std::vector<RunFigure>& figures) {
    const double before = std::filesystem::exists(file()) ? size() : 0;
    const auto number = record(bench_run(figures));
    EXPECT_TRUE(number);
    EXPECT_EQ(found(*number).head.kept, figures.size());
    return (size() - before) / static_cast<double>(figures.size());
  };
  const double of_bandwidth = bytes_each(bandwidths);
  const double of_latency = bytes_each(latencies);
  RecordProperty("bytes_of_a_bandwidth", std::to_string(of_bandwidth));
  RecordProperty("bytes_of_a_latency", std::to_string(of_latency));
  EXPECT_LT(of_bandwidth, 130);
  EXPECT_LT(of_latency, 200);
  EXPECT_EQ(stored(directory)->runs().totals()->figures, 3 * kEndpoints + 3 * kEndpoints / 8);
}

TEST_F(RecordedRuns, AreBackedUpAndRestored) {
  const std::string state = directory + "/state";
  const std::string backup = directory + "/pod.sqlite";
  ASSERT_TRUE(record(bench_run({latency("a", "b", 1)}), state));
  const auto made = back_up(state, backup, clock());
  ASSERT_TRUE(made) << made.error().text();
  ASSERT_TRUE(record(bench_run({latency("a", "b", 2)}), state));
  ASSERT_TRUE(restore(state, backup, "test", clock()));
  const auto runs = stored(state)->runs().newest(9);
  ASSERT_TRUE(runs && runs->size() == 1);
  EXPECT_EQ((*stored(state)->runs().find(1))->figures[0].seen.median, 1.0);
  const std::string other = directory + "/other";
  ASSERT_TRUE(take_over(state, other, "test", clock()));
  EXPECT_EQ(stored(other)->runs().totals()->figures, 1U);
}

TEST_F(RecordedRuns, AreAtomicWhenKilledAtAnyWrite) {
  ASSERT_TRUE(record(bench_run({latency("a", "b", 1)})));
  int points = 0;
  bool whole = false;
  for (bool killed = true; killed; ++points) {
    const int before = std::stoi(ask("SELECT COUNT(*) FROM runs"));
    killed = killed_at_write(points + 1, [this] {
      if (!record(bench_run({latency("a", "b", 1), latency("b", "a", 2)}))) _exit(1);
    });
    const Oracle oracle(file());
    ASSERT_TRUE(oracle.sound()) << points;
    const int after = std::stoi(oracle.count("runs"));
    EXPECT_TRUE(after == before || after == before + 1) << points;
    EXPECT_EQ(
        oracle.ask("SELECT COUNT(*) FROM runs WHERE number > 1 AND (kept <> 2 OR kept <> (SELECT COUNT(*) "
                   "FROM run_figures WHERE run = number))"),
        "0")
        << points;
    whole = whole || after > before;
  }
  EXPECT_TRUE(whole);
  EXPECT_GT(points, 3);
}

TEST_F(RecordedRuns, OntoAFullOrReadOnlyDiskAreRefusedWithoutTrace) {
  LOCKSTEP_NEEDS_ROOT("mounts a file system of 512 KiB");
  std::vector<RunFigure> many;
  for (int i = 0; i < 5000; ++i) many.push_back(latency("gpu" + std::to_string(i), "b", 1));
  const std::string wrong = on_small_disk(directory, 512, [&]() -> std::string {
    if (!record(bench_run({latency("a", "b", 1)}))) return "no first run";
    const auto full = record(bench_run(many));
    if (full) return "a full disk takes it";
    if (full.error().text().find("make room on that file system") == std::string::npos)
      return full.error().text();
    if (Oracle(file()).count("runs") != "1") return "something is left";
    if (!record(bench_run({}))) return "not the next one";
    if (const std::string why = make_read_only(directory); !why.empty()) return why;
    const auto refused = record(bench_run({}));
    return refused                                     ? "a read-only disk takes it"
           : refused.error().kind == ErrorKind::denied ? ""
                                                       : refused.error().text();
  });
  EXPECT_EQ(wrong, "");
}

}  // namespace
}  // namespace lockstep
