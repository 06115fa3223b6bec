#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <nlohmann/json.hpp>

#include "reconciler/report/drift_report.hpp"
#include "reconciler/report/escape.hpp"
#include "reconciler/report/problems.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

// Stable across runs: GitLab identifies a finding by it.
std::string fingerprint(const std::string& device, const std::string& path) {
  const std::string text = device + "\n" + path;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  std::string hex;
  for (unsigned i = 0; i < 16 && i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

std::string fingerprint(const DriftEntry& item) { return fingerprint(item.device, item.path.text()); }
// Distinct from the finding that the same entry has drifted.
std::string fingerprint(const Unobserved& one) { return fingerprint(one.device, one.path + "\nunobserved"); }

// The location in SARIF; null without a file.
Json sarif_places(const PlanOrigin& origin) {
  if (origin.file.empty()) return nullptr;
  return Json::array({{{"physicalLocation",
                        {{"artifactLocation", {{"uri", uri_of_path(origin.file)}}},
                         {"region", {{"startLine", origin.line}, {"startColumn", origin.column}}}}}}});
}

Json sarif_result(const std::string& rule, std::string_view level, const std::string& text,
                  const std::string& print, const PlanOrigin& origin) {
  Json result{{"ruleId", rule},
              {"level", level},
              {"message", {{"text", sarif_message(text)}}},
              {"partialFingerprints", {{"deviceAndEntry/v1", print}}}};
  if (Json places = sarif_places(origin); !places.is_null()) result["locations"] = std::move(places);
  return result;
}

Json gitlab_finding(const std::string& rule, std::string_view severity, const std::string& text,
                    const std::string& print, const PlanOrigin& origin) {
  return {{"description", printable(text)},
          {"check_name", rule},
          {"fingerprint", print},
          {"severity", severity},
          {"location", {{"path", origin.file}, {"lines", {{"begin", std::max(1U, origin.line)}}}}}};
}

// The location properties, each followed by a comma.
std::string github_place(const PlanOrigin& origin) {
  if (origin.file.empty()) return "";
  return fmt::format("file={},line={},col={},", workflow_property(origin.file), origin.line, origin.column);
}

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

}  // namespace

std::string drift_markdown(const DriftReport& report, const std::string& cluster) {
  std::string out = fmt::format("### {}: {} of {} devices in sync\n\n", markdown_code(cluster),
                                report.in_sync, report.devices);
  for (const ProblemLine& one : problem_lines(report))
    out += "- " + markdown_code(fold_hostlist(one.devices)) + " " + markdown_code(one.what) +
           explains_text(one) + (one.origin.empty() ? "" : " " + markdown_code(one.origin)) + "\n";
  bool any = false;
  for (const DriftEntry& item : report.items) {
    if (!item.is_difference()) continue;
    if (!any)
      out +=
          "\n<details><summary>Every difference</summary>\n\n"
          "| device | entry | desired | actual | state | disruption | origin "
          "|\n|---|---|---|---|---|---|---|\n";
    any = true;
    out += fmt::format("| {} | {} | {} | {} | {} | {} | {} {} |\n", markdown_code(item.device),
                       markdown_code(item.path.text()), markdown_code(want_text(item)),
                       markdown_code(have_text(item)), to_string(item.state), to_string(item.disruption),
                       markdown_code(place_text(item.origin)), markdown_code(item.origin.rule));
  }
  out += any ? "\n</details>\n" : "No drift.\n";
  if (report.in_maintenance > 0) out += fmt::format("\n{} of them in maintenance.\n", report.in_maintenance);
  if (!alarming(report).empty()) out += "\n";
  for (const Unobserved& one : alarming(report)) {
    out += "- " + markdown_code(one.device + (one.path.empty() ? "" : " " + one.path)) + " was not observed";
    out += (one.why.empty() ? "" : ": " + markdown_code(one.why)) + "\n";
  }
  return out;
}

std::string drift_sarif(const DriftReport& report) {
  Json results = Json::array();
  for (const DriftEntry& item : report.items) {
    if (!item.is_difference()) continue;
    results.push_back(
        sarif_result(rule_id(item), "error", drift_sentence(item), fingerprint(item), item.origin));
  }
  for (const Unobserved& one : alarming(report))
    results.push_back(
        sarif_result(kUnobservedRule, "warning", unobserved_sentence(one), fingerprint(one), one.origin));
  const Json rules = Json::array(
      {{{"id", "lockstep/drifted"}, {"shortDescription", {{"text", "A device differs from its spec"}}}},
       {{"id", "lockstep/effect"},
        {"shortDescription", {{"text", "Configured as desired, and the effect is missing"}}}},
       {{"id", "lockstep/notApplied"},
        {"shortDescription", {{"text", "It differs, and requires manual action"}}}},
       {{"id", kUnobservedRule}, {"shortDescription", {{"text", "Not observed"}}}}});
  return json_text({{"version", "2.1.0"},
                    {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                    {"runs", Json::array({{{"tool", {{"driver", {{"name", "lockstep"}, {"rules", rules}}}}},
                                           {"columnKind", "unicodeCodePoints"},
                                           {"results", results}}})}},
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

std::string drift_gitlab(const DriftReport& report) {
  Json findings = Json::array();
  for (const DriftEntry& item : report.items) {
    if (!item.is_difference()) continue;
    findings.push_back(gitlab_finding(rule_id(item),
                                      item.disruption == Disruption::none ? "major" : "critical",
                                      drift_sentence(item), fingerprint(item), item.origin));
  }
  for (const Unobserved& one : alarming(report))
    findings.push_back(
        gitlab_finding(kUnobservedRule, "minor", unobserved_sentence(one), fingerprint(one), one.origin));
  return json_text(findings, 2);
}

std::string drift_github(const DriftReport& report) {
  std::string out;
  for (const DriftEntry& item : report.items) {
    if (!item.is_difference()) continue;
    out += fmt::format("::error {}title={}::{}\n", github_place(item.origin),
                       workflow_property(rule_id(item)), workflow_data(drift_sentence(item)));
  }
  for (const Unobserved& one : alarming(report))
    out += fmt::format("::warning {}title={}::{}\n", github_place(one.origin), kUnobservedRule,
                       workflow_data(unobserved_sentence(one)));
  return out;
}

}  // namespace lockstep
