// Measurements as SVG, for an HTML page that includes picture_css(): a heat map of pairs and a histogram of a
// metric.
//
// Promises: a chart has bounded size whatever was measured: a large heat map shows groups of neighbouring
// endpoints by their worst pair, and states that. Everything shown by colour is also shown by a number, a
// symbol or a word.
#pragma once

#include <string>
#include <vector>

#include "reconciler/report/bench_rows.hpp"

namespace lockstep {

// Maximum number of names on each side.
constexpr std::size_t kHeatNamesMost = 64;

// The labels of its figures and its three shades.
struct HeatWords {
  std::string figures;  // "% of nominal"
  std::string unit;     // "%"
  std::string good;     // "85% and more"
  std::string fair;
  std::string poor;
};

// Empty for a map without names.
std::string heat_map_svg(const HeatMap& map, const HeatWords& words);

// Groups of equally many neighbours, each pair of groups shown by its worst pair; a small map is unchanged.
HeatMap folded(const HeatMap& map, std::size_t names_most);

// All samples of a metric as bars; those of the accepted baseline as an outline; nominal and SLOs as lines.
// Empty: there is no sample.
std::string histogram_svg(const BenchmarkOutcome& outcome, Metric metric);

}  // namespace lockstep
