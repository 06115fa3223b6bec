// Ladders: the order of transitions, from the schema's rungs. What is added or grows climbs a ladder (lower
// rungs first), what is removed or shrinks descends it. On the lossless ladder, a changed value of what is
// sent (Moves::turning) comes after everything that climbs and before everything that descends; the same
// holds where one thing replaces another in two writes (replacements.hpp).
//
// Promises: pure. At a port the order is between changes of one device; across devices it is one barrier
// between neighbouring stages that have changes. Only classes that are lossless before or after are on the
// lossless ladder.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reconciler/engine/atoms.hpp"

namespace lockstep {

enum class Way : std::uint8_t { none, climbs, turns, descends };
// An integer moves by its size, a list by what it adds (one that adds and removes climbs); anything else
// climbs unless it is removed.
Way way_of(const AtomChange& change, const Rung& rung);

// "the MTU"
std::string_view name_of(Ladder ladder);

// The order that the ladders require at the ports of one device: changes, by index.
struct PortOrder {
  std::vector<LadderEdge> edges;  // also between thresholds of one priority
  // Changes that remove a lossless priority or class at a port that gets another one in the same write.
  std::vector<std::uint32_t> replacements;
};
// Also sets AtomChange::lossy, as far as the observation shows it. `seen`: of the device; null: nothing is
// known about it.
PortOrder order_at_ports(const Observation* seen, std::vector<AtomChange>& changes, const Columns& columns);
// The position of an atom among the devices on one ladder.
struct Stage {
  Ladder ladder = Ladder::none;
  Way way = Way::none;
  std::uint8_t stage = 0;
  bool crosses = false;  // the ends of its cable have different stages
  bool of_half = false;  // part of a replacement (replacements.hpp)
};
enum class PortSide : std::uint8_t { to_switch, to_host, host };
std::vector<Stage> stages_of(const Atom& atom, PortSide side, const Columns& columns);

// All atoms of `before` come before all of `after` (node indices).
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
  std::vector<std::uint32_t> across;  // nodes that hosts and switches change in order
};
// One per ladder, most important first.
std::vector<LadderOrder> order_of_stages(const std::vector<StagedNode>& nodes);

}  // namespace lockstep
