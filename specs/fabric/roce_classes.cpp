#include "specs/fabric/roce_classes.hpp"

#include <algorithm>

namespace lockstep {
namespace {

constexpr std::string_view kCnpName = "cnp";

bool says(const TrafficClass& one, Carried what) {
  return std::any_of(one.carries.begin(), one.carries.end(),
                     [what](const Said<Carried>& said) { return *said == what; });
}

}  // namespace

const TrafficClass* class_for(const RoceProfile& profile, Carried what) {
  const auto first = [&](auto holds) -> const TrafficClass* {
    const auto at = std::find_if(profile.classes.begin(), profile.classes.end(), holds);
    return at == profile.classes.end() ? nullptr : &*at;
  };
  if (const TrafficClass* const said = first([what](const auto& one) { return says(one, what); }))
    return said;
  if (what == Carried::control) return nullptr;
  if (what == Carried::cnp) return first([](const auto& one) { return *one.name == kCnpName; });
  const TrafficClass* const lossless =
      first([](const auto& one) { return *one.lossless && !one.dscp.empty() && one.carries.empty(); });
  return lossless != nullptr ? lossless : first([](const auto& one) {
    return one.ecn.said && !one.dscp.empty() && one.carries.empty();
  });
}

bool is_for(const RoceProfile& profile, const TrafficClass& one, Carried what) {
  return class_for(profile, what) == &one;
}

bool is_for_rdma(const RoceProfile& profile, const TrafficClass& one) {
  return is_for(profile, one, Carried::compute) || is_for(profile, one, Carried::storage) ||
         is_for(profile, one, Carried::control);
}

const Said<Ecn>& ecn_on(const TrafficClass& one, DeviceRole role) {
  const bool is_spine = role == DeviceRole::spine || role == DeviceRole::superspine;
  return is_spine && one.ecn_on_spines.said ? one.ecn_on_spines : one.ecn;
}

Carried rdma_of(FabricRole role) { return role == FabricRole::storage ? Carried::storage : Carried::compute; }

}  // namespace lockstep
