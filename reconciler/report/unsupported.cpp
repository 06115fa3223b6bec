#include "reconciler/report/unsupported.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reconciler/report/table.hpp"
#include "specs/language/hostlist.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {

Unsupported::Unsupported(const DriftReport& report) {
  for (const DriftEntry& entry : report.items) {
    if (entry.state != DriftState::not_applied || entry.by_hand) continue;
    Reason& of = reasons_[entry.reason];
    of.rows.insert(schema_row(entry.path.row()).pattern);
    of.devices.insert(entry.device);
    ++of.entries;
  }
}

std::vector<std::string> Unsupported::Reason::device_names() const {
  std::vector<std::string> out(devices.begin(), devices.end());
  sort_names(out);
  return out;
}

std::string Unsupported::text(const Terminal& terminal) const {
  if (reasons_.empty()) return "";
  std::string out = terminal.paint(Ink::bold, "not supported on these devices") + "\n";
  for (const auto& [why, reason] : reasons_) {
    out += compose("  {} ({})  {}\n", terminal.paint(Ink::yellow, why),
                   counted(reason.entries, "entry", "entries"),
                   terminal.paint(Ink::cyan, fold_hostlist(reason.device_names())));
    out += terminal.paint(Ink::dim, fmt::format("    {}", fmt::join(reason.rows, ", "))) + "\n";
  }
  return out;
}

nlohmann::json Unsupported::json() const {
  nlohmann::json out = nlohmann::json::array();
  for (const auto& [why, reason] : reasons_)
    out.push_back({{"reason", why},
                   {"settings", reason.rows},
                   {"entries", reason.entries},
                   {"devices", reason.device_names()}});
  return out;
}

}  // namespace lockstep
