#include "bench/distribution.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep::bench {
namespace {

std::vector<double> sorted(std::span<const double> samples) {
  std::vector<double> copy(samples.begin(), samples.end());
  std::sort(copy.begin(), copy.end());
  return copy;
}

std::string too_few(Statistic statistic, std::uint64_t have, std::uint64_t need) {
  std::string text = "too few samples for ";
  text += to_string(statistic);
  return text + " (" + std::to_string(have) + " of " + std::to_string(need) + ")";
}

}  // namespace

double percent_of(Statistic statistic) {
  switch (statistic) {
    case Statistic::min:
    case Statistic::max:
    case Statistic::median: return 50;
    case Statistic::p1: return 1;
    case Statistic::p5: return 5;
    case Statistic::p10: return 10;
    case Statistic::p25: return 25;
    case Statistic::p75: return 75;
    case Statistic::p90: return 90;
    case Statistic::p95: return 95;
    case Statistic::p99: return 99;
    case Statistic::p999: return 99.9;
  }
  return 50;
}

std::optional<double> median(std::span<const double> samples) {
  if (samples.empty()) return std::nullopt;
  const std::vector<double> ordered = sorted(samples);
  const std::size_t middle = ordered.size() / 2;
  if (ordered.size() % 2 == 1) return ordered[middle];
  return (ordered[middle - 1] + ordered[middle]) / 2;
}

double spread(const Distribution& seen) {
  const std::optional<double> middle = median(seen.samples);
  if (!middle || *middle <= 0) return 0;
  const auto [least, most] = std::minmax_element(seen.samples.begin(), seen.samples.end());
  return (*most - *least) / *middle;
}

std::optional<double> percentile(std::span<const double> samples, double percent) {
  if (samples.empty() || !(percent > 0) || percent > 100 || !enough_samples(samples.size(), percent))
    return std::nullopt;
  const std::vector<double> ordered = sorted(samples);
  const double rank = std::ceil(percent / 100 * static_cast<double>(ordered.size()) - 1e-9);
  const auto index = static_cast<std::size_t>(std::max(1.0, rank)) - 1;
  return ordered[std::min(index, ordered.size() - 1)];
}

Figure figure(const Distribution& seen, Statistic statistic) {
  const bool over_pairs = statistic == Statistic::min || statistic == Statistic::max;
  const double percent = percent_of(statistic);
  const std::uint64_t need = over_pairs ? least_repeats : samples_needed(percent);
  if (seen.count() < need) return {std::nullopt, too_few(statistic, seen.count(), need)};
  std::optional<double> value;
  if (seen.histogram) {
    value = seen.histogram->percentile(percent);
    if (value) *value *= seen.scale;
  } else {
    value = percent == 50 ? median(seen.samples) : percentile(seen.samples, percent);
  }
  if (!value || !std::isfinite(*value)) return {std::nullopt, "no usable sample"};
  return {value, {}};
}

}  // namespace lockstep::bench
