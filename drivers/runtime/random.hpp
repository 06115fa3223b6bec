// Random: the source of randomness. The same seed gives the same numbers on every machine and library
// (splitmix64, Steele et al. 2014), which std:: distributions do not guarantee. For reproducible choices,
// never for secrets.
#pragma once

#include <cstdint>

namespace lockstep {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  // 0 .. bound-1; 0 for bound 0. The bias of the remainder is below 2^-32 for the bounds used here (< 2^32).
  std::uint64_t below(std::uint64_t bound) { return bound == 0 ? 0 : next() % bound; }
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  bool chance(double probability) { return unit() < probability; }

 private:
  std::uint64_t state_;
};

}  // namespace lockstep
