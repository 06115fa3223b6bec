#include "bench/summary.hpp"

#include <algorithm>

namespace lockstep::bench {

Summary summary_of(const Distribution& seen) {
  Summary out;
  out.count = seen.count();
  if (out.count == 0) return out;
  if (seen.histogram) {
    out.least = static_cast<double>(seen.histogram->min()) * seen.scale;
    out.most = static_cast<double>(seen.histogram->max()) * seen.scale;
  } else {
    const auto [least, most] = std::minmax_element(seen.samples.begin(), seen.samples.end());
    out.least = *least;
    out.most = *most;
  }
  out.median = figure(seen, Statistic::median).value;
  for (std::size_t i = 0; i < kPercentiles.size(); ++i)
    out.percentiles[i] = figure(seen, kPercentiles[i]).value;
  out.noise = spread(seen);
  return out;
}

std::optional<double> figure(const Summary& seen, Statistic statistic) {
  for (std::size_t i = 0; i < kPercentiles.size(); ++i)
    if (kPercentiles[i] == statistic) return seen.percentiles[i];
  const bool over_pairs = statistic != Statistic::median;
  return over_pairs && seen.count < least_repeats ? std::nullopt : seen.median;
}

}  // namespace lockstep::bench
