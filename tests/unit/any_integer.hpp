// Generates signed 64-bit integers for property tests: of every bit length, and more often than by chance
// next to powers of two, where a representation with fewer bits loses one.
#pragma once

#include <rapidcheck.h>

#include <cstdint>

namespace lockstep {

inline rc::Gen<std::int64_t> any_integer() {
  constexpr int kAnySize = 100;  // the size at which RapidCheck may set every bit
  const auto bits = rc::gen::resize(kAnySize, rc::gen::arbitrary<std::uint64_t>());
  const auto shifts = rc::gen::inRange(0, 64);
  const auto of_any_length = rc::gen::map(rc::gen::pair(bits, shifts), [](const auto& drawn) {
    return static_cast<std::int64_t>(drawn.first) >> drawn.second;
  });
  const auto beside_powers = rc::gen::map(
      rc::gen::tuple(shifts, rc::gen::inRange(-1, 2), rc::gen::element(1, -1)), [](const auto& drawn) {
        const auto [shift, beside, sign] = drawn;
        const std::uint64_t power = std::uint64_t{1} << shift;
        return static_cast<std::int64_t>((power + static_cast<std::uint64_t>(beside)) *
                                         static_cast<std::uint64_t>(sign));
      });
  return rc::gen::oneOf(of_any_length, beside_powers);
}

}  // namespace lockstep
