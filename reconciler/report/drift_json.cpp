#include <nlohmann/json.hpp>

#include "reconciler/report/drift_report.hpp"
#include "specs/model/value_json.hpp"

namespace lockstep {

using Json = nlohmann::json;

Json drift_item_json(const DriftEntry& entry) {
  Json item{{"device", entry.device},          {"path", entry.path.text()},
            {"want", to_json(entry.want)},     {"have", to_json(entry.have)},
            {"state", to_string(entry.state)}, {"disruption", to_string(entry.disruption)}};
  if (!entry.origin.file.empty() || !entry.origin.object.empty())
    item["origin"] = {{"file", entry.origin.file},
                      {"line", entry.origin.line},
                      {"column", entry.origin.column},
                      {"object", entry.origin.object},
                      {"rule", entry.origin.rule}};
  if (!entry.reason.empty()) item["reason"] = entry.reason;
  if (entry.by_hand) item["byHand"] = true;
  if (entry.flapping) item["flapping"] = true;
  if (!entry.maintenance.empty()) item["maintenance"] = entry.maintenance;
  return item;
}

Json unmended_json(const DriftReport& report) {
  Json out{{"leftToAPerson", Json::array()}, {"findings", Json::array()}, {"allowed", Json::array()}};
  for (const DriftEntry& item : report.items)
    out[item.state == DriftState::finding   ? "findings"
        : item.state == DriftState::allowed ? "allowed"
                                            : "leftToAPerson"]
        .push_back(drift_item_json(item));
  return out;
}

Json drift_json(const DriftReport& report) {
  Json items = Json::array();
  for (const DriftEntry& entry : report.items) items.push_back(drift_item_json(entry));
  Json unobserved = Json::array();
  for (const Unobserved& one : report.unobserved) {
    Json item{{"device", one.device}, {"why", one.why}};
    if (!one.path.empty()) item["path"] = one.path;
    if (!one.maintenance.empty()) item["maintenance"] = one.maintenance;
    unobserved.push_back(std::move(item));
  }
  return {{"apiVersion", "lockstep.dev/v1alpha1"},
          {"kind", "DriftReport"},
          {"summary",
           {{"devices", report.devices},
            {"observed", report.observed},
            {"inSync", report.in_sync},
            {"drifted", report.drifted},
            {"waiting", report.waiting},
            {"inMaintenance", report.in_maintenance},
            {"items", report.items.size()}}},
          {"items", std::move(items)},
          {"unobserved", std::move(unobserved)}};
}

}  // namespace lockstep
