// Findings: what a service's watch has found wrong, as objects: a fault each, with the differences that it
// explains (engine/causes.hpp) as evidence.
//
// Promises: no two have one name, and a problem keeps its name while its ports, devices and numbers vary.
// (Several that are alike but for those are numbered in their order.) Those that explain most come first, and
// at most kFindingsShown are shown.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reconciler/api/objects.hpp"
#include "reconciler/report/problems.hpp"

namespace lockstep::api {

inline constexpr std::size_t kFindingsShown = 1000;
inline constexpr std::size_t kEvidenceShown = 50;   // of one
inline constexpr std::size_t kDevicesShown = 1000;  // the same

struct NamedFinding {
  std::string name;  // "cabling-3fa2b1c4"
  ProblemLine problem;
};
std::vector<NamedFinding> findings_in(const DriftReport& report);
// `since`: when it was first found, in this run of the service.
nlohmann::json finding_object(const DriftReport& report, const NamedFinding& finding, WallTime since,
                              const ObjectMeta& meta);

}  // namespace lockstep::api
