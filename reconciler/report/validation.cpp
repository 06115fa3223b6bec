#include "reconciler/report/validation.hpp"

#include <nlohmann/json.hpp>

#include "reconciler/report/table.hpp"

namespace lockstep {
namespace {

std::size_t entries_of(const OpenedCluster& cluster) {
  std::size_t entries = 0;
  for (const Intent& intent : cluster.compiled.intents) entries += intent.want.size();
  return entries;
}

}  // namespace

std::string validation_text(const OpenedCluster& cluster) {
  const Topology& topology = cluster.compiled.topology;
  const std::string warnings =
      cluster.diagnostics.empty() ? "" : ", " + counted(cluster.diagnostics.size(), "warning");
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
          {"warnings", cluster.diagnostics.size()}};
}

}  // namespace lockstep
