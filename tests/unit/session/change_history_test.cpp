// "Which change made gpu7's p99 worse?" Sessions over simulated devices, with FakeTraffic instead of the
// probes. The ground truth, the values on gpu7, is not known to the history.
#include "reconciler/session/change_history.hpp"

#include <fmt/format.h>

#include "fake_traffic.hpp"
#include "lab.hpp"
#include "reconciler/store/utc_text.hpp"
#include "tests/unit/store/led_store.hpp"
#include "tests/unit/store/oracle.hpp"

namespace lockstep {
namespace {

constexpr const char* kEightHosts = R"yaml(apiVersion: lockstep.dev/v1alpha1
kind: Cluster
metadata: {name: lab}
spec: {mode: converge}
---
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: hosts, labels: {pool: lab}}
spec:
  names: "gpu[1-6,8]"
  role: host
  drivers: [sim]
  interfaces:
    - {name: rail0, platform: connectx-7, speed: 400Gbps}
---
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: seventh, labels: {pool: seventh}}
spec:
  names: gpu7
  role: host
  drivers: [sim]
  interfaces:
    - {name: rail0, platform: connectx-7, speed: 400Gbps}
---
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: leaves}
spec: {names: leaf0, role: leaf, platform: spectrum-4, drivers: [sim]}
---
apiVersion: lockstep.dev/v1alpha1
kind: Fabric
metadata: {name: backend}
spec:
  role: backend
  topology: rail-optimized
  mtu: {host: 9000, fabric: 9216}
  cabling:
    - {from: "gpu[1-8]:rail0", to: "leaf0:swp[1-8]", by: rail, cableLength: 5m}
  addressing: {hosts: 10.64.0.0/16, hostLink: p2p, loopbacks: 10.255.0.0/24}
)yaml";

// The harmful change sets gpu7's backlog to this number.
constexpr const char* kHarmful = "64";
constexpr const char* kBacklog = "sysctl[net.core.netdev_max_backlog]";

class ChangeHistories : public Lab {
 protected:
  ChangeHistories() {
    folder.write("specs/devices.yaml", kEightHosts);
    suite("5ms");
    traffic = [this](const auto& plan, const auto& ends) { return fake.measure(plan, ends); };
    fake.tail = [this](const std::string& device) {
      const bool sick = device == "gpu7" && at("gpu7", kBacklog) == Value::text(kHarmful);
      return sick || device == haunted ? 1.6 : 1.0;
    };
    say("lab", {});
    say("seventh", {});
  }
  void suite(const std::string& at_most) const {
    folder.write("specs/slo.yaml", R"yaml(apiVersion: lockstep.dev/v1alpha1
kind: ValidationSuite
metadata: {name: slo}
spec:
  fabric: backend
  transport: tcp
  benchmarks:
    - name: pairs
      workload: stream
      pairs: all
      slo: [{metric: bandwidth, statistic: min, atLeast: 85% of nominal}]
    - name: round-trips
      workload: request-response
      pairs: all
      slo: [{metric: latency, statistic: p99, atMost: )yaml" +
                                       at_most +
                                       "}]\n  onChange: {scope: affected, onViolation: rollback}\n");
  }
  // Sets the kernel parameters of a pool in the specs.
  void say(const std::string& pool, const std::map<std::string, std::string>& sysctl) {
    for (const auto& [name, value] : sysctl) wanted[pool][name] = value;
    std::string text;
    for (const auto& [name, all] : wanted) {
      text += "---\napiVersion: lockstep.dev/v1alpha1\nkind: HostProfile\nmetadata: {name: " + name +
              "}\nspec:\n  selector: {matchLabels: {pool: " + name + "}}\n  sysctl: {vm.swappiness: 1";
      for (const auto& [key, value] : all) text += fmt::format(", {}: {}", key, value);
      text += "}\n";
    }
    folder.write("specs/hosts.yaml", text);
  }
  // Like `lockstep apply`, with the clock of the lock that it waits for.
  ApplyReport change(bool measures = true) {
    ClusterSession& lab = open(on_the_clock);
    const ApplyRequest request{.command = "lockstep apply", .author = "ann", .measures = measures};
    EXPECT_TRUE(lab.prepare_apply(request));
    const auto plan = lab.plan(lab.observe());
    if (!plan) throw std::runtime_error(plan.error().text());
    const Applied applied = lab.apply(*plan, {}, request, {});
    for (const std::string& note : applied.report.notes)
      EXPECT_EQ(note.find("not recorded"), note.npos) << note;
    session.reset();
    return applied.report;
  }
  FigureSeries series(const std::string& of = "gpu7", Metric metric = Metric::latency,
                      Statistic statistic = Statistic::p99) const {
    const auto history = change_history(state(), {.of = of, .metric = metric, .statistic = statistic});
    if (!history) throw std::runtime_error(history.error().text());
    return history->series.at(0);
  }
  // The changes blamed for `trend`, each once: "change 4", "no change", "change 3|4".
  static std::set<std::string> blamed(const FigureSeries& series, Trend trend = Trend::worse) {
    std::set<std::string> out;
    for (const SeriesPoint& point : series.points) {
      if (point.trend != trend) continue;
      std::string text = point.changes.empty() ? "no change" : "change ";
      for (const std::uint64_t change : point.changes)
        text += (change == point.changes.front() ? "" : "|") + std::to_string(change);
      out.insert(text);
    }
    return out;
  }
  BenchRun bench(const BenchRequest& request) {
    ClusterSession& lab = open(on_the_clock);
    const auto run = lab.bench(request, {}, {});
    session.reset();
    if (!run) throw std::runtime_error(run.error().text());
    return *run;
  }
  std::string refusal(const std::string& compare) {
    ClusterSession& lab = open(on_the_clock);
    const std::size_t before = fake.plans;
    const auto run = lab.bench({.command = "lockstep bench", .compare = compare}, {}, {});
    session.reset();
    EXPECT_EQ(fake.plans, before) << "refused before anything is measured";
    return run ? "" : run.error().text();
  }

  FakeTraffic fake{1};
  std::map<std::string, std::map<std::string, std::string>> wanted;
  std::string haunted;  // a device with a long tail, whatever its values
  SimulatedExecutor on_the_clock{1, {}, std::chrono::steady_clock::now()};
};

using Named = std::set<std::string>;

TEST_F(ChangeHistories, IdentifyTheChangeThatMadeItWorse) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE(seed);
    std::filesystem::remove_all(state());
    devices.clear();
    wanted.clear();
    fake = FakeTraffic(seed + 1);
    fake.tail = [this](const std::string& device) {
      return device == "gpu7" && at("gpu7", kBacklog) == Value::text(kHarmful) ? 1.6 : 1.0;
    };
    Random random(seed);
    say("lab", {});
    say("seventh", {});
    ASSERT_EQ(change().verdict, ApplyVerdict::kept);
    const std::uint64_t harmful = 1 + random.below(5);
    std::uint64_t truth = 0;
    for (std::uint64_t i = 1; i <= 5; ++i) {
      const std::string pool = i == harmful || random.chance(0.5) ? "seventh" : "lab";
      say(pool, {{"net.core.somaxconn", std::to_string(1000 + i)}});
      if (i == harmful) say(pool, {{"net.core.netdev_max_backlog", kHarmful}});
      const ApplyReport report = change();
      ASSERT_EQ(report.verdict, ApplyVerdict::kept) << to_string(report.verdict);
      if (i == harmful) truth = report.change_id;
    }
    EXPECT_EQ(blamed(series()), Named{fmt::format("change {}", truth)});
    EXPECT_EQ(blamed(series("gpu7:rail0")), Named{fmt::format("change {}", truth)});
    EXPECT_EQ(blamed(series("gpu7", Metric::latency, Statistic::median)), Named{}) << "only the tail grew";
    EXPECT_EQ(blamed(series("gpu7", Metric::bandwidth, Statistic::median)), Named{});
    for (const SeriesPoint& point : series("gpu1").points) {
      const bool with_the_sick = subject_of(point.figure).find("gpu7") != std::string::npos;
      EXPECT_TRUE(point.trend != Trend::worse || with_the_sick) << subject_of(point.figure);
    }
  }
}

TEST_F(ChangeHistories, KeepTheRunsOfEachGateWithTheirContext) {
  ASSERT_EQ(change().verdict, ApplyVerdict::kept);
  say("seventh", {{"net.core.somaxconn", "1000"}});
  const ApplyReport report = change();
  ASSERT_EQ(report.verdict, ApplyVerdict::kept);
  const auto history = change_history(state(), {});
  ASSERT_TRUE(history);
  const HistoryChange& newest = history->changes.at(0);
  EXPECT_EQ(newest.record.change, report.change_id);
  EXPECT_EQ(newest.touched.devices, std::vector<std::string>{"gpu7"});
  EXPECT_EQ(newest.touched.steps, 1U);
  ASSERT_EQ(newest.runs.size(), 2U);
  EXPECT_EQ(newest.runs[0].purpose, RunPurpose::before);
  EXPECT_EQ(newest.runs[0].under, report.change_id - 1);
  EXPECT_EQ(newest.runs[1].purpose, RunPurpose::after);
  EXPECT_EQ(newest.runs[1].under, report.change_id);
  for (const RunHead& run : newest.runs) {
    EXPECT_EQ(run.change, report.change_id);
    EXPECT_EQ(run.verdict, "pass");
    EXPECT_EQ(run.author, "ann");
    EXPECT_EQ(run.command, "lockstep apply");
    EXPECT_EQ(run.version, "test");
    EXPECT_TRUE(run.config_hash.starts_with("sha256:"));
    EXPECT_FALSE(run.kernel.empty());
    const auto whole = stored(state())->runs().find(run.number);
    ASSERT_TRUE(whole && *whole);
    ASSERT_EQ((*whole)->devices.size(), 9U) << "of eight hosts and their leaf";
    for (const RunDevice& device : (*whole)->devices) {
      EXPECT_EQ(device.boot, devices.at(device.device)->observe({}, "", {})->boot_id);
      EXPECT_EQ(device.drivers, "sim");
    }
  }
  const auto controls = [this](std::uint64_t run) {
    const auto whole = stored(state())->runs().find(run);
    return std::ranges::count((*whole)->figures, true, [](const RunFigure& one) { return one.control; });
  };
  EXPECT_GT(controls(newest.runs[0].number), 0) << "pairs that the change can't have touched";
  EXPECT_EQ(controls(newest.runs[1].number), 0);
  const auto shown = shown_change(state(), report.change_id);
  ASSERT_TRUE(shown);
  ASSERT_EQ(shown->tickets.size(), 1U);
  EXPECT_EQ(shown->tickets[0].ticket.changes.at(0).want, Value::text("1000"));
  EXPECT_EQ(shown->tickets[0].state, TicketState::kept);
  EXPECT_EQ(shown_change(state(), 99).error().text(), "there is no change 99: the newest is 2");
}

TEST_F(ChangeHistories, IdentifyAChangeAndItsRollback) {
  suite("25us");  // 20 us before the change and 32 us after it
  ASSERT_EQ(change().verdict, ApplyVerdict::kept);
  say("seventh", {{"net.core.netdev_max_backlog", kHarmful}});
  const ApplyReport report = change();
  ASSERT_EQ(report.verdict, ApplyVerdict::undone);
  EXPECT_EQ(blamed(series()), Named{"change 2"});
  EXPECT_EQ(blamed(series(), Trend::better), Named{"change 3"}) << "its undo";
  const auto history = change_history(state(), {.of = "gpu7", .metric = Metric::latency});
  std::vector<RunPurpose> purposes;
  for (const RunHead& run : history->changes.at(1).runs) purposes.push_back(run.purpose);
  EXPECT_EQ(purposes, (std::vector{RunPurpose::before, RunPurpose::after, RunPurpose::confirm,
                                   RunPurpose::confirm, RunPurpose::again}));
}

TEST_F(ChangeHistories, IdentifyNoChangeWhenNoneWasMade) {
  ASSERT_EQ(change().verdict, ApplyVerdict::kept);
  haunted = "gpu7";
  bench({.command = "lockstep bench"});
  EXPECT_EQ(blamed(series()), Named{"no change"});
  EXPECT_EQ(series().runs.back().under, 1U);
}

TEST_F(ChangeHistories, IgnoreAChangeThatWroteNothing) {
  ASSERT_EQ(change().verdict, ApplyVerdict::kept);
  {
    const auto store = led(state());
    const auto idle = store->history().begin(Plan{}, "ann", "lockstep apply");
    ASSERT_TRUE(idle);
    ASSERT_TRUE(store->history().end(*idle, "waits for a window"));
  }
  haunted = "gpu7";
  bench({.command = "lockstep bench"});
  EXPECT_EQ(blamed(series()), Named{"no change"});
  EXPECT_EQ(series().runs.back().under, 2U);
}

TEST_F(ChangeHistories, ListAllChangesBetweenTwoMeasurements) {
  ASSERT_EQ(change().verdict, ApplyVerdict::kept);
  say("seventh", {{"net.core.netdev_max_backlog", kHarmful}});
  ASSERT_EQ(change(false).verdict, ApplyVerdict::kept);
  say("seventh", {{"net.core.somaxconn", "1000"}});
  ASSERT_EQ(change(false).verdict, ApplyVerdict::kept);
  bench({.command = "lockstep bench"});
  EXPECT_EQ(blamed(series()), Named{"change 2|3"});
}

TEST_F(ChangeHistories, RefuseUnknownFigures) {
  const auto none = change_history(state(), {.of = "gpu9"});
  ASSERT_FALSE(none);
  EXPECT_TRUE(none.error().text().starts_with("no run has a figure of 'gpu9'")) << none.error().text();
  EXPECT_TRUE(change_history(state(), {})->changes.empty());
  EXPECT_EQ(shown_change(state(), 1).error().text(), "there is no change 1: nothing was ever changed here");
  EXPECT_FALSE(std::filesystem::exists(state())) << "reading makes nothing";
}

class Comparisons : public ChangeHistories {};

TEST_F(Comparisons, ReportFiguresWorseThanTheReferenceRun) {
  ASSERT_EQ(change().verdict, ApplyVerdict::kept);
  const BenchRun first = bench({.command = "lockstep bench", .author = "bob"});
  ASSERT_TRUE(first.recorded && *first.recorded) << first.recorded->error().text();
  haunted = "gpu7";
  fake.unreachable = {"gpu8"};
  for (const std::string asked : {"last", "change:1"}) {
    const BenchRun run = bench({.command = "lockstep bench", .compare = asked});
    ASSERT_TRUE(run.compared);
    EXPECT_TRUE(asked == "change:1" || run.compared->then.number == **first.recorded);
    EXPECT_TRUE(run.compared->differs.empty());
    EXPECT_TRUE(run.compared->only_then.empty() && run.compared->only_now.empty());
    // 56 pairs: the median of bandwidth, and the median and p99 of latency.
    EXPECT_EQ(run.compared->figures.size(), 56U * 3);
    for (const ComparedFigure& one : run.compared->figures) {
      const std::string subject = subject_of(one.now);
      const bool gone = subject.find("gpu8") != std::string::npos;
      const bool tail = subject.find("gpu7") != std::string::npos && one.statistic == Statistic::p99;
      EXPECT_EQ(one.trend, gone || tail ? Trend::worse : Trend::alike)
          << series_of(one.now) << to_string(one.statistic);
    }
    haunted.clear();
    fake.unreachable.clear();
    bench({.command = "lockstep bench"});  // the last run, without the fault
    haunted = "gpu7";
    fake.unreachable = {"gpu8"};
  }
}

TEST_F(Comparisons, ReportContextDifferences) {
  ASSERT_EQ(change().verdict, ApplyVerdict::kept);
  const BenchRun first = bench({.command = "lockstep bench"});
  open(on_the_clock);  // the effects of the devices follow the intents of this session
  devices.at("gpu3")->reboot();
  unattachable.emplace("gpu4", Error{ErrorKind::denied, "no credentials"});
  say("lab", {{"net.core.somaxconn", "1000"}});
  const BenchRun run = bench({.command = "lockstep bench", .benchmark = "pairs", .compare = "last"});
  std::set<std::string> differs;
  for (const ContextDifference& one : run.compared->differs) {
    differs.insert(one.what + " " + one.of);
    EXPECT_NE(one.then, one.now);
    EXPECT_EQ(one.now.empty(), one.of == "gpu4");
  }
  EXPECT_EQ(differs, (std::set<std::string>{"configuration ", "boot gpu3", "boot gpu4", "drivers gpu4"}));
  EXPECT_TRUE(run.compared->only_then.empty()) << "the other benchmark was not asked for";
  EXPECT_EQ(run.compared->figures.size(), 56U);
}

TEST_F(Comparisons, RefuseAnUnknownRunAndListTheNewest) {
  EXPECT_EQ(refusal("last"), "no bench is recorded, so there is no last one; no run is recorded yet");
  ASSERT_EQ(change().verdict, ApplyVerdict::kept);
  bench({.command = "lockstep bench"});
  EXPECT_TRUE(refusal("99").starts_with("there is no run '99'; the newest are 3 (bench, ")) << refusal("99");
  EXPECT_TRUE(refusal("99").find(", 2 (after of change 1, ") != std::string::npos) << refusal("99");
  EXPECT_TRUE(refusal("change:9").starts_with("no gate's run after change 9 is recorded; the newest"));
  EXPECT_TRUE(refusal("change:x").starts_with("'change:x' names no change: change:7 does"));
  EXPECT_TRUE(refusal("-1").starts_with("'-1' is no run: a number, last, or change:N is"));
}

TEST_F(Comparisons, ShowARunThatCannotBeStored) {
  const auto leader = led(state());
  ASSERT_EQ(Oracle(state() + "/journal.sqlite")
                .ask("CREATE TRIGGER no_more BEFORE INSERT ON runs BEGIN SELECT RAISE(ABORT, 'no'); END"),
            "");
  const BenchRun run = bench({.command = "lockstep bench"});
  EXPECT_GT(measurements_in(run.outcomes), 0U);
  ASSERT_TRUE(run.recorded);
  ASSERT_FALSE(*run.recorded);
  EXPECT_NE(run.recorded->error().text().find("journal.sqlite: write: no"), std::string::npos)
      << run.recorded->error().text();
  leader->leadership().resign();
  say("lab", {{"net.core.somaxconn", "1000"}});
  ClusterSession& lab = open(on_the_clock);
  ASSERT_TRUE(lab.prepare_apply({.command = "lockstep apply", .author = "ann"}));
  const Applied applied =
      lab.apply(*lab.plan(lab.observe()), {}, {.command = "lockstep apply", .author = "ann"}, {});
  EXPECT_EQ(applied.report.verdict, ApplyVerdict::kept) << "a gate judges what it can't record";
  ASSERT_FALSE(applied.report.notes.empty());
  EXPECT_TRUE(applied.report.notes.back().starts_with("what was measured (after) is not recorded: "))
      << applied.report.notes.back();
}

TEST_F(ChangeHistories, BaselineIsValidOnlyInTheSameContext) {
  ASSERT_EQ(change().verdict, ApplyVerdict::kept);
  const auto store = stored(state());
  const auto newest = store->runs().newest(1, RunPurpose::before);
  ASSERT_TRUE(newest && !newest->empty());
  const std::uint64_t number = newest->at(0).change;
  const auto whole = store->runs().find(newest->at(0).number);
  RunGround ground{.version = "test", .devices = {}, .now = on_the_clock.wall_time()};
  for (const RunDevice& one : (*whole)->devices) ground.devices[one.device] = one;
  const auto stands = [&](const RunGround& now) {
    const auto said = before_stands(store->runs(), number, now);
    EXPECT_TRUE(said);
    return said && *said;
  };
  EXPECT_TRUE(stands(ground));
  RunGround other = ground;
  other.now += kBeforeAge + std::chrono::seconds(1);
  EXPECT_FALSE(stands(other));
  other = ground;
  other.version = "later";
  EXPECT_FALSE(stands(other));
  other = ground;
  other.devices["leaf0"].boot = "another";
  EXPECT_FALSE(stands(other));
  other = ground;
  other.devices["gpu1"].drivers = "sim, frr";
  EXPECT_FALSE(stands(other));
  const auto another = before_stands(store->runs(), number + 1, ground);
  EXPECT_TRUE(another && !*another) << "a change that nothing was measured for";
}

TEST_F(ChangeHistories, GateExcludesHostsThatRunJobs) {
  drivers[DriverName::sim].jobs = [](const std::string& device, const Call&) {
    return std::string(device == "gpu4" ? "Slurm job 42" : "");
  };
  const ApplyReport report = change();
  ASSERT_TRUE(report.gate);
  const auto store = stored(state());
  const auto runs = store->runs().newest(10, RunPurpose::after);
  ASSERT_TRUE(runs && !runs->empty());
  for (const RunHead& one : *runs) {
    const auto whole = store->runs().find(one.number);
    ASSERT_FALSE((*whole)->figures.empty());
    for (const RunFigure& figure : (*whole)->figures)
      EXPECT_EQ(subject_of(figure).find("gpu4"), std::string::npos) << subject_of(figure);
  }
  EXPECT_NE(report.gate->why.find("gpu4:rail0"), std::string::npos) << report.gate->why;
  EXPECT_EQ(report.exit_code(), 3) << "what was written to gpu4 was not measured";
  const BenchRun all = bench({.command = "lockstep bench"});
  EXPECT_EQ(measurements_in(all.outcomes), 112U) << "a person asked for it";
}

TEST_F(ChangeHistories, UnknownBootInvalidatesTheBaseline) {
  change();
  unattachable.emplace("gpu4", Error{ErrorKind::denied, "no credentials"});
  say("seventh", {{"net.core.somaxconn", "1000"}});
  change();
  const auto store = stored(state());
  const auto newest = store->runs().newest(1, RunPurpose::before);
  ASSERT_TRUE(newest && !newest->empty());
  const auto whole = store->runs().find(newest->at(0).number);
  RunGround ground{.version = "test", .devices = {}, .now = on_the_clock.wall_time()};
  for (const RunDevice& one : (*whole)->devices) {
    EXPECT_EQ(one.boot.empty(), one.device == "gpu4") << one.device;
    ground.devices[one.device] = one;
  }
  ASSERT_TRUE(ground.devices.contains("gpu4")) << "gpu7 talks to it";
  const auto stands = before_stands(store->runs(), newest->at(0).change, ground);
  ASSERT_TRUE(stands) << stands.error().text();
  EXPECT_FALSE(*stands);
}

}  // namespace
}  // namespace lockstep
