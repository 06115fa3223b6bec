#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reconciler/report/ci_findings.hpp"
#include "reconciler/report/drift_report.hpp"
#include "reconciler/report/escape.hpp"
#include "reconciler/report/fitting_lines.hpp"
#include "reconciler/report/problems.hpp"
#include "reconciler/report/table.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

std::string place_text(const PlanOrigin& origin) {
  return origin.file.empty() ? "" : fmt::format("{}:{}", origin.file, origin.line);
}

constexpr const char* kUnobservedRule = "lockstep/unobserved";

std::string rule_id(const DriftEntry& item) { return "lockstep/" + std::string(to_string(item.state)); }

// Devices in maintenance are not expected to be observable.
std::vector<Unobserved> alarming(const DriftReport& report) {
  std::vector<Unobserved> out;
  for (const Unobserved& one : report.unobserved)
    if (one.maintenance.empty()) out.push_back(one);
  return out;
}

// Differences, then what was not observed: another finding than that the same entry has drifted.
std::vector<CiFinding> findings_of(const DriftReport& report) {
  std::vector<CiFinding> out;
  for (const DriftEntry& item : report.items) {
    if (!item.is_difference()) continue;
    out.push_back({rule_id(item),
                   item.disruption == Disruption::none ? CiFinding::Level::error : CiFinding::Level::critical,
                   drift_sentence(item), item.device + "\n" + item.path.text(), item.origin});
  }
  for (const Unobserved& one : alarming(report))
    out.push_back({kUnobservedRule, CiFinding::Level::warning, unobserved_sentence(one),
                   one.device + "\n" + one.path + "\nunobserved", one.origin});
  return out;
}

// GitHub rejects a file with more results in a run (docs.github.com, "SARIF support for code scanning").
constexpr std::size_t kSarifResults = 25'000;

// Leaves the most severe, otherwise in their order; returns how many it removed.
std::size_t keep_most_severe(std::vector<CiFinding>& findings, std::size_t most) {
  if (findings.size() <= most) return 0;
  std::ranges::stable_sort(findings, {}, &CiFinding::level);
  const std::size_t removed = findings.size() - most;
  findings.resize(most);
  return removed;
}

// SARIF 2.1.0, 3.20.21: what befell the tool's run, and is no result of it.
Json left_out_of_sarif(std::size_t count) {
  const std::string text = fmt::format("{} that {} not in this file; `lockstep drift --details` shows all",
                                       counted(count, "more finding"), count == 1 ? "is" : "are");
  return Json::array({{{"executionSuccessful", true},
                       {"toolExecutionNotifications",
                        Json::array({{{"level", "warning"}, {"message", {{"text", text}}}}})}}});
}

// A page in all: together less than a comment may have (fitting_lines.hpp).
constexpr std::size_t kListedLines = 100;
constexpr std::size_t kListedBytes = 12'000;
constexpr std::size_t kTableRows = 500;
constexpr std::size_t kTableBytes = 36'000;
// Long enough for each value of a usual device: a set of a hundred ports is folded.
constexpr std::size_t kSpanColumns = 300;

std::string span(const std::string& text) { return fitting_code(text, kSpanColumns); }

// "- and 3 more problems: ..."; empty: all are shown.
std::string more_text(const FittingLines& lines, std::string_view what, std::string_view begin) {
  if (lines.left_out() == 0) return "";
  return fmt::format("{}and {}; `lockstep drift --details` shows all\n", begin,
                     counted(lines.left_out(), "more " + std::string(what)));
}

FittingLines difference_rows(const DriftReport& report) {
  FittingLines rows(kTableRows, kTableBytes);
  for (const DriftEntry& item : report.items) {
    if (!item.is_difference()) continue;
    rows.add(fmt::format("| {} | {} | {} | {} | {} | {} | {} {} |\n", span(item.device),
                         span(item.path.text()), span(want_text(item)), span(have_text(item)),
                         to_string(item.state), to_string(item.disruption), span(place_text(item.origin)),
                         span(item.origin.rule)));
  }
  return rows;
}

}  // namespace

std::string drift_markdown(const DriftReport& report, const std::string& cluster) {
  std::string out =
      fmt::format("### {}: {} of {} devices in sync\n\n", span(cluster), report.in_sync, report.devices);
  FittingLines problems(kListedLines, kListedBytes);
  for (const ProblemLine& one : problem_lines(report))
    problems.add("- " + span(fold_hostlist(one.devices)) + " " + span(one.what) + explains_text(one) +
                 (one.origin.empty() ? "" : " " + span(one.origin)) + "\n");
  out += problems.text() + more_text(problems, "problem", "- ");
  const FittingLines rows = difference_rows(report);
  if (!rows.text().empty() || rows.left_out() > 0)
    out +=
        "\n<details><summary>Every difference</summary>\n\n"
        "| device | entry | desired | actual | state | disruption | origin "
        "|\n|---|---|---|---|---|---|---|\n" +
        rows.text() + more_text(rows, "difference", "\n") + "\n</details>\n";
  else
    out += "No drift.\n";
  if (report.in_maintenance > 0) out += fmt::format("\n{} of them in maintenance.\n", report.in_maintenance);
  FittingLines unobserved(kListedLines, kListedBytes);
  for (const Unobserved& one : alarming(report))
    unobserved.add("- " + span(one.device + (one.path.empty() ? "" : " " + one.path)) + " was not observed" +
                   (one.why.empty() ? "" : ": " + span(one.why)) + "\n");
  if (!unobserved.text().empty() || unobserved.left_out() > 0) out += "\n";
  return out + unobserved.text() + more_text(unobserved, "line", "- ");
}

std::string drift_sarif(const DriftReport& report) {
  const Json rules = Json::array(
      {{{"id", "lockstep/drifted"}, {"shortDescription", {{"text", "A device differs from its spec"}}}},
       {{"id", "lockstep/effect"},
        {"shortDescription", {{"text", "Configured as desired, and the effect is missing"}}}},
       {{"id", "lockstep/notApplied"},
        {"shortDescription", {{"text", "It differs, and requires manual action"}}}},
       {{"id", kUnobservedRule}, {"shortDescription", {{"text", "Not observed"}}}}});
  std::vector<CiFinding> findings = findings_of(report);
  const std::size_t left_out = keep_most_severe(findings, kSarifResults);
  Json run{{"tool", {{"driver", {{"name", "lockstep"}, {"rules", rules}}}}},
           {"columnKind", "unicodeCodePoints"},
           {"results", sarif_results(findings)}};
  if (left_out > 0) run["invocations"] = left_out_of_sarif(left_out);
  return json_text({{"version", "2.1.0"},
                    {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                    {"runs", Json::array({std::move(run)})}},
                   2);
}

std::string drift_junit(const DriftReport& report, const std::string& cluster) {
  std::string cases;
  std::size_t failures = 0;
  for (const DriftEntry& item : report.items) {
    if (!item.is_difference()) continue;
    ++failures;
    cases += fmt::format(
        "    <testcase classname=\"{}\" name=\"{}\">\n      <failure message=\"{}\" "
        "type=\"{}\">{}:{}:{}</failure>\n"
        "    </testcase>\n",
        xml_text(item.device), xml_text(item.path.text()), xml_text(drift_sentence(item)),
        to_string(item.state), xml_text(item.origin.file), item.origin.line, item.origin.column);
  }
  for (const Unobserved& one : alarming(report))
    cases += fmt::format(
        "    <testcase classname=\"{}\" name=\"{}\">\n      <error message=\"{}\"/>\n    </testcase>\n",
        xml_text(one.device), xml_text(one.path.empty() ? "device" : one.path), xml_text(one.why));
  if (report.in_sync > 0)
    cases += fmt::format("    <testcase classname=\"{}\" name=\"{} devices in sync\"/>\n", xml_text(cluster),
                         report.in_sync);
  const std::size_t tests = failures + alarming(report).size() + (report.in_sync > 0 ? 1 : 0);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
      "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\">\n{}  "
      "</testsuite>\n</testsuites>\n",
      xml_text(cluster), tests, failures, alarming(report).size(), cases);
}

std::string drift_gitlab(const DriftReport& report) { return gitlab_findings(findings_of(report)); }

std::string drift_github(const DriftReport& report) { return github_findings(findings_of(report)); }

}  // namespace lockstep
