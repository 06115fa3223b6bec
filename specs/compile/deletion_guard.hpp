// The deletion guard: a change that takes away more than a stated share of devices or objects is refused
// without confirmation, so that a partial checkout does not dismantle a cluster.
//
// Promises: pure: what was accepted last and what is there now go in, a verdict comes out. Nothing was
// accepted before: nothing can be missing. A single deletion is never refused by share alone: one of three
// devices is 33 %, and a person who deletes one means it.
#pragma once

#include <string>
#include <vector>

#include "specs/compile/compile.hpp"

namespace lockstep {

// What there is, by name, sorted: stored with each accepted generation, compared with the next.
struct Census {
  std::vector<std::string> devices;
  std::vector<std::string> objects;  // "Fabric/backend"
  bool operator==(const Census&) const = default;
};
Census census_of(const Catalog& catalog, const Topology& topology);

// Where no RolloutPolicy says `maxDelete`: a tenth, the share that a wave of the default policy may touch.
inline constexpr Ratio kMaxDeleteDefault{100'000};
// The smallest maxDelete that a policy says, else the default.
Ratio max_delete_of(const Catalog& catalog);

struct DeletionVerdict {
  std::vector<std::string> devices;  // that are gone
  std::vector<std::string> objects;
  bool refused = false;
  std::string reason;  // one sentence; empty when not refused
};
DeletionVerdict judge_deletion(const Census& before, const Census& now, Ratio max_delete);

}  // namespace lockstep
