// Histogram: counts of non-negative integers (latencies in ns) in log-linear buckets, after HdrHistogram.
//
// Promises: a recorded value is returned with a relative error of at most 1/256 (0.4 %): values below 256 are
// exact, above that every power of two is split into 128 buckets and a bucket is represented by its middle.
// min, max and mean are exact. The whole range of uint64 takes at most 59 KB. merge is exact, in any order.
// Refuses: a percentile that the samples do not support (see enough_samples): the result is nullopt, no
// guess.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace lockstep::bench {

// Rule: a percentile is reported only if at least 3 samples are expected beyond it. Origin: the rule of three
// (Hanley and Lippman-Hand, JAMA 1983; the one-sided case of Wilks 1941): 3/n is the 95 % bound of a share
// that n samples never showed, so with fewer samples the absence of a worse one proves nothing. p5 and p95
// need 60 samples, p99 300, p99.99 30,000. The median needs one.
constexpr double samples_beyond = 3;
bool enough_samples(std::uint64_t samples, double percent);
std::uint64_t samples_needed(double percent);

class Histogram {
 public:
  void record(std::uint64_t value, std::uint64_t times = 1);
  void merge(const Histogram& other);

  std::uint64_t count() const { return count_; }
  std::uint64_t min() const { return count_ == 0 ? 0 : min_; }
  std::uint64_t max() const { return max_; }
  double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

  // Nearest rank; 0 < percent <= 100.
  std::optional<double> percentile(double percent) const;
  std::optional<double> median() const { return percentile(50); }

  // For storage and transfer: the non-empty buckets as {lowest value in it, count}, ascending.
  struct Bucket {
    std::uint64_t lowest = 0;
    std::uint64_t count = 0;
    bool operator==(const Bucket&) const = default;
  };
  std::vector<Bucket> buckets() const;
  // min, max and sum are taken as given, but clamped to what the buckets allow; beyond 2^53 samples, the last
  // ones are dropped.
  static Histogram from(std::span<const Bucket> buckets, std::uint64_t min, std::uint64_t max, double sum);
  double sum() const { return sum_; }

  bool operator==(const Histogram& other) const;

 private:
  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  std::uint64_t min_ = 0;
  std::uint64_t max_ = 0;
  double sum_ = 0;
};

}  // namespace lockstep::bench
