#include "specs/compile/deletion_guard.hpp"

#include <algorithm>
#include <iterator>

#include "specs/language/hostlist.hpp"

namespace lockstep {
namespace {

template <class Kind>
void add_names(std::string_view kind, const std::vector<Kind>& objects, std::vector<std::string>& out) {
  for (const Kind& one : objects) out.push_back(std::string(kind) + "/" + *one.metadata.name);
}

std::vector<std::string> missing(const std::vector<std::string>& before,
                                 const std::vector<std::string>& now) {
  std::vector<std::string> out;
  std::set_difference(before.begin(), before.end(), now.begin(), now.end(), std::back_inserter(out));
  return out;
}

bool too_many(std::size_t gone, std::size_t before, Ratio max_delete) {
  return gone > 1 && static_cast<double>(gone) > max_delete.fraction() * static_cast<double>(before);
}

}  // namespace

Census census_of(const Catalog& catalog, const Topology& topology) {
  Census out;
  for (const TopologyDevice& device : topology.devices) out.devices.push_back(device.name);
  add_names("DeviceSet", catalog.device_sets, out.objects);
  add_names("Fabric", catalog.fabrics, out.objects);
  add_names("RoceProfile", catalog.roce_profiles, out.objects);
  add_names("HostProfile", catalog.host_profiles, out.objects);
  add_names("ValidationSuite", catalog.validation_suites, out.objects);
  add_names("RolloutPolicy", catalog.rollout_policies, out.objects);
  add_names("Cluster", catalog.clusters, out.objects);
  std::sort(out.devices.begin(), out.devices.end());
  std::sort(out.objects.begin(), out.objects.end());
  return out;
}

Ratio max_delete_of(const Catalog& catalog) {
  bool said = false;
  Ratio out = kMaxDeleteDefault;
  for (const RolloutPolicy& policy : catalog.rollout_policies) {
    if (!policy.max_delete.said) continue;
    out = said ? std::min(out, *policy.max_delete) : *policy.max_delete;
    said = true;
  }
  return out;
}

DeletionVerdict judge_deletion(const Census& before, const Census& now, Ratio max_delete) {
  DeletionVerdict out;
  out.devices = missing(before.devices, now.devices);
  out.objects = missing(before.objects, now.objects);
  const auto say = [&](std::string_view what, const std::vector<std::string>& gone, std::size_t total,
                       const std::string& names) {
    if (!too_many(gone.size(), total, max_delete)) return;
    out.refused = true;
    out.reason += (out.reason.empty() ? "" : "; ") + std::to_string(gone.size()) + " of " +
                  std::to_string(total) + " " + std::string(what) + " are gone from the specs (" + names +
                  "), more than the " + format(max_delete) + " that one change may delete";
  };
  say("devices", out.devices, before.devices.size(), fold_hostlist(out.devices));
  std::string objects;
  for (const std::string& one : out.objects) objects += (objects.empty() ? "" : ", ") + one;
  say("objects", out.objects, before.objects.size(), objects);
  return out;
}

}  // namespace lockstep
