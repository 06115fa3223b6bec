// A matrix of pairs in the terminal: rows send, columns receive, each cell a percentage of nominal.
//
// Colour shows how close a pair is to nominal; without colour the figures show the same. A pair that was not
// measured (it is in no plan, or the run was stopped before it) is a dot; a failed one is a cross; one whose
// probe failed, or whose poor result was limited by its CPU, is a question mark.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reconciler/report/terminal.hpp"

namespace lockstep {

struct HeatCell {
  enum class State : std::uint8_t { not_measured, measured, failed, unknown };
  State state = State::not_measured;
  double share = 0;   // of the expected figure, 1.0 = 100 %
  double figure = 0;  // the same in percent, or a time in us
};

struct HeatMap {
  std::vector<std::string> names;            // both axes
  std::vector<std::vector<HeatCell>> cells;  // [from][to]
  double good = 0.9;                         // green from here (the SLO's bound), yellow down to `poor`
  double poor = 0.7;
};

std::string render(const HeatMap& map, const Terminal& terminal);
// The legend of the signs in this map that are no figures, as one line; empty: it has none.
std::string legend_of(const HeatMap& map, const Terminal& terminal);

}  // namespace lockstep
