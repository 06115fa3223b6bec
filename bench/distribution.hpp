// Distribution: the samples of one measurement: repeats or iterations (bandwidth, busbw, skew), or a
// histogram if there are too many to keep (latency).
//
// Promises: `figure` gives the statistic by its spec name or the reason why it can't. "min" and "max" are
// taken over pairs, from each pair's median of at least 3 repeats, so for one measurement both are that
// median. Refuses: a percentile from too few samples.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/histogram.hpp"
#include "specs/language/validation_suite.hpp"

namespace lockstep::bench {

struct Distribution {
  std::vector<double> samples;         // in the measurement's unit and in the order taken
  std::optional<Histogram> histogram;  // if set, `samples` is empty; value = integer * `scale`
  double scale = 1;

  std::uint64_t count() const { return histogram ? histogram->count() : samples.size(); }
  bool operator==(const Distribution&) const = default;
};

struct Figure {
  std::optional<double> value;
  std::string why_not;  // "too few samples for p99 (40 of 300)"
};

// Repeats of each pair that a `min` over pairs needs: a choice, so that one bad round is not a pair.
constexpr std::uint64_t least_repeats = 3;

double percent_of(Statistic statistic);  // min, max and median: 50
Figure figure(const Distribution& seen, Statistic statistic);
std::optional<double> median(std::span<const double> samples);  // mean of the middle two for an even count
// (maximum - minimum) / median of the samples; 0 for a histogram, whose percentiles show it.
double spread(const Distribution& seen);
std::optional<double> percentile(std::span<const double> samples, double percent);

}  // namespace lockstep::bench
