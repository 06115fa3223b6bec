// Rates as the kernel counts them (bytes, kilobits a second), in bit/s.
//
// Promises: never wraps. A rate of more than 64 bits becomes the maximum, which does not fit a Value's
// integer (Value::integer shows it as text) and so differs from every desired value.
#pragma once

#include <cstdint>
#include <limits>

namespace lockstep {

constexpr std::uint64_t kBitsPerByte = 8;
constexpr std::uint64_t kBitsPerKilobit = 1000;

constexpr std::uint64_t bit_rate(std::uint64_t count, std::uint64_t bits) {
  std::uint64_t out = 0;
  return __builtin_mul_overflow(count, bits, &out) ? std::numeric_limits<std::uint64_t>::max() : out;
}

}  // namespace lockstep
