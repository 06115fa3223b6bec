#include "reconciler/report/report_places.hpp"

#include <filesystem>

#include "reconciler/engine/digest.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

PlanOrigin place_of_device(DeviceIndex index, const OpenedCluster& cluster) {
  const Metadata& set = cluster.catalog.device_sets[cluster.compiled.topology.devices[index].set].metadata;
  return plan_origin(Origin{.at = set.name.at, .object = "DeviceSet/" + set.name.value, .rule = ""},
                     &cluster.catalog.sources);
}

PlanOrigin place_of(const Unobserved& one, const OpenedCluster& cluster) {
  const DeviceIndex index = cluster.compiled.topology.find_device(one.device);
  if (index == kNone) return {};
  const Result<Path> path = Path::parse(one.path);
  if (const Entry* const entry = path ? cluster.compiled.intents[index].want.find(*path) : nullptr)
    return plan_origin(cluster.compiled.origins[entry->origin], &cluster.catalog.sources);
  return place_of_device(index, cluster);
}

}  // namespace

void place_in_specs(DriftReport& report, const OpenedCluster& cluster) {
  for (Unobserved& one : report.unobserved) one.origin = place_of(one, cluster);
  for (DriftEntry& item : report.items) {
    const DeviceIndex index = cluster.compiled.topology.find_device(item.device);
    if (!item.is_difference() || !item.origin.file.empty() || index == kNone) continue;
    const PlanOrigin device = place_of_device(index, cluster);
    item.origin.file = device.file;
    item.origin.line = device.line;
    item.origin.column = device.column;
  }
}

std::string in_repository(const std::string& file) {
  std::error_code ignored;  // a file that can't be found keeps the given name
  const fs::path whole = fs::weakly_canonical(fs::absolute(file, ignored), ignored);
  if (!fs::exists(whole, ignored)) return fs::path(file).lexically_normal().string();
  fs::path top = fs::is_directory(whole, ignored) ? whole : whole.parent_path();
  for (; top != top.parent_path(); top = top.parent_path())
    if (fs::exists(top / ".git", ignored)) return whole.lexically_relative(top).string();
  return fs::path(file).lexically_normal().string();
}

void place_in_repository(DriftReport& report) {
  for (DriftEntry& item : report.items)
    if (!item.origin.file.empty()) item.origin.file = in_repository(item.origin.file);
  for (Unobserved& one : report.unobserved)
    if (!one.origin.file.empty()) one.origin.file = in_repository(one.origin.file);
}

}  // namespace lockstep
