// A benchmark's measurements as shown in every form of its report: their order, their texts, and their heat
// map.
#pragma once

#include <string>
#include <vector>

#include "reconciler/measure/measure.hpp"
#include "reconciler/report/heat_map.hpp"

namespace lockstep {

// Number of rows in a table; the heat map has all pairs.
constexpr std::size_t kWorstShown = 8;

std::string figure_text(std::optional<double> value, Metric metric);
std::string figure_text(const bench::Distribution& seen, Statistic statistic, Metric metric);
// "9.1Gbps .. 9.8Gbps", depending on routing; empty: there is none.
std::string ideal_text(const bench::Measurement& one);
// Stopped before it ran, or before it was complete: nothing is reported about it.
bool not_run(const bench::Measurement& one);
// Why it has no figure, or a note about it; empty: nothing.
std::string remark_text(const bench::Measurement& one);

// Failed ones, then the worst figures, then those that did not run.
std::vector<const bench::Measurement*> worst_first(const BenchmarkOutcome& outcome);

// Pairs by their share of the expected figure: nominal, or, for a time, an absolute SLO's bound divided by
// the time. No names: no pairs were measured, or there is nothing to compare them with.
HeatMap heat_map_of(const BenchmarkOutcome& outcome);

}  // namespace lockstep
