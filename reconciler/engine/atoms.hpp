// Atoms: the changes of one device, cut into the smallest pieces that must not be split, with the order that
// references ask for. The first stage of make_plan.
//
// Promises: pure; every change of the input is in exactly one atom (or absorbed by a recreation that brings
// the wanted value back); `before` holds indices of this device's atoms.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "reconciler/engine/columns.hpp"
#include "reconciler/engine/plan.hpp"

namespace lockstep {

// Of what takes the place of something lossless: first what comes is added, then what was there goes.
enum class Half : std::uint8_t { none, adds, removes };

struct AtomChange {
  Path path;
  Value was;
  Value want;
  OriginId origin = 0;
  bool transient = false;
  bool lossy = false;  // of a class that is not lossless, before or after
  Half half = Half::none;
};

struct Atom {
  std::string driver;
  std::vector<AtomChange> changes;  // in order
  Disruption disruption = Disruption::none;
  Half half = Half::none;
  std::string remedy;  // not empty: Step::remedy
  // Of a remedy, the wave: as the policy says; that of the first change near it; the last.
  enum class When : std::uint8_t { by_policy, with_changes, after_changes };
  When when = When::by_policy;
  std::vector<RowId> if_open;  // as Step's
  bool before_writes = false;  // as Step's
  // In a step without others: a driver goes on after a change that failed, and this must not follow that.
  bool apart = false;
  ChangeSet examples;  // of effects of these rows: for the device's own policy
  std::vector<std::string> notes;
  std::vector<std::string> refused;   // by the device's own policy, with the reasons
  std::vector<std::string> undone;    // by a gate, before, with what it was
  std::vector<Path> quiet;            // as Step's; it goes in a step of such
  std::vector<std::string> far_ends;  // that it must not be changed without, with the reasons
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
  std::vector<LadderEdge> rungs;                               // yield where they make a cycle
  std::vector<std::pair<Path, Value>> read;                    // what else of the device decided this
};

DeviceAtoms make_atoms(const DeviceInput& device, const Columns& columns);

}  // namespace lockstep
