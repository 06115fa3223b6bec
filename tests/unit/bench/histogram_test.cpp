#include "bench/histogram.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/distribution.hpp"

namespace lockstep::bench {
namespace {

TEST(Histogram, EveryValueIsReportedWithinOneIn256) {
  EXPECT_TRUE(rc::check([](std::uint64_t wide) {
    const std::uint64_t value = wide >> (wide % 64);  // all magnitudes
    Histogram one;
    one.record(value);
    Histogram two;  // min and max must not clamp the middle of the bucket back to the exact value
    two.record(value, 3);
    two.record(0);
    two.record(std::numeric_limits<std::uint64_t>::max());
    const double told = *two.percentile(50);
    RC_ASSERT(*one.percentile(50) == static_cast<double>(value));
    RC_ASSERT(std::abs(told - static_cast<double>(value)) <= static_cast<double>(value) / 256 + 0.5);
  }));
}

TEST(Histogram, PercentilesComeWithinTheErrorOfTheExactOnes) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint32_t>& values) {
    Histogram seen;
    std::vector<double> exact;
    for (const std::uint32_t value : values) {
      seen.record(value);
      exact.push_back(value);
    }
    RC_ASSERT(seen.count() == values.size());
    for (const double percent : {5.0, 50.0, 95.0, 99.0}) {
      const auto told = seen.percentile(percent);
      RC_ASSERT(told.has_value() == (!values.empty() && enough_samples(values.size(), percent)));
      if (!told) continue;
      std::sort(exact.begin(), exact.end());
      const double rank = std::ceil(percent / 100 * static_cast<double>(exact.size()) - 1e-9);
      const double right = exact[static_cast<std::size_t>(rank) - 1];
      RC_ASSERT(std::abs(*told - right) <= right / 256 + 0.5);
    }
  }));
}

TEST(Histogram, MergeIsTheSameInAnyOrderAndTheSameAsRecordingAll) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
    Histogram x;
    Histogram y;
    Histogram all;
    for (const std::uint32_t value : a) x.record(value);
    for (const std::uint32_t value : b) y.record(value);
    for (const std::uint32_t value : a) all.record(value);
    for (const std::uint32_t value : b) all.record(value);
    Histogram xy = x;
    xy.merge(y);
    Histogram yx = y;
    yx.merge(x);
    RC_ASSERT(xy == yx);
    RC_ASSERT(xy == all);
  }));
}

TEST(Histogram, BucketsRoundTrip) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint64_t>& values) {
    Histogram seen;
    for (const std::uint64_t value : values) seen.record(value >> 3);
    RC_ASSERT(Histogram::from(seen.buckets(), seen.min(), seen.max(), seen.sum()) == seen);
  }));
}

TEST(Histogram, InconsistentBoundsAreClampedToTheBuckets) {
  Histogram seen;
  seen.record(1000, 4);
  const Histogram told = Histogram::from(seen.buckets(), 0, ~0ULL, -5);
  EXPECT_GE(told.min(), 1000U);
  EXPECT_LE(told.max(), 1007U);
  EXPECT_GE(told.mean(), 1000);
}

// Found by fuzzing: inverted bounds beyond the end of the last bucket, an invalid rank above 2^64 samples.
TEST(Histogram, InvalidBucketsMakeAConsistentHistogram) {
  const std::vector<Histogram::Bucket> lies{{~0ULL, ~0ULL}, {~0ULL - 5, 7}, {3'297'997'408ULL, ~0ULL}};
  const Histogram told = Histogram::from(lies, ~0ULL, 0, 1e300);
  EXPECT_EQ(told.count(), std::uint64_t{1} << 53U);
  EXPECT_LE(told.min(), told.max());
  ASSERT_TRUE(told.percentile(100));
  EXPECT_LE(*told.percentile(100), static_cast<double>(told.max()));
  EXPECT_EQ(Histogram::from(told.buckets(), told.min(), told.max(), told.sum()), told);
  // Values inside of a bucket: a round trip keeps them.
  const Histogram inside =
      Histogram::from(std::vector<Histogram::Bucket>{{3'297'997'408ULL, 3}}, 1, 4'000'000'000ULL, 0);
  EXPECT_EQ(Histogram::from(inside.buckets(), inside.min(), inside.max(), inside.sum()), inside);
}

TEST(Histogram, TooFewSamplesAreNoPercentile) {
  EXPECT_EQ(samples_needed(50), 1U);
  EXPECT_EQ(samples_needed(5), 60U);
  EXPECT_EQ(samples_needed(99), 300U);
  EXPECT_EQ(samples_needed(99.99), 30'000U);
  Histogram seen;
  seen.record(7, 299);
  EXPECT_FALSE(seen.percentile(99));
  seen.record(7);
  EXPECT_TRUE(seen.percentile(99));
  EXPECT_FALSE(seen.percentile(99.99));
  EXPECT_FALSE(Histogram{}.percentile(50));
}

TEST(Distribution, MinAndMaxNeedThreeRepeats) {
  Distribution seen;
  seen.samples = {1, 2};
  EXPECT_EQ(figure(seen, Statistic::min).why_not, "too few samples for min (2 of 3)");
  seen.samples = {9, 1, 2};
  EXPECT_EQ(figure(seen, Statistic::min).value, 2);
  EXPECT_EQ(figure(seen, Statistic::max).value, 2);
  EXPECT_EQ(figure(seen, Statistic::p5).why_not, "too few samples for p5 (3 of 60)");
}

TEST(Distribution, AHistogramIsScaledIntoItsUnit) {
  Distribution seen;
  seen.scale = 0.5e-9;
  seen.histogram.emplace();
  seen.histogram->record(200, 300);
  EXPECT_DOUBLE_EQ(*figure(seen, Statistic::p99).value, 100e-9);
}

}  // namespace
}  // namespace lockstep::bench
