#include "bench/histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace lockstep::bench {
namespace {

constexpr std::uint64_t half = 128;  // buckets in a power of two

std::size_t index_of(std::uint64_t value) {
  if (value < 2 * half) return static_cast<std::size_t>(value);
  const auto shift = static_cast<unsigned>(std::bit_width(value)) - 8U;
  return static_cast<std::size_t>(half * shift + (value >> shift));
}

std::uint64_t lowest_of(std::size_t index) {
  if (index < 2 * half) return index;
  const std::uint64_t shift = index / half - 1;
  return (index - half * shift) << shift;
}

double middle_of(std::size_t index) {
  if (index < 2 * half) return static_cast<double>(index);
  const std::uint64_t shift = index / half - 1;
  return static_cast<double>(lowest_of(index)) + static_cast<double>((1ULL << shift) - 1) / 2;
}

}  // namespace

std::uint64_t samples_needed(double percent) {
  const double beyond = std::min(percent, 100 - percent) / 100;
  if (percent == 50 || beyond <= 0) return 1;
  return static_cast<std::uint64_t>(std::ceil(samples_beyond / beyond - 1e-6));
}

bool enough_samples(std::uint64_t samples, double percent) { return samples >= samples_needed(percent); }

void Histogram::record(std::uint64_t value, std::uint64_t times) {
  if (times == 0) return;
  const std::size_t index = index_of(value);
  if (index >= counts_.size()) counts_.resize(index + 1);
  counts_[index] += times;
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = std::max(max_, value);
  count_ += times;
  sum_ += static_cast<double>(value) * static_cast<double>(times);
}

void Histogram::merge(const Histogram& other) {
  if (other.count_ == 0) return;
  if (other.counts_.size() > counts_.size()) counts_.resize(other.counts_.size());
  for (std::size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  count_ += other.count_;
  sum_ += other.sum_;
}

std::optional<double> Histogram::percentile(double percent) const {
  if (count_ == 0 || !(percent > 0) || percent > 100 || !enough_samples(count_, percent)) return std::nullopt;
  const double exact = percent / 100 * static_cast<double>(count_);
  const auto rank = static_cast<std::uint64_t>(std::max(1.0, std::ceil(exact - 1e-9)));
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    below += counts_[i];
    if (below >= rank) return std::clamp(middle_of(i), static_cast<double>(min_), static_cast<double>(max_));
  }
  return static_cast<double>(max_);
}

std::vector<Histogram::Bucket> Histogram::buckets() const {
  std::vector<Bucket> filled;
  for (std::size_t i = 0; i < counts_.size(); ++i)
    if (counts_[i] != 0) filled.push_back({lowest_of(i), counts_[i]});
  return filled;
}

Histogram Histogram::from(std::span<const Bucket> buckets, std::uint64_t min, std::uint64_t max, double sum) {
  Histogram made;
  constexpr std::uint64_t most = std::uint64_t{1} << 53U;  // the largest count that a double holds exactly
  for (const Bucket& bucket : buckets)
    made.record(lowest_of(index_of(bucket.lowest)), std::min(bucket.count, most - made.count_));
  if (made.count_ == 0) return made;
  // The lowest and highest non-empty bucket bound min, max and the mean.
  const auto width = [](std::uint64_t value) -> std::uint64_t {
    return value < 2 * half ? 0
                            : (std::uint64_t{1} << (static_cast<unsigned>(std::bit_width(value)) - 8U)) - 1;
  };
  const std::uint64_t first = made.min_;
  const std::uint64_t last = made.max_;
  made.min_ = std::clamp(min, first, first + width(first));
  made.max_ = std::clamp(max, std::max(last, made.min_), last + width(last));
  const auto count = static_cast<double>(made.count_);
  if (std::isfinite(sum))
    made.sum_ =
        std::clamp(sum, static_cast<double>(made.min_) * count, static_cast<double>(made.max_) * count);
  return made;
}

bool Histogram::operator==(const Histogram& other) const {
  return count_ == other.count_ && min_ == other.min_ && max_ == other.max_ && sum_ == other.sum_ &&
         buckets() == other.buckets();
}

}  // namespace lockstep::bench
