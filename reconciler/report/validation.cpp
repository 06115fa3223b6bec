#include "reconciler/report/validation.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reconciler/report/table.hpp"

namespace lockstep {
namespace {

std::size_t leaves_of(const OpenedCluster& cluster) {
  std::size_t leaves = 0;
  for (const Intent& intent : cluster.compiled.intents) leaves += intent.want.size();
  return leaves;
}

}  // namespace

std::string validation_text(const OpenedCluster& cluster) {
  const Topology& topology = cluster.compiled.topology;
  const std::string warnings =
      cluster.diagnostics.empty() ? "" : ", " + counted(cluster.diagnostics.size(), "warning");
  if (Result<Done> any = has_devices(cluster); !any)
    return fmt::format("{}: valid{}; {}\n", cluster.name, warnings, any.error().text());
  return fmt::format("{}: {}, {}, {} wanted; valid and proved{}\n", cluster.name,
                     counted(topology.devices.size(), "device"), counted(topology.links.size(), "link"),
                     counted(leaves_of(cluster), "leaf", "leaves"), warnings);
}

nlohmann::json validation_json(const OpenedCluster& cluster) {
  const Topology& topology = cluster.compiled.topology;
  return {{"apiVersion", "lockstep.dev/v1alpha1"},
          {"kind", "Validation"},
          {"cluster", cluster.name},
          {"devices", topology.devices.size()},
          {"links", topology.links.size()},
          {"leaves", leaves_of(cluster)},
          {"warnings", cluster.diagnostics.size()}};
}

}  // namespace lockstep
