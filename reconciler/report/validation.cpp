#include "reconciler/report/validation.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "reconciler/report/report_places.hpp"
#include "reconciler/report/table.hpp"
#include "specs/language/codes.hpp"

namespace lockstep {
namespace {

std::size_t entries_of(const OpenedCluster& cluster) {
  std::size_t entries = 0;
  for (const Intent& intent : cluster.compiled.intents) entries += intent.want.size();
  return entries;
}

std::size_t notes_of(const OpenedCluster& cluster) {
  return static_cast<std::size_t>(
      std::ranges::count_if(cluster.diagnostics, [](const Diagnostic& one) { return is_note(one.code); }));
}

}  // namespace

std::string validation_text(const OpenedCluster& cluster) {
  const Topology& topology = cluster.compiled.topology;
  const std::size_t notes = notes_of(cluster);
  std::string warnings;
  if (cluster.diagnostics.size() > notes)
    warnings = ", " + counted(cluster.diagnostics.size() - notes, "warning");
  if (notes > 0) warnings += ", " + counted(notes, "note");
  if (Result<Done> any = has_devices(cluster); !any)
    return compose("{}: valid{}; {}\n", cluster.name, warnings, any.error().text());
  return compose("{}: {}, {}, {}; valid; all proofs hold{}\n", cluster.name,
                 counted(topology.devices.size(), "device"), counted(topology.links.size(), "link"),
                 counted(entries_of(cluster), "desired entry", "desired entries"), warnings);
}

nlohmann::json validation_json(const OpenedCluster& cluster) {
  const Topology& topology = cluster.compiled.topology;
  return {{"kind", "Validation"},
          {"cluster", cluster.name},
          {"devices", topology.devices.size()},
          {"links", topology.links.size()},
          {"entries", entries_of(cluster)},
          {"warnings", cluster.diagnostics.size() - notes_of(cluster)},
          {"notes", notes_of(cluster)}};
}

std::vector<CiFinding> validation_findings(const Diagnostics& diagnostics, const Sources& sources,
                                           bool strict) {
  std::vector<CiFinding> out;
  std::map<std::string, std::size_t> before;  // how often the same was found in a file
  for (const Diagnostic& one : diagnostics) {
    if (is_note(one.code)) continue;
    const std::string& name = sources.files[one.at.file].name;
    CiFinding finding{one.code, CiFinding::Level::warning, one.message, "", {}};
    if (strict || one.severity == Severity::error) finding.level = CiFinding::Level::critical;
    if (!one.hint.empty()) finding.text += " (" + one.hint + ")";
    if (!name.empty()) finding.at = {in_repository(name), one.at.line, one.at.column, "", ""};
    // Without the line, which moves with each edit above it.
    finding.identity = one.code + "\n" + finding.at.file + "\n" + one.message;
    const std::size_t number = before[finding.identity]++;
    finding.identity += "\n" + std::to_string(number);
    out.push_back(std::move(finding));
  }
  return out;
}

CiFinding stale_lock_finding(const std::string& folder, const std::string& why) {
  const std::string file =
      (std::filesystem::path(in_repository(folder)) / kAllocationLockFile).lexically_normal().string();
  return {"lockstep/stale-lock", CiFinding::Level::critical, why, file, {file, 1, 1, "", ""}};
}

}  // namespace lockstep
