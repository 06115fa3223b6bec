// A matrix of pairs in the terminal: rows send, columns receive, each cell a percentage of nominal.
//
// Colour says how near to nominal; without colour the figures say the same. A pair that was not measured (it
// is in no plan, or the run was stopped before it) is a dot, one that failed a cross, one whose probe failed
// or was bound by its CPU a question mark.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reconciler/report/terminal.hpp"

namespace lockstep {

struct HeatCell {
  enum class State : std::uint8_t { not_measured, measured, failed, unknown };
  State state = State::not_measured;
  double share = 0;  // of nominal, 1.0 = 100 %
};

struct HeatMap {
  std::vector<std::string> names;            // both axes
  std::vector<std::vector<HeatCell>> cells;  // [from][to]
  double good = 0.9;                         // green from here (the SLO's bound), yellow down to `poor`
  double poor = 0.7;
};

std::string render(const HeatMap& map, const Terminal& terminal);
// What the signs in this map that are no figures stand for, as one line; empty: it has none.
std::string legend_of(const HeatMap& map, const Terminal& terminal);

}  // namespace lockstep
