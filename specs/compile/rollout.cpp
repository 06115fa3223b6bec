#include "specs/compile/rollout.hpp"

#include <map>
#include <utility>

#include "specs/fabric/codes.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {

std::vector<std::uint32_t> rollout_policies(const Catalog& catalog, const Topology& topology,
                                            Diagnostics& diagnostics) {
  const std::vector<RolloutPolicy>& all = catalog.rollout_policies;
  std::vector<std::uint32_t> chosen(topology.devices.size(), kNone);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::string>>
      equal;  // devices, by pair of policies
  for (DeviceIndex d = 0; d < topology.devices.size(); ++d) {
    const TopologyDevice& device = topology.devices[d];
    std::uint32_t rival = kNone;  // with the same priority as the chosen one
    for (std::uint32_t p = 0; p < all.size(); ++p) {
      if (!selects(*all[p].selector, catalog.device_sets[device.set], device.ordinal, device.name)) continue;
      if (chosen[d] == kNone || *all[p].priority > *all[chosen[d]].priority) {
        chosen[d] = p;
        rival = kNone;
      } else if (*all[p].priority == *all[chosen[d]].priority) {
        rival = p;
      }
    }
    if (rival != kNone) equal[{chosen[d], rival}].push_back(device.name);
  }
  for (const auto& [policies, devices] : equal) {
    const RolloutPolicy& first = all[policies.first];
    const RolloutPolicy& second = all[policies.second];
    diagnostics.push_back(Diagnostic{.code = std::string(fabric_code::two_policies),
                                     .at = second.selector.at,
                                     .message = "RolloutPolicy/" + *second.metadata.name +
                                                " and RolloutPolicy/" + *first.metadata.name +
                                                " both select " + fold_hostlist(devices),
                                     .hint = "narrow one selector, or give one of them a higher priority",
                                     .related = {{first.selector.at, "the other selects here"}}});
  }
  return chosen;
}

}  // namespace lockstep
