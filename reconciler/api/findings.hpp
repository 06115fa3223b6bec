// Findings: what a service's watch has found wrong, as objects: a fault each, with the differences that it
// explains (engine/causes.hpp) as evidence.
//
// Promises: no two have one name, and a problem keeps its name while its ports, devices and numbers vary.
// (Several that are alike but for those are numbered in their order.) Those that explain most come first, and
// at most kFindingsShown are shown. What one costs is the hourly price of all GPUs of the hosts that it is
// about or that it explains differences of: left out where the specs know of no price or no GPU there. It is
// no estimate of what jobs lose: one that spans more hosts may lose more, and one that avoids them nothing.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "reconciler/api/objects.hpp"
#include "reconciler/report/problems.hpp"
#include "reconciler/session/spec_objects.hpp"

namespace lockstep::api {

inline constexpr std::size_t kFindingsShown = 1000;
inline constexpr std::size_t kEvidenceShown = 50;   // of one
inline constexpr std::size_t kDevicesShown = 1000;  // the same

struct NamedFinding {
  std::string name;  // "cabling-3fa2b1c4"
  ProblemLine problem;
};
std::vector<NamedFinding> findings_in(const DriftReport& report);

// What GPUs cost an hour, of each host; refers to the objects.
struct GpuPrices {
  std::unordered_map<std::string_view, std::uint32_t> gpus;  // by host
  SpecObjects::Cost each;
};
// Empty: the specs say nothing of it, or there are none.
GpuPrices gpu_prices(const SpecObjects* objects);

// `since`: when it was first found, in this run of the service.
nlohmann::json finding_object(const DriftReport& report, const NamedFinding& finding, WallTime since,
                              const GpuPrices& prices, const ObjectMeta& meta);

}  // namespace lockstep::api
