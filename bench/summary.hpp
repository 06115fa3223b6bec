// Summary: the stored part of a distribution: each statistic that an SLO can use, and the two extremes.
//
// Promises: its `figure` equals `figure` of the distribution, for every statistic; 12 numbers at most.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "bench/distribution.hpp"

namespace lockstep::bench {

// Statistics that a summary stores separately: min, median and max derive from `median`.
inline constexpr std::array kPercentiles{Statistic::p1,  Statistic::p5,  Statistic::p10,
                                         Statistic::p25, Statistic::p75, Statistic::p90,
                                         Statistic::p95, Statistic::p99, Statistic::p999};

struct Summary {
  std::uint64_t count = 0;
  std::optional<double> least;
  std::optional<double> median;
  std::optional<double> most;
  std::array<std::optional<double>, kPercentiles.size()> percentiles{};  // none: too few samples
  double noise = 0;                                                      // spread()
  bool operator==(const Summary&) const = default;
};

Summary summary_of(const Distribution& seen);
std::optional<double> figure(const Summary& seen, Statistic statistic);

}  // namespace lockstep::bench
