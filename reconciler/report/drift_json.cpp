#include <map>
#include <nlohmann/json.hpp>

#include "reconciler/report/drift_report.hpp"
#include "reconciler/report/problems.hpp"
#include "reconciler/report/unsupported.hpp"
#include "specs/model/value_json.hpp"

namespace lockstep {

using Json = nlohmann::json;

Json drift_item_json(const DriftEntry& entry) {
  Json item{{"device", entry.device},          {"path", entry.path.text()},
            {"want", to_json(entry.want)},     {"have", to_json(entry.have)},
            {"state", to_string(entry.state)}, {"disruption", to_string(entry.disruption)}};
  if (!entry.origin.file.empty() || !entry.origin.object.empty()) item["origin"] = to_json(entry.origin);
  if (!entry.reason.empty()) item["reason"] = entry.reason;
  if (entry.by_hand) item["manual"] = true;
  if (entry.flapping) item["flapping"] = true;
  if (!entry.maintenance.empty()) item["maintenance"] = entry.maintenance;
  return item;
}

Json unmended_json(const DriftReport& report) {
  Json out{{"manualActions", Json::array()}, {"findings", Json::array()}, {"allowed", Json::array()}};
  for (const DriftEntry& item : report.items)
    out[item.state == DriftState::finding   ? "findings"
        : item.state == DriftState::allowed ? "allowed"
                                            : "manualActions"]
        .push_back(drift_item_json(item));
  return out;
}

Json drift_json(const DriftReport& report, Detail detail) {
  const std::vector<ProblemLine> problems = problem_lines(report);
  std::map<std::size_t, std::size_t> problem_of;
  for (std::size_t i = 0; i < problems.size(); ++i)
    for (const std::size_t item : problems[i].items) problem_of.emplace(item, i);
  Json items = Json::array();
  for (std::size_t i = 0; i < report.items.size(); ++i) {
    const DriftEntry& entry = report.items[i];
    if (detail == Detail::folded && entry.state == DriftState::not_applied && !entry.by_hand) continue;
    items.push_back(drift_item_json(entry));
    if (const auto problem = problem_of.find(i); problem != problem_of.end())
      items.back()["problem"] = problem->second;
  }
  Json unobserved = Json::array();
  for (const Unobserved& one : report.unobserved) {
    Json item{{"device", one.device}, {"why", one.why}};
    if (!one.path.empty()) item["path"] = one.path;
    if (!one.maintenance.empty()) item["maintenance"] = one.maintenance;
    unobserved.push_back(std::move(item));
  }
  return {{"kind", "DriftReport"},
          {"summary",
           {{"devices", report.devices},
            {"observed", report.observed},
            {"inSync", report.in_sync},
            {"drifted", report.drifted},
            {"waiting", report.waiting},
            {"inMaintenance", report.in_maintenance},
            {"items", report.differences()}}},
          {"problems", problems_json(problems)},
          {"items", std::move(items)},
          {"notApplied", Unsupported(report).json()},
          {"unobserved", std::move(unobserved)}};
}

}  // namespace lockstep
