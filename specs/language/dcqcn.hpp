// The parameters of DCQCN (Zhu et al., SIGCOMM 2015) as NICs have them. All may be unsaid: then the NIC keeps
// what it has.
#pragma once

#include "specs/language/quantity.hpp"
#include "specs/language/said.hpp"

namespace lockstep {

struct Dcqcn {
  // Who tells of marks.
  Said<Duration> cnp_interval;
  // The estimate of congestion.
  Said<std::uint32_t> initial_alpha;
  Said<std::uint32_t> alpha_gain;
  Said<Duration> alpha_timer;
  // How a rate falls.
  Said<Duration> rate_reduce_period;
  Said<Ratio> min_decrease;
  Said<std::uint32_t> reduction_shift;
  Said<BitRate> min_rate;
  Said<BitRate> rate_on_first_cnp;
  Said<bool> clamp_target_rate;
  Said<bool> clamp_target_rate_after_timer;
  // How it rises again.
  Said<Duration> time_reset;
  Said<ByteCount> byte_reset;
  Said<std::uint32_t> fast_recovery_steps;
  Said<BitRate> additive_increase;
  Said<BitRate> hyper_increase;
  Said<BitRate> max_rate;
};

// What NICs count these in: a rate in Mbit/s, a time in microseconds, a share in percent.
inline constexpr std::uint64_t kDcqcnRate = 1'000'000;
inline constexpr std::uint64_t kDcqcnTime = 1'000;
inline constexpr std::uint64_t kDcqcnShare = 10'000;

}  // namespace lockstep
