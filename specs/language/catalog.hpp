// Catalog: all objects of one cluster as loaded, with their source text.
//
// Promises: objects of a kind are in the order of their file names, then of their position in the file, so
// that nothing downstream depends on the order of a directory listing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "specs/language/kinds.hpp"
#include "specs/model/diagnostic.hpp"

namespace lockstep {

struct Catalog {
  Sources sources;
  // Indices into `sources`: platforms beside the specs (read by specs/platforms/platform.hpp).
  std::vector<std::uint32_t> platform_files;
  std::string directory;  // the folder that was loaded, else that of the first file; "." for standard input
  std::vector<DeviceSet> device_sets;
  std::vector<Fabric> fabrics;
  std::vector<RoceProfile> roce_profiles;
  std::vector<HostProfile> host_profiles;
  std::vector<ValidationSuite> validation_suites;
  std::vector<RolloutPolicy> rollout_policies;
  std::vector<GitSource> git_sources;
  std::vector<Cluster> clusters;
  std::vector<DeviceObject> devices;
  std::vector<ChangeObject> changes;
  std::vector<BenchmarkRun> benchmark_runs;
  std::vector<Finding> findings;
};

// The object of that name, or null.
template <class Kind>
const Kind* find(const std::vector<Kind>& objects, std::string_view name) {
  for (const Kind& one : objects)
    if (one.metadata.name.value == name) return &one;
  return nullptr;
}

}  // namespace lockstep
