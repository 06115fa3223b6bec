// The deletion guard: a change that deletes more than a set share of devices or objects needs confirmation,
// so that a partial checkout does not dismantle a cluster.
//
// Promises: pure: takes the last accepted census and the current one, returns a verdict. Without an accepted
// census nothing can be missing. A single deletion is never refused for its share: one of three devices is 33
// %, and deleting one is deliberate.
#pragma once

#include <string>
#include <vector>

#include "specs/compile/compile.hpp"

namespace lockstep {

// The names of all devices and objects: stored with each accepted generation, compared with the next.
struct Census {
  std::vector<std::string> devices;
  std::vector<std::string> objects;  // "Fabric/backend"
  bool operator==(const Census&) const = default;
};
Census census_of(const Catalog& catalog, const Topology& topology);

// Used where no RolloutPolicy sets `maxDelete`: a tenth, the share that a wave of the default policy may
// touch.
inline constexpr Ratio kMaxDeleteDefault{100'000};
// The smallest maxDelete of all policies, else the default.
Ratio max_delete_of(const Catalog& catalog);

struct DeletionVerdict {
  std::vector<std::string> devices;  // missing ones
  std::vector<std::string> objects;
  bool refused = false;
  std::string reason;  // one sentence; empty when not refused
};
DeletionVerdict judge_deletion(const Census& before, const Census& now, Ratio max_delete);

}  // namespace lockstep
