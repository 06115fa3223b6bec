// Catalog: all objects of one cluster as they were loaded, with the text that they were loaded from.
//
// Promises: objects of a kind are in the order of their files' names and then of their place in the file, so
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
  // Of `sources`: platforms beside the specs (specs/platforms/platform.hpp reads them).
  std::vector<std::uint32_t> platform_files;
  std::string
      directory;  // the folder that was loaded; that of the first file otherwise; "." for standard input
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
