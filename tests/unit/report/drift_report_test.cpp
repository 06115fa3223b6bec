#include "reconciler/report/drift_report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

// One device with a wrong MTU, one that lost a next hop, one without support for PFC, one that was not read.
DriftReport sample() {
  DriftReport report;
  report.devices = 4;
  report.observed = 3;
  report.in_sync = 1;
  report.drifted = 2;
  const PlanOrigin mtu{"specs/fabric.yaml", 9, 8, "Fabric/backend", "mtu"};
  report.items.push_back({.device = "gpu1",
                          .path = Path(row("interface[*]/mtu"), {"rail0"}),
                          .want = Value::integer(9000),
                          .have = Value::integer(1500),
                          .state = DriftState::drifted,
                          .disruption = Disruption::traffic,
                          .origin = mtu,
                          .reason = ""});
  report.items.push_back({.device = "leaf0",
                          .path = Path(row("fib[*]"), {"10.64.1.0/29"}),
                          .want = Value::set({"up0", "up1"}),
                          .have = Value::set({"up1"}),
                          .state = DriftState::effect,
                          .disruption = Disruption::none,
                          .origin = {"specs/fabric.yaml", 14, 3, "Fabric/backend", "routing"},
                          .reason = ""});
  report.items.push_back({.device = "leaf0",
                          .path = Path(row("interface[*]/pfc"), {"swp1"}),
                          .want = Value::set({"3"}),
                          .have = Value{},
                          .state = DriftState::not_applied,
                          .disruption = Disruption::none,
                          .origin = mtu,
                          .reason = "veth has no DCB"});
  report.unobserved.push_back(
      {"leaf1", "", "bgpd.vty: connection refused", {"specs/devices.yaml", 7, 9, "DeviceSet/leafs", ""}});
  return report;
}

// The same report with two devices in maintenance: one that differs, and one that does not answer.
DriftReport maintained() {
  DriftReport report = sample();
  report.drifted = 1;
  report.in_maintenance = 2;
  report.excused = 1;
  report.items[0].maintenance = "until 2026-12-01: optics";
  report.unobserved[0].maintenance = "until 2026-12-09: power";
  return report;
}

// Two devices with the same packet filter, and an allowed route.
DriftReport with_findings() {
  DriftReport report = sample();
  for (const char* device : {"leaf0", "leaf1"})
    report.items.push_back(
        {.device = device,
         .path = Path(row("diverted[*]/filters"), {"10.64.0.0/16"}),
         .want = Value::set({}),
         .have = Value::set({"XDP on swp1 (native)", "nft inet f c (forward): policy drop"}),
         .state = DriftState::finding,
         .disruption = Disruption::none,
         .origin = {},
         .reason = ""});
  report.items.push_back({.device = "leaf0",
                          .path = Path(row("diverted[*]/transit"), {"10.64.0.0/16"}),
                          .want = Value::set({"blackhole 10.64.9.0/24 proto static"}),
                          .have = Value::set({"blackhole 10.64.9.0/24 proto static"}),
                          .state = DriftState::allowed,
                          .disruption = Disruption::none,
                          .origin = {},
                          .reason = "until 2026-12-01: renumbered"});
  return report;
}

TEST(DriftText, FoldsFindingsAndAllowedEntriesOfDevices) {
  const std::string text = drift_text(with_findings(), Terminal{});
  EXPECT_NE(text.find("finding\n  XDP on swp1 (native)  leaf[0-1]\n  nft inet f c (forward): policy drop  "
                      "leaf[0-1]\n"),
            std::string::npos)
      << text;
  EXPECT_NE(
      text.find("allowed\n  blackhole 10.64.9.0/24 proto static  (until 2026-12-01: renumbered)  leaf0\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("2 differences on 2 devices"), std::string::npos) << text;
}

TEST(DriftFormats, FindingsAreInJsonAndAreNotFailures) {
  EXPECT_EQ(drift_sarif(with_findings()), drift_sarif(sample()));
  EXPECT_EQ(drift_github(with_findings()), drift_github(sample()));
  EXPECT_EQ(drift_junit(with_findings(), "pod"), drift_junit(sample(), "pod"));
  EXPECT_EQ(drift_gitlab(with_findings()), drift_gitlab(sample()));
  EXPECT_EQ(drift_markdown(with_findings(), "pod"), drift_markdown(sample(), "pod"));
  EXPECT_EQ(drift_json(with_findings())["items"][3]["state"], "finding");
  const nlohmann::json plan = unmended_json(with_findings());
  EXPECT_EQ(plan["findings"].size(), 2U);
  EXPECT_EQ(plan["allowed"].size(), 1U);
  EXPECT_EQ(plan["manualActions"].size(), 3U);
}

TEST(DriftText, ListsDevicesInMaintenanceSeparately) {
  const std::string text = drift_text(maintained(), Terminal{});
  const std::size_t apart = text.find("in maintenance\n");
  ASSERT_NE(apart, std::string::npos) << text;
  EXPECT_GT(text.find("gpu1    interface[rail0]/mtu  9000  1500"), apart) << text;
  EXPECT_GT(text.find("not observed: bgpd.vty: connection refused  until 2026-12-09: power"), apart) << text;
  EXPECT_NE(text.find("1 of 4 devices in sync, 1 difference on 1 device, 2 in maintenance\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("drifted\n"), std::string::npos) << text;
}

// Formats that raise an alarm in other tools: a failed test, an annotation, a finding.
TEST(DriftFormats, RaiseNoAlarmForDevicesInMaintenance) {
  const DriftReport report = maintained();
  for (const std::string& text : {drift_sarif(report), drift_junit(report, "pod"), drift_gitlab(report),
                                  drift_github(report), drift_markdown(report, "pod")}) {
    EXPECT_EQ(text.find("gpu1"), std::string::npos) << text;
    EXPECT_EQ(text.find("leaf1"), std::string::npos) << text;
    EXPECT_NE(text.find("leaf0"), std::string::npos) << text;
  }
  const nlohmann::json json = drift_json(report);
  EXPECT_EQ(json["items"][0]["maintenance"], "until 2026-12-01: optics");
  EXPECT_EQ(json["unobserved"][0]["maintenance"], "until 2026-12-09: power");
  EXPECT_EQ(json["summary"]["inMaintenance"], 2);
  EXPECT_EQ(report.exit_code(), 2);
}

TEST(DriftFormats, NameTheSettingsThatAreNotSupported) {
  const nlohmann::json expected = nlohmann::json::parse(
      R"([{"reason": "veth has no DCB", "settings": ["interface[*]/pfc"], "entries": 1,
           "devices": ["leaf0"]}])");
  EXPECT_EQ(drift_json(sample())["notApplied"], expected);
}

TEST(DriftText, NamesDeviceEntryWantHaveAndLine) {
  const std::string text = drift_text(sample(), Terminal{}, Detail::every_change);
  EXPECT_NE(text.find("gpu1    interface[rail0]/mtu  9000     1500    traffic     specs/fabric.yaml:9:8 mtu"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("leaf0   fib[10.64.1.0/29]  up0, up1  up1"), std::string::npos) << text;
  EXPECT_NE(text.find("veth has no DCB (1 entry)  leaf0"), std::string::npos) << text;
  EXPECT_NE(text.find("leaf1    bgpd.vty: connection refused"), std::string::npos) << text;
  EXPECT_NE(text.find("1 of 4 devices in sync, 2 differences on 2 devices, 1 device partly observed"),
            std::string::npos)
      << text;
}

DriftReport with_work_for_a_person() {
  DriftReport report = sample();
  for (const char* entry : {"interface[rail7]/mtu", "interface[rail7]/admin"})
    report.items.push_back({.device = "gpu1",
                            .path = *Path::parse(entry),
                            .want = Value::integer(1),
                            .have = Value{},
                            .state = DriftState::not_applied,
                            .disruption = Disruption::none,
                            .origin = {"specs/fabric.yaml", 9, 8, "Fabric/backend", "mtu"},
                            .reason = "no interface is called rail7 here",
                            .by_hand = true});
  report.items.push_back(report.items.back());
  report.items.back().path = *Path::parse("package[rdma-core]");
  report.items.back().want = Value::text(">=44");
  report.items.back().reason = "rdma-core is not installed";
  return report;
}

TEST(DriftText, ManualActionsAreListedSeparatelyAndCount) {
  const std::string text = drift_text(with_work_for_a_person(), Terminal{}, Detail::every_change);
  EXPECT_NE(
      text.find("requires manual action\n"
                "  no interface is called rail7 here (2 entries)  gpu1\n"
                "  rdma-core is not installed (package[rdma-core], desired >=44, actual (absent))  gpu1\n"
                "not supported on these devices\n"
                "  veth has no DCB (1 entry)  leaf0\n"
                "    interface[*]/pfc\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("5 differences"), std::string::npos) << text;
  const std::string folded = drift_text(with_work_for_a_person(), Terminal{});
  EXPECT_EQ(folded.find("veth has no DCB"), std::string::npos) << folded;
  EXPECT_TRUE(folded.starts_with("6 problems\n")) << folded;
  EXPECT_NE(folded.find("  gpu1: package[rdma-core] is missing, desired >=44; rdma-core is not installed  "),
            std::string::npos)
      << folded;
  EXPECT_TRUE(
      folded.ends_with("\n--details shows every difference; 1 entry not supported on these devices\n"))
      << folded;
}

TEST(DriftSarif, HasManualActionsWithTheirReason) {
  const nlohmann::json sarif = nlohmann::json::parse(drift_sarif(with_work_for_a_person()));
  const nlohmann::json& results = sarif["runs"][0]["results"];
  ASSERT_EQ(results.size(), 6U);
  EXPECT_EQ(results[4]["ruleId"], "lockstep/notApplied");
  EXPECT_EQ(results[4]["message"]["text"],
            "gpu1 package[rdma-core]: desired >=44, actual (absent); rdma-core is not installed");
}

// Entries of one problem: the port's address was replaced, and two settings of its neighbor differ alike.
DriftReport with_a_replaced_address() {
  DriftReport report;
  report.devices = 1;
  const auto add = [&report](const char* path, Value want, Value have) {
    report.items.push_back({.device = "node2",
                            .path = *Path::parse(path),
                            .want = want,
                            .have = have,
                            .state = DriftState::drifted,
                            .disruption = Disruption::traffic,
                            .origin = {"specs/fabric.yaml", 9, 8, "Fabric/backend", "address"},
                            .reason = ""});
  };
  add("interface[rail0]/address[10.64.0.5/31]", Value::boolean(true), Value{});
  add("interface[rail0]/address[192.0.2.1/31]", Value{}, Value::boolean(true));
  add("interface[rail0]/mtu", Value::integer(9000), Value::integer(1500));
  add("interface[rail1]/mtu", Value::integer(9000), Value::integer(1500));
  report.problems = {{Problem::Kind::setting, {{0, 1}, {}}, {}}};
  return report;
}

TEST(DriftText, AReplacedAddressIsOneDifferenceOfValue) {
  const DriftReport report = with_a_replaced_address();
  EXPECT_TRUE(drift_text(report, Terminal{})
                  .starts_with("2 problems\n  node2: interface[rail0]/address is 192.0.2.1/31, desired "
                               "10.64.0.5/31  fabric.yaml:9 address\n"))
      << drift_text(report, Terminal{});
}

TEST(DriftJson, EachDifferenceNamesItsProblem) {
  const nlohmann::json document = drift_json(with_a_replaced_address());
  const nlohmann::json& problems = document["problems"];
  ASSERT_EQ(problems.size(), 2U) << document;
  for (const nlohmann::json& item : document["items"]) {
    const bool is_mtu = item["path"].get<std::string>().ends_with("/mtu");
    EXPECT_NE(problems[item["problem"].get<std::size_t>()]["what"].get<std::string>().find(
                  is_mtu ? "/mtu is" : "/address is"),
              std::string::npos)
        << document;
  }
  EXPECT_FALSE(drift_json(with_findings())["items"][3].contains("problem")) << "no difference";
}

TEST(DriftText, OnlyWhatDiffersAlikeIsCountedAsAlike) {
  DriftReport report = with_a_replaced_address();
  report.problems = {{Problem::Kind::setting, {{0, 1, 2, 3}, {}}, {{4}, {}}}};
  report.items.push_back(report.items[2]);
  report.items.back().path = *Path::parse("fib[10.64.0.4/31]");
  EXPECT_TRUE(drift_text(report, Terminal{})
                  .starts_with("1 problem\n  node2: interface[rail0]/address is 192.0.2.1/31, desired "
                               "10.64.0.5/31; interface[rail0]/mtu is 1500, desired 9000 (and 1 alike) "
                               "(explains 1 difference)"))
      << drift_text(report, Terminal{});
  report.items[0].path = *Path::parse("interface[rail1]/address[10.64.0.5/31]");
  EXPECT_NE(drift_text(report, Terminal{}).find("interface[rail1]/address[10.64.0.5/31] is missing"),
            std::string::npos)
      << drift_text(report, Terminal{}) << ": of another port, so not replaced";
}

TEST(DriftText, FoldsDevicesThatWereNotObservedForOneReason) {
  DriftReport report;
  report.devices = 64;
  for (int i = 1; i <= 64; ++i)
    report.unobserved.push_back({"gpu" + std::to_string(i), "", "nothing reaches it", {}, "", true});
  report.unobserved.push_back({"leaf0", "bgp/asn", "no answer"});
  EXPECT_NE(drift_text(report, Terminal{}, Detail::every_change)
                .find("  gpu[1-64]  nothing reaches it\n  leaf0      bgp/asn: no answer\n"),
            std::string::npos);
  report.problems = {{Problem::Kind::unreachable, {{}, {}}, {}}};
  for (std::size_t i = 0; i < 64; ++i) report.problems[0].cause.unobserved.push_back(i);
  const std::string folded = drift_text(report, Terminal{});
  EXPECT_TRUE(
      folded.starts_with("2 problems\n"
                         "  gpu[1-64]: not observed: nothing reaches it\n"
                         "  leaf0: bgp/asn was not observed: no answer\n"))
      << folded;
  EXPECT_NE(folded.find("0 of 64 devices in sync, 64 devices not observed\n"), std::string::npos) << folded;
}

TEST(DriftSarif, PointsAtTheSpecLineAndLeavesNotAppliedOut) {
  const nlohmann::json sarif = nlohmann::json::parse(drift_sarif(sample()));
  EXPECT_EQ(sarif["version"], "2.1.0");
  const nlohmann::json& results = sarif["runs"][0]["results"];
  ASSERT_EQ(results.size(), 3U);
  EXPECT_EQ(results[0]["ruleId"], "lockstep/drifted");
  const nlohmann::json& place = results[0]["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"]["uri"], "specs/fabric.yaml");
  EXPECT_EQ(place["region"]["startLine"], 9);
  EXPECT_EQ(place["region"]["startColumn"], 8);
  EXPECT_EQ(results[2]["ruleId"], "lockstep/unobserved");
  EXPECT_EQ(results[2]["message"]["text"], "leaf1 was not observed: bgpd.vty: connection refused");
  EXPECT_EQ(results[2]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "specs/devices.yaml");
}

TEST(DriftJunit, CountsFailuresAndErrorsAndEscapes) {
  DriftReport report = sample();
  report.items[0].device = "gpu<1>&";
  const std::string xml = drift_junit(report, "pod");
  EXPECT_NE(xml.find("tests=\"4\" failures=\"2\" errors=\"1\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("classname=\"gpu&lt;1&gt;&amp;\""), std::string::npos) << xml;
  EXPECT_EQ(xml.find("gpu<1>"), std::string::npos);
}

TEST(DriftGitlab, GivesEachFindingAStableFingerprint) {
  const nlohmann::json first = nlohmann::json::parse(drift_gitlab(sample()));
  DriftReport later = sample();
  later.items[0].have = Value::integer(1400);
  const nlohmann::json second = nlohmann::json::parse(drift_gitlab(later));
  ASSERT_EQ(first.size(), 3U) << "what could not be observed is in every form";
  EXPECT_EQ(first[0]["fingerprint"], second[0]["fingerprint"]) << "the same entry is the same finding";
  EXPECT_NE(first[0]["fingerprint"], first[1]["fingerprint"]);
  EXPECT_EQ(first[0]["location"]["lines"]["begin"], 9);
}

TEST(DriftGithub, EscapesWhatAWorkflowCommandCannotHold) {
  DriftReport report = sample();
  report.items[0].origin.file = "a,b:c.yaml";
  const std::string text = drift_github(report);
  EXPECT_NE(text.find("::error file=a%2Cb%3Ac.yaml,line=9,col=8,title=lockstep/drifted::gpu1 "
                      "interface[rail0]/mtu: desired 9000"),
            std::string::npos)
      << text;
}

TEST(DriftGithub, PlacesUnobservedDevicesAtTheirSpecLine) {
  EXPECT_NE(
      drift_github(sample()).find("::warning file=specs/devices.yaml,line=7,col=9,title=lockstep/unobserved"
                                  "::leaf1 was not observed: bgpd.vty: connection refused\n"),
      std::string::npos);
}

TEST(DriftMarkdown, HasTheValuesOfTextAndEndsWithOneLineBreak) {
  DriftReport report = sample();
  report.items[0].path = Path(row("interface[*]/class[*]/max-rate"), {"rail0", "3"});
  report.items[0].want = Value::integer(1000000000);
  report.items[0].have = Value{};
  const std::string text = drift_markdown(report, "pod");
  EXPECT_NE(text.find("| `1Gbps` | `(absent)` |"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("</details>\n\n- `leaf1` was not observed: `bgpd.vty: connection refused`\n"))
      << text;
  report.unobserved.clear();
  EXPECT_TRUE(drift_markdown(report, "pod").ends_with("`routing` |\n\n</details>\n"));
}

TEST(DriftMarkdown, IsATableWithOneRowAFailure) {
  const std::string text = drift_markdown(sample(), "pod");
  EXPECT_NE(text.find("| `gpu1` | `interface[rail0]/mtu` | `9000` | `1500` | drifted | traffic | "
                      "`specs/fabric.yaml:9` `mtu` |"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("veth has no DCB"), std::string::npos);
}

// GitHub refuses longer comments.
constexpr std::size_t kCommentLimit = 65'536;

std::size_t count_of(const std::string& text, std::string_view what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(DriftFormats, MarkdownFitsIntoACommentAndCountsWhatItLeavesOut) {
  DriftReport report = sample();
  const DriftEntry mtu = report.items.front();
  report.items.clear();
  report.unobserved.clear();
  constexpr std::size_t kMany = 20'000;
  for (std::size_t i = 0; i < kMany; ++i) {
    report.items.push_back(mtu);
    report.items.back().device = "gpu" + std::to_string(i);
    report.unobserved.push_back({"leaf" + std::to_string(i), "", "connection refused", mtu.origin});
  }
  const std::string page = drift_markdown(report, "pod");
  EXPECT_LT(page.size(), kCommentLimit);
  const std::size_t rows = count_of(page, "interface[rail0]/mtu` | `9000`");
  EXPECT_GT(rows, 100U);
  EXPECT_NE(page.find("\nand " + std::to_string(kMany - rows) + " more differences; "), std::string::npos);
  const std::size_t unread = count_of(page, "` was not observed: `connection refused`\n");
  EXPECT_NE(page.find("- and " + std::to_string(kMany - unread) + " more lines; "), std::string::npos);
}

// What GitHub takes of one run.
constexpr std::size_t kResultsLimit = 25'000;

// As many entries, the last ten of which would interrupt traffic.
DriftReport with_differences(std::size_t count) {
  DriftReport report = sample();
  const DriftEntry mtu = report.items.front();
  report.items.assign(count, mtu);
  report.unobserved = {{"leaf1", "", "connection refused", mtu.origin}};
  for (std::size_t i = 0; i < count; ++i) {
    report.items[i].device = "gpu" + std::to_string(i);
    report.items[i].disruption = i + 10 < count ? Disruption::none : Disruption::traffic;
  }
  return report;
}

TEST(DriftFormats, SarifHasTheMostSevereThatGitHubTakesAndCountsTheOthers) {
  const DriftReport report = with_differences(kResultsLimit + 10);
  const nlohmann::json run = nlohmann::json::parse(drift_sarif(report))["runs"][0];
  ASSERT_EQ(run["results"].size(), kResultsLimit);
  const auto begins = [&](std::size_t i, const std::string& device) {
    return run["results"][i]["message"]["text"].get<std::string>().starts_with(device + " ");
  };
  EXPECT_TRUE(begins(0, "gpu25000") && begins(9, "gpu25009")) << "what interrupts traffic";
  EXPECT_TRUE(begins(10, "gpu0") && begins(kResultsLimit - 1, "gpu24989")) << "then all others, in order";
  const nlohmann::json& told = run["invocations"][0];
  EXPECT_EQ(told["executionSuccessful"], true);
  EXPECT_EQ(told["toolExecutionNotifications"][0]["message"]["text"],
            "11 more findings that are not in this file; `lockstep drift --details` shows all");
  EXPECT_EQ(nlohmann::json::parse(drift_gitlab(report)).size(), kResultsLimit + 11) << "nothing is left out";
  EXPECT_EQ(count_of(drift_github(report), "::error "), kResultsLimit + 10);
  EXPECT_EQ(count_of(drift_junit(report, "pod"), "<failure "), kResultsLimit + 10);
}

TEST(DriftFormats, SarifThatIsWholeIsInTheOrderOfTheReportAndSaysNothing) {
  const DriftReport report = with_differences(kResultsLimit - 1);  // and a device that was not observed
  const nlohmann::json run = nlohmann::json::parse(drift_sarif(report))["runs"][0];
  EXPECT_EQ(run["results"].size(), kResultsLimit);
  EXPECT_FALSE(run.contains("invocations"));
  EXPECT_EQ(run["results"].back()["ruleId"], "lockstep/unobserved");
  EXPECT_TRUE(run["results"][0]["message"]["text"].get<std::string>().starts_with("gpu0 "));
}

TEST(DriftFormats, SarifFingerprintsAreThoseThatGitHubCompares) {
  DriftReport report = sample();
  report.items.push_back(report.items.front());
  report.items.back().device = "gpu2";  // the same line of the spec
  const auto results = nlohmann::json::parse(drift_sarif(report))["runs"][0]["results"];
  std::set<std::string> prints;
  for (const nlohmann::json& one : results)
    prints.insert(one["partialFingerprints"]["primaryLocationLineHash"].get<std::string>());
  EXPECT_EQ(prints.size(), results.size());
}

}  // namespace
}  // namespace lockstep
