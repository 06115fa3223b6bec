// Findings: what a service's watch has found wrong, as objects: a fault each, with the differences that it
// explains (engine/causes.hpp) as evidence.
//
// Promises: the same problem has the same name in each report, whatever else is found; no two have one name.
// Those that explain most come first, and at most kFindingsShown are shown. Costs are none of the service's.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reconciler/api/objects.hpp"
#include "reconciler/report/problems.hpp"

namespace lockstep::api {

inline constexpr std::size_t kFindingsShown = 1000;
inline constexpr std::size_t kEvidenceShown = 50;  // of one

struct NamedFinding {
  std::string name;  // "cabling-3fa2b1c4"
  ProblemLine problem;
};
std::vector<NamedFinding> findings_in(const DriftReport& report);
// `since`: when it was first found, in this run of the service.
nlohmann::json finding_object(const DriftReport& report, const NamedFinding& finding, WallTime since,
                              const ObjectMeta& meta);

}  // namespace lockstep::api
