#include "reconciler/report/validation.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

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

}  // namespace lockstep
