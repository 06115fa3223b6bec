// Atoms: the changes of one device, split into the smallest pieces that must not be split further, with the
// order that references require. The first stage of make_plan.
//
// Promises: pure; every change of the input is in exactly one atom (or absorbed by a recreation that restores
// the desired value); `order` holds indices of this device's atoms.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "reconciler/engine/columns.hpp"
#include "reconciler/engine/plan.hpp"

namespace lockstep {

// Of a change that replaces something lossless: the new value is added first, then the old one is removed.
enum class Half : std::uint8_t { none, adds, removes };

struct AtomChange {
  Path path;
  Value was;
  Value want;
  OriginId origin = 0;
  bool transient = false;
  bool lossy = false;  // of a class that is not lossless before or after
  Half half = Half::none;
};

struct Atom {
  std::string driver;
  std::vector<AtomChange> changes;  // in order
  Disruption disruption = Disruption::none;
  Half half = Half::none;
  std::string remedy;  // not empty: Step::remedy
  // The wave of a remedy: by the policy; that of the first change near it; the last.
  enum class When : std::uint8_t { by_policy, with_changes, after_changes };
  When when = When::by_policy;
  std::vector<RowId> if_open;  // Step::if_open
  bool before_writes = false;  // Step::before_writes
  // In a step of its own: a driver continues after a change that failed, and this atom must not follow a
  // failed change.
  bool apart = false;
  ChangeSet examples;  // effects of these rows, to check against the device's own policy
  std::vector<std::string> notes;
  std::vector<std::string> refused;   // by the device's own policy: the reasons
  std::vector<std::string> undone;    // rolled back by a gate before: what was written and why
  std::vector<Path> quiet;            // Step::quiet; only atoms with it share a step
  std::vector<std::string> far_ends;  // far ends without which it must not be changed: the reasons
};

// The order of two atoms of a device, or of two changes.
struct LadderEdge {
  Ladder ladder = Ladder::none;
  std::uint32_t first = 0;
  std::uint32_t second = 0;
};

struct DeviceAtoms {
  std::vector<Atom> atoms;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> order;  // first before second
  std::vector<LadderEdge> rungs;                               // dropped where they would make a cycle
  std::vector<std::pair<Path, Value>> read;  // other entries of the device that this depends on
};

DeviceAtoms make_atoms(const DeviceInput& device, const Columns& columns);

}  // namespace lockstep
