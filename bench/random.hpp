// Random: a small seeded generator (splitmix64, Steele et al. 2014), the same numbers on every machine, which
// the distributions of <random> do not promise. For choices that must repeat, never for secrets.
#pragma once

#include <cstdint>

namespace lockstep::bench {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
  }
  // Uniform to within limit / 2^64, which is far below what any figure here shows; limit > 0.
  std::uint64_t below(std::uint64_t limit) { return next() % limit; }

 private:
  std::uint64_t state_;
};

}  // namespace lockstep::bench
