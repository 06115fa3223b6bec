// Ladders: the order of transitions, from the schema's rungs. What is added or grows climbs a ladder (lower
// rungs first), what is removed or shrinks descends it; where what is sent takes another value
// (Moves::turning) on the lossless ladder, all that climbs comes before it, and all that descends after it;
// and so where one thing takes another's place in two writes (replacements.hpp).
//
// Promises: pure. At a port the order is between changes of one device; across devices it is one barrier
// between neighbouring stages that have changes. Of classes only lossless ones, before or after, are on the
// lossless ladder.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reconciler/engine/atoms.hpp"

namespace lockstep {

enum class Way : std::uint8_t { none, climbs, turns, descends };
// An integer by its size, a list by what it adds (one that adds and takes away climbs), anything else climbs
// unless it is removed.
Way way_of(const AtomChange& change, const Rung& rung);

// "the MTU"
std::string_view name_of(Ladder ladder);

// What the ladders ask for at the ports of one device: changes, by index.
struct PortOrder {
  std::vector<LadderEdge> edges;  // of thresholds between those of one priority
  // They take a lossless priority or class away at a port that gets another in the same write.
  std::vector<std::uint32_t> replacements;
};
// Marks AtomChange::lossy, as far as what was read tells. `seen`: of the device, null: nothing is known of
// it.
PortOrder order_at_ports(const Observation* seen, std::vector<AtomChange>& changes, const Columns& columns);
// Where an atom stands among the devices on one ladder.
struct Stage {
  Ladder ladder = Ladder::none;
  Way way = Way::none;
  std::uint8_t stage = 0;
  bool crosses = false;  // the ends of its cable have stages of their own
  bool of_half = false;  // of a replacement (replacements.hpp)
};
enum class PortSide : std::uint8_t { to_switch, to_host, host };
std::vector<Stage> stages_of(const Atom& atom, PortSide side, const Columns& columns);

// All atoms of `before` come before all of `after`: nodes.
struct LadderBarrier {
  std::vector<std::uint32_t> before;
  std::vector<std::uint32_t> after;
};
struct StagedNode {
  std::uint32_t node = 0;
  bool is_host = false;
  Stage at;
};
struct LadderOrder {
  Ladder ladder = Ladder::none;
  std::vector<LadderBarrier> barriers;
  std::vector<std::uint32_t> across;  // nodes that have hosts and switches change in order
};
// One a ladder, in the order in which they matter.
std::vector<LadderOrder> order_of_stages(const std::vector<StagedNode>& nodes);

}  // namespace lockstep
