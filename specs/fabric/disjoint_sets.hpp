// DisjointSets: which of the numbers below a count are joined, directly or through others. A union-find with
// path halving (Tarjan and van Leeuwen, JACM 31(2), 1984): nearly constant time each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace lockstep {

class DisjointSets {
 public:
  explicit DisjointSets(std::size_t count) : above_(count) {
    std::iota(above_.begin(), above_.end(), std::uint32_t{0});
  }
  // The representative of a number's set from then on is that of `b`.
  void join(std::uint32_t a, std::uint32_t b) { above_[root(a)] = root(b); }
  std::uint32_t root(std::uint32_t of) {
    while (above_[of] != of) of = above_[of] = above_[above_[of]];
    return of;
  }

 private:
  std::vector<std::uint32_t> above_;
};

}  // namespace lockstep
