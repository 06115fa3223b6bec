// Cluster.maintenance, from the specs to drift, plan, watch and gate, for a given day.
#include "reconciler/session/maintenance.hpp"

#include <algorithm>

#include "lab.hpp"
#include "specs/fabric/codes.hpp"
#include "specs/language/quantities_of_fields.hpp"

namespace lockstep {
namespace {

constexpr const char* kMtu = "interface[rail0]/mtu";

class MaintenanceLab : public Lab {
 protected:
  // Replaces the lab's own Cluster object.
  void maintain(const std::string& entries) {
    std::string text = kDevices;
    const std::string plain = "spec: {mode: converge}";
    text.replace(text.find(plain), plain.size(), "spec:\n  mode: converge\n  maintenance:\n" + entries);
    folder.write("specs/devices.yaml", text);
  }
  OpenedCluster load_on(const char* day) {
    ClusterSource source;
    source.specs = {folder.path() + "/specs"};
    source.today = *parse_date(day);
    Result<OpenedCluster> cluster = load_cluster(source);
    if (!cluster) throw std::runtime_error(cluster.error().text());
    return *std::move(cluster);
  }
  ClusterSession& open_on(const char* day) {
    session.reset();
    auto opened =
        ClusterSession::open(load_on(day), {drivers, executor, state(), stop.get_token(), &measurer});
    if (!opened) throw std::runtime_error(opened.error().text());
    session = *std::move(opened);
    return *session;
  }
};

TEST_F(MaintenanceLab, EndsAfterItsLastDayAndThenWarns) {
  maintain("    - {names: gpu2, until: 2026-12-01, reason: optics}\n");
  for (const char* const day : {"2026-11-30", "2026-12-01"}) {
    const OpenedCluster open = load_on(day);
    EXPECT_EQ(open.maintenance, (std::map<std::string, std::string>{{"gpu2", "until 2026-12-01: optics"}}));
    EXPECT_TRUE(open.diagnostics.empty());
  }
  const OpenedCluster over = load_on("2026-12-02");
  EXPECT_TRUE(over.maintenance.empty());
  EXPECT_TRUE(over.valid()) << "a warning";
  ASSERT_EQ(over.diagnostics.size(), 1U);
  const Diagnostic& one = over.diagnostics[0];
  EXPECT_EQ(one.code, fabric_code::maintenance_ended);
  EXPECT_EQ(one.severity, Severity::warning);
  EXPECT_EQ(one.message, "the maintenance of gpu2 was to end on 2026-12-01: optics");
  EXPECT_TRUE(over.catalog.sources.files[one.at.file].name.ends_with("devices.yaml"));
  EXPECT_EQ(one.at.line, 7U);
  EXPECT_EQ(one.at.column, 28U);
}

TEST_F(MaintenanceLab, ReportsTheEntryThatEndsLast) {
  maintain(
      "    - {names: 'gpu[1-2]', until: 2026-12-01, reason: optics}\n"
      "    - {names: gpu2, until: 2026-12-09, reason: a new mainboard}\n"
      "    - {names: gpu1, until: 2026-01-01, reason: long ago}\n");
  const OpenedCluster open = load_on("2026-11-30");
  EXPECT_EQ(open.maintenance,
            (std::map<std::string, std::string>{{"gpu1", "until 2026-12-01: optics"},
                                                {"gpu2", "until 2026-12-09: a new mainboard"}}));
  EXPECT_EQ(open.diagnostics.size(), 1U);
}

TEST_F(MaintenanceLab, HidesDriftUntilItEnds) {
  maintain("    - {names: gpu2, until: 2026-12-01, reason: optics}\n");
  apply(open_on("2026-11-30"));
  devices.at("gpu2")->set(*Path::parse(kMtu), Value::integer(1500));
  ClusterSession& during = open_on("2026-12-01");
  const DriftReport report = during.drift(false)->report;
  EXPECT_EQ(report.exit_code(), 0);
  ASSERT_EQ(report.items.size(), 1U);
  EXPECT_EQ(report.items[0].maintenance, "until 2026-12-01: optics");
  const Result<Plan> plan = during.plan(during.observe());
  ASSERT_TRUE(plan && !plan->empty());
  EXPECT_FALSE(during.changes_any_in_service(*plan)) << "`lockstep plan` ends with 0";
  ASSERT_EQ(during.in_maintenance().size(), 1U);
  EXPECT_EQ(during.in_maintenance()[0].devices, std::vector<std::string>{"gpu2"});

  ClusterSession& after = open_on("2026-12-02");
  EXPECT_EQ(after.drift(false)->report.exit_code(), 2);
  const Result<Plan> then = after.plan(after.observe());
  EXPECT_TRUE(then && after.changes_any_in_service(*then));
}

TEST_F(MaintenanceLab, DoesNotMakeAnApplyPartial) {
  maintain("    - {names: gpu2, until: 2026-12-01, reason: optics}\n");
  unattachable.emplace("gpu2", Error{ErrorKind::transient, "gpu2: no route to host"});
  ClusterSession& during = open_on("2026-12-01");
  EXPECT_EQ(during.why_partial(during.observe()), "");
  EXPECT_TRUE(during.not_observed(during.observe()).empty());
  ClusterSession& after = open_on("2026-12-02");
  EXPECT_EQ(after.why_partial(after.observe()), "gpu2 could not be observed: gpu2: no route to host");
}

TEST_F(MaintenanceLab, IsInTheStatus) {
  maintain("    - {names: gpu2, until: 2026-12-01, reason: optics}\n");
  ClusterSession& lab = open_on("2026-12-01");
  const std::unique_ptr<ClusterWatch> watch =
      lab.make_watch({.command = "test", .author = "ann", .event = {}, .healed = {}});
  bool ended = false;
  watch->start([&ended](const Result<Done>&) { ended = true; });
  const auto all_told = [&watch] {
    return std::ranges::all_of(watch->snapshot()->devices, [](const auto& one) { return one != nullptr; });
  };
  while (!all_told() && executor.step()) {
  }
  std::map<std::string, std::string> told;
  for (const auto& one : watch->snapshot()->devices) told[one->device] = one->maintenance;
  EXPECT_EQ(told, (std::map<std::string, std::string>{
                      {"gpu1", ""}, {"gpu2", "until 2026-12-01: optics"}, {"leaf0", ""}}));
  watch->stop();
  while (!ended && executor.step()) {
  }
}

// Gates exclude the pairs of gpu2 and measure all others.
TEST_F(MaintenanceLab, ExcludesItsPairsFromGates) {
  maintain("    - {names: gpu2, until: 2026-12-01, reason: optics}\n");
  const auto measured = [this](const OpenedCluster& cluster) {
    std::set<std::string> out;
    MeasureInput input{cluster.catalog, cluster.compiled, {}, {}, {}, ""};
    input.traffic = [&](const bench::TcpPlan& plan, const std::vector<bench::ProbeEndpoint>& ends) {
      for (const auto& round : plan.rounds)
        for (const bench::Pair& pair : round) out.insert(ends[pair.from].endpoint.device);
      return std::vector<bench::Measurement>{};
    };
    SuiteGate gate(cluster, input, folder.path(), {});
    const BlastRadius all{{"gpu1", "gpu2", "leaf0"}, {0, 1}};
    EXPECT_TRUE(gate.measure({.affected = all, .pending = {}, .whole = all}, Call{}));
    return out;
  };
  EXPECT_TRUE(measured(load_on("2026-12-01")).empty()) << "gpu1 has no other to talk to";
  EXPECT_EQ(measured(load_on("2026-12-02")), (std::set<std::string>{"gpu1", "gpu2"}));
}

}  // namespace
}  // namespace lockstep
