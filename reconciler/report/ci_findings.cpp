#include "reconciler/report/ci_findings.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "reconciler/report/escape.hpp"
#include "specs/model/printable.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;
using Level = CiFinding::Level;

std::string fingerprint(const std::string& identity) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(identity.data(), identity.size(), digest.data(), &size, EVP_sha256(), nullptr);
  std::string hex;
  for (unsigned i = 0; i < 16 && i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

// The location in SARIF; null without a file.
Json sarif_places(const PlanOrigin& at) {
  if (at.file.empty()) return nullptr;
  return Json::array({{{"physicalLocation",
                        {{"artifactLocation", {{"uri", uri_of_path(at.file)}}},
                         {"region", {{"startLine", at.line}, {"startColumn", at.column}}}}}}});
}

// The location properties, each followed by a comma.
std::string github_place(const PlanOrigin& at) {
  if (at.file.empty()) return "";
  return fmt::format("file={},line={},col={},", workflow_property(at.file), at.line, at.column);
}

// As GitLab documents them for code quality reports.
std::string_view gitlab_severity(Level level) {
  switch (level) {
    case Level::critical: return "critical";
    case Level::error: return "major";
    case Level::warning: break;
  }
  return "minor";
}

}  // namespace

Json sarif_results(const std::vector<CiFinding>& findings) {
  Json results = Json::array();
  for (const CiFinding& one : findings) {
    const std::string print = fingerprint(one.identity);
    // GitHub recognises a result by primaryLocationLineHash alone. Where that is missing it hashes the line,
    // which is the same for all devices that get a value from it: they would be one alert.
    Json result{
        {"ruleId", one.rule},
        {"level", one.level == Level::warning ? "warning" : "error"},
        {"message", {{"text", sarif_message(one.text)}}},
        {"partialFingerprints", {{"deviceAndEntry/v1", print}, {"primaryLocationLineHash", print + ":1"}}}};
    if (Json places = sarif_places(one.at); !places.is_null()) result["locations"] = std::move(places);
    results.push_back(std::move(result));
  }
  return results;
}

std::string gitlab_findings(const std::vector<CiFinding>& findings) {
  Json report = Json::array();
  for (const CiFinding& one : findings)
    report.push_back(
        {{"description", printable(one.text)},
         {"check_name", one.rule},
         {"fingerprint", fingerprint(one.identity)},
         {"severity", gitlab_severity(one.level)},
         {"location", {{"path", one.at.file}, {"lines", {{"begin", std::max(1U, one.at.line)}}}}}});
  return json_text(report, 2);
}

std::string github_findings(const std::vector<CiFinding>& findings) {
  std::string out;
  for (const CiFinding& one : findings)
    out += fmt::format("::{} {}title={}::{}\n", one.level == Level::warning ? "warning" : "error",
                       github_place(one.at), workflow_property(one.rule), workflow_data(one.text));
  return out;
}

}  // namespace lockstep
