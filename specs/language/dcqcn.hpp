// The parameters of DCQCN (Zhu et al., SIGCOMM 2015) as NICs have them. All are optional: the NIC keeps its
// value for those that are not set.
#pragma once

#include "specs/language/quantity.hpp"
#include "specs/language/said.hpp"

namespace lockstep {

struct Dcqcn {
  // Notification of marks.
  Said<Duration> cnp_interval;
  // Estimate of congestion.
  Said<std::uint32_t> initial_alpha;
  Said<std::uint32_t> alpha_gain;
  Said<Duration> alpha_timer;
  // Rate decrease.
  Said<Duration> rate_reduce_period;
  Said<Ratio> min_decrease;
  Said<std::uint32_t> reduction_shift;
  Said<BitRate> min_rate;
  Said<BitRate> rate_on_first_cnp;
  Said<bool> clamp_target_rate;
  Said<bool> clamp_target_rate_after_timer;
  // Rate increase.
  Said<Duration> time_reset;
  Said<ByteCount> byte_reset;
  Said<std::uint32_t> fast_recovery_steps;
  Said<BitRate> additive_increase;
  Said<BitRate> hyper_increase;
  Said<BitRate> max_rate;
};

// The units in which NICs count these: a rate in Mbit/s, a time in microseconds, a share in percent.
inline constexpr std::uint64_t kDcqcnRate = 1'000'000;
inline constexpr std::uint64_t kDcqcnTime = 1'000;
inline constexpr std::uint64_t kDcqcnShare = 10'000;

}  // namespace lockstep
