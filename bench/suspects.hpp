// Suspects: links and devices that the slow pairs have in common, as 007 (NSDI'18) lets flows vote.
//
// Promises: pure, deterministic, most suspect first. A suspect is crossed by a slow pair; its score is the
// share of the pairs over it that are slow, so that a link which mostly carries healthy pairs is not blamed.
// Refuses to accuse where all is slow or nothing is: a fault that every pair shares has no place. Under
// per-flow hashing a pair's links are those that it may have crossed: a suspect is a hint, not a proof.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/measurement.hpp"

namespace lockstep::bench {

struct Suspect {
  enum class Kind : std::uint8_t { link, endpoint, device } kind = Kind::link;
  std::string name;
  std::size_t slow = 0;      // slow pairs over it
  std::size_t pairs = 0;     // measured pairs over it
  bool in_all_slow = false;  // explains every slow pair
  double score() const { return pairs == 0 ? 0 : static_cast<double>(slow) / static_cast<double>(pairs); }
};
constexpr auto words(Suspect::Kind) {
  return std::to_array<std::string_view>({"link", "endpoint", "device"});
}

// `slow` are indices into `measurements` (SloVerdict::violating).
std::vector<Suspect> suspects(std::span<const Measurement> measurements, std::span<const std::size_t> slow);

}  // namespace lockstep::bench
