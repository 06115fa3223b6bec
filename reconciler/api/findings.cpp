#include "reconciler/api/findings.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "reconciler/api/api_object.hpp"
#include "reconciler/engine/digest.hpp"
#include "reconciler/report/drift_report.hpp"
#include "reconciler/store/utc_text.hpp"

namespace lockstep::api {
namespace {

using Json = nlohmann::json;
constexpr std::size_t kDigestShown = 8;  // of 16^8: a report has a thousand

// As lines are told apart: by kind, text and origin, and not by the devices that have it at the moment.
std::string name_of(const ProblemLine& problem) {
  Digest digest;
  digest.add(problem.what);
  digest.add(problem.origin);
  const std::string hash = digest.finish();
  return std::string(to_string(problem.kind)) + "-" + hash.substr(hash.find(':') + 1, kDigestShown);
}

bool has_known_cause(Problem::Kind kind) {
  return kind != Problem::Kind::symptom && kind != Problem::Kind::unread;
}

}  // namespace

std::vector<NamedFinding> findings_in(const DriftReport& report) {
  std::vector<NamedFinding> out;
  std::map<std::string, std::size_t> times;
  for (ProblemLine& line : problem_lines(report)) {
    if (out.size() == kFindingsShown) break;
    std::string name = name_of(line);
    if (const std::size_t before = times[name]++; before > 0) name += "-" + std::to_string(before + 1);
    out.push_back({std::move(name), std::move(line)});
  }
  return out;
}

nlohmann::json finding_object(const DriftReport& report, const NamedFinding& finding, WallTime since,
                              const ObjectMeta& meta) {
  const ProblemLine& problem = finding.problem;
  Json out = object_of(Kind::finding, finding.name, meta);
  Json& now = out["status"];
  now["kind"] = to_string(problem.kind);
  now["fault"] = problem.what;
  now["devices"] = problem.devices;
  now["evidence"] = Json::array();
  for (const std::size_t item : problem.items)
    if (now["evidence"].size() < kEvidenceShown)
      now["evidence"].push_back(drift_sentence(report.items[item]));
  now["evidenceInAll"] = problem.items.size();
  if (has_known_cause(problem.kind)) now["probableCause"] = problem.what;
  if (!problem.origin.empty()) now["origin"] = problem.origin;
  now["action"] = problem.is_written ? "a change or a heal corrects it"
                                     : "correct it by hand: nothing that is written would";
  now["explains"] = problem.explains + problem.unread;
  now["since"] = utc_text(since);
  now["observedGeneration"] = meta.generation;
  return out;
}

}  // namespace lockstep::api
