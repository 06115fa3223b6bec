#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <nlohmann/json.hpp>

#include "reconciler/report/drift_report.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

bool is_failure(const DriftEntry& item) {
  return item.state == DriftState::drifted || item.state == DriftState::effect;
}

std::string dump(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string escape_xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default:
        // XML 1.0 has no other control characters (section 2.2).
        if (static_cast<unsigned char>(c) >= 0x20 || c == '\t' || c == '\n') out += c;
    }
  }
  return out;
}

std::string escape_markdown(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

// Workflow commands: %, CR and LF in data; : and , too in properties (GitHub Actions, "Workflow commands").
std::string escape_github(std::string_view text, bool property) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '%': out += "%25"; break;
      case '\r': out += "%0D"; break;
      case '\n': out += "%0A"; break;
      case ':': out += property ? "%3A" : ":"; break;
      case ',': out += property ? "%2C" : ","; break;
      default: out += c;
    }
  }
  return out;
}

// Stable over runs: GitLab recognises a finding by it.
std::string fingerprint(const DriftEntry& item) {
  const std::string text = item.device + "\n" + item.path.text();
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  std::string hex;
  for (unsigned i = 0; i < 16 && i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

std::string rule_id(const DriftEntry& item) { return "lockstep/" + std::string(to_string(item.state)); }

}  // namespace

std::string drift_markdown(const DriftReport& report, const std::string& cluster) {
  std::string out =
      fmt::format("### {}: {} of {} devices in sync\n\n", cluster, report.in_sync, report.devices);
  bool any = false;
  for (const DriftEntry& item : report.items) {
    if (!is_failure(item)) continue;
    if (!any)
      out +=
          "| device | leaf | want | have | state | disruption | wanted by |\n|---|---|---|---|---|---|---|\n";
    any = true;
    out +=
        fmt::format("| {} | `{}` | {} | {} | {} | {} | `{}:{}` {} |\n", escape_markdown(item.device),
                    escape_markdown(item.path.text()), escape_markdown(item.want.to_string()),
                    escape_markdown(item.have.to_string()), to_string(item.state), to_string(item.disruption),
                    escape_markdown(item.origin.file), item.origin.line, escape_markdown(item.origin.rule));
  }
  if (!any) out += "No drift.\n";
  for (const Unobserved& one : report.unobserved)
    out += fmt::format("\n- not observed: {} {} ({})", one.device, escape_markdown(one.path),
                       escape_markdown(one.why));
  return out + "\n";
}

std::string drift_sarif(const DriftReport& report) {
  Json results = Json::array();
  for (const DriftEntry& item : report.items) {
    if (!is_failure(item)) continue;
    Json result{{"ruleId", rule_id(item)},
                {"level", "error"},
                {"message", {{"text", drift_sentence(item)}}},
                {"partialFingerprints", {{"deviceAndLeaf/v1", fingerprint(item)}}}};
    if (!item.origin.file.empty()) {
      result["locations"] = Json::array(
          {{{"physicalLocation",
             {{"artifactLocation", {{"uri", item.origin.file}}},
              {"region", {{"startLine", item.origin.line}, {"startColumn", item.origin.column}}}}}}});
    }
    results.push_back(std::move(result));
  }
  for (const Unobserved& one : report.unobserved)
    results.push_back(
        {{"ruleId", "lockstep/unobserved"},
         {"level", "warning"},
         {"message", {{"text", fmt::format("{} {} was not observed: {}", one.device, one.path, one.why)}}}});
  const Json rules = Json::array(
      {{{"id", "lockstep/drifted"}, {"shortDescription", {{"text", "A device differs from its spec"}}}},
       {{"id", "lockstep/effect"},
        {"shortDescription", {{"text", "Configured as wanted, and the device does not do it"}}}},
       {{"id", "lockstep/unobserved"}, {"shortDescription", {{"text", "Could not be read"}}}}});
  return dump({{"version", "2.1.0"},
               {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
               {"runs", Json::array({{{"tool", {{"driver", {{"name", "lockstep"}, {"rules", rules}}}}},
                                      {"columnKind", "unicodeCodePoints"},
                                      {"results", results}}})}});
}

std::string drift_junit(const DriftReport& report, const std::string& cluster) {
  std::string cases;
  std::size_t failures = 0;
  for (const DriftEntry& item : report.items) {
    if (!is_failure(item)) continue;
    ++failures;
    cases += fmt::format(
        "    <testcase classname=\"{}\" name=\"{}\">\n      <failure message=\"{}\" "
        "type=\"{}\">{}:{}:{}</failure>\n"
        "    </testcase>\n",
        escape_xml(item.device), escape_xml(item.path.text()), escape_xml(drift_sentence(item)),
        to_string(item.state), escape_xml(item.origin.file), item.origin.line, item.origin.column);
  }
  for (const Unobserved& one : report.unobserved)
    cases += fmt::format(
        "    <testcase classname=\"{}\" name=\"{}\">\n      <error message=\"{}\"/>\n    </testcase>\n",
        escape_xml(one.device), escape_xml(one.path.empty() ? "device" : one.path), escape_xml(one.why));
  if (report.in_sync > 0)
    cases += fmt::format("    <testcase classname=\"{}\" name=\"{} devices in sync\"/>\n",
                         escape_xml(cluster), report.in_sync);
  const std::size_t tests = failures + report.unobserved.size() + (report.in_sync > 0 ? 1 : 0);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
      "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\">\n{}  "
      "</testsuite>\n</testsuites>\n",
      escape_xml(cluster), tests, failures, report.unobserved.size(), cases);
}

std::string drift_gitlab(const DriftReport& report) {
  Json findings = Json::array();
  for (const DriftEntry& item : report.items) {
    if (!is_failure(item)) continue;
    findings.push_back(
        {{"description", drift_sentence(item)},
         {"check_name", rule_id(item)},
         {"fingerprint", fingerprint(item)},
         {"severity", item.disruption == Disruption::none ? "major" : "critical"},
         {"location", {{"path", item.origin.file}, {"lines", {{"begin", std::max(1U, item.origin.line)}}}}}});
  }
  return dump(findings);
}

std::string drift_github(const DriftReport& report) {
  std::string out;
  for (const DriftEntry& item : report.items) {
    if (!is_failure(item)) continue;
    out += fmt::format("::error file={},line={},col={},title={}::{}\n", escape_github(item.origin.file, true),
                       item.origin.line, item.origin.column, escape_github(rule_id(item), true),
                       escape_github(drift_sentence(item), false));
  }
  for (const Unobserved& one : report.unobserved)
    out += fmt::format(
        "::warning title=lockstep/unobserved::{}\n",
        escape_github(fmt::format("{} {} was not observed: {}", one.device, one.path, one.why), false));
  return out;
}

}  // namespace lockstep
