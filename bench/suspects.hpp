// Suspects: links, cables, endpoints and devices that explain which pairs are slow: maximum likelihood over
// single faults, one after the other.
//
// Promises: pure, deterministic, most suspect first. Model: a faulty component slows the pairs that cross it,
// with the probability that they cross it (per-flow hashing), and nothing else; a pair is misclassified as
// slow or healthy with probability kMistaken. A component is suspected only if it explains the slow pairs
// better than no common fault does; the pairs that it explains are then set aside, and the search repeats.
// Components that explain equally well share a `rank`: these pairs can't distinguish them. No suspects if all
// pairs are slow or none is: a fault that every pair shares can't be located.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/measurement.hpp"

namespace lockstep::bench {

// The share of pairs that may be on the wrong side of a bound by accident. A chosen value: large enough that
// one odd pair does not clear a link, small enough that two slow pairs among a few make it suspect.
inline constexpr double kMistaken = 0.05;

struct Suspect {
  enum class Kind : std::uint8_t { link, cable, endpoint, device } kind = Kind::link;
  std::string name;
  std::size_t rank = 0;   // 0: most suspect; equal ranks can't be distinguished
  std::size_t slow = 0;   // slow pairs that may have crossed it
  std::size_t pairs = 0;  // measured pairs that may have crossed it
  double score() const { return pairs == 0 ? 0 : static_cast<double>(slow) / static_cast<double>(pairs); }
};
constexpr auto words(Suspect::Kind) {
  return std::to_array<std::string_view>({"link", "cable", "endpoint", "device"});
}

// `slow` are indices into `measurements` (SloVerdict::violating).
std::vector<Suspect> suspects(std::span<const Measurement> measurements, std::span<const std::size_t> slow);

// For two runs over the same fabric: each component once, with the higher suspicion of the two; most suspect
// first.
void join(std::vector<Suspect>& all, const std::vector<Suspect>& more);

}  // namespace lockstep::bench
