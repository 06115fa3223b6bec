// What a watch has found wrong, as objects.
#include "reconciler/api/findings.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sample_objects.hpp"

namespace lockstep::api {
namespace {

TEST(Findings, AreTheProblemsThoseThatExplainMostFirst) {
  const DriftReport report = sample_findings();
  const std::vector<NamedFinding> all = findings_in(report);
  ASSERT_EQ(all.size(), 2U);
  const nlohmann::json port = finding_object(report, all[0], at_second(70), {}, {})["status"];
  EXPECT_EQ(port["kind"], "port");
  EXPECT_EQ(port["devices"], nlohmann::json::array({"leaf0"}));
  EXPECT_EQ(port["evidence"].size(), 2U);
  EXPECT_EQ(port["explains"], 1);
  EXPECT_EQ(port["probableCause"], port["fault"]) << "it explains the other";
  const nlohmann::json setting = finding_object(report, all[1], at_second(70), {}, {})["status"];
  EXPECT_EQ(setting["devices"], nlohmann::json::array({"gpu1", "gpu2"})) << "one line";
}

TEST(Findings, HaveTheSameNameWhateverElseIsFound) {
  DriftReport report = sample_findings();
  const std::string port = findings_in(report)[0].name;
  const std::string setting = findings_in(report)[1].name;
  EXPECT_NE(port, setting);
  report.items.pop_back();  // the setting is of one device only
  EXPECT_EQ(findings_in(report)[1].name, setting);
  // The same with other values, and on another port.
  report = sample_findings();
  report.problems.clear();
  report.items = {report.items[2]};
  const std::string before = findings_in(report)[0].name;
  report.items[0].have = Value::text("100");
  EXPECT_EQ(findings_in(report)[0].name, before);
  report = sample_findings();
  report.problems.clear();
  for (const NamedFinding& one : findings_in(report))
    EXPECT_NE(one.name, port) << "nothing is explained any more";
}

TEST(Findings, WithoutAKnownCauseNameNone) {
  DriftReport report = sample_findings();
  report.items = {report.items[1]};
  report.problems.clear();
  const std::vector<NamedFinding> all = findings_in(report);
  ASSERT_EQ(all.size(), 1U);
  const nlohmann::json status = finding_object(report, all[0], at_second(70), {}, {})["status"];
  EXPECT_EQ(status["kind"], "symptom");
  EXPECT_EQ(status["devicesInAll"], 1);
  EXPECT_FALSE(status.contains("probableCause"));
}

// Of the hosts that it is about or that have what it explains: each once.
TEST(Findings, CostWhatTheGpusThereCostWhereThatIsKnown) {
  const DriftReport report = sample_findings();
  const std::vector<NamedFinding> all = findings_in(report);
  const auto status = [&](const NamedFinding& one, const SpecObjects* objects) {
    return finding_object(report, one, at_second(70), gpu_prices(objects), {})["status"];
  };
  SpecObjects objects{.devices = {"gpu1", "gpu2", "gpu3", "leaf0"},
                      .gpus = {8, 4, 8, 0},
                      .all = {},
                      .cost = SpecObjects::Cost{2.5, "EUR"}};
  const nlohmann::json port = status(all[0], &objects);
  EXPECT_EQ(port["gpus"], 8) << "of the host whose carrier it takes away";
  EXPECT_EQ(port["costPerHour"], 20.0);
  EXPECT_EQ(port["currency"], "EUR");
  EXPECT_EQ(status(all[1], &objects)["costPerHour"], 30.0);
  objects.gpus[0] = 0;
  EXPECT_FALSE(status(all[0], &objects).contains("costPerHour")) << "no GPU is known to be concerned";
  objects.gpus[0] = 8;
  objects.cost.reset();
  EXPECT_FALSE(status(all[0], &objects).contains("costPerHour")) << "no price is known";
  EXPECT_FALSE(status(all[0], nullptr).contains("gpus"));
}

TEST(Findings, AreAtMostAThousandWithNamesOfTheirOwn) {
  DriftReport report;
  const DriftEntry one = sample_findings().items[1];
  for (int i = 0; i < 1500; ++i) {
    report.items.push_back(one);
    report.items.back().path = *Path::parse("interface[rail" + std::to_string(i) + "]/carrier");
  }
  std::set<std::string> names;
  for (const NamedFinding& finding : findings_in(report)) names.insert(finding.name);
  EXPECT_EQ(names.size(), kFindingsShown);
}

}  // namespace
}  // namespace lockstep::api
