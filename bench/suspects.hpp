// Suspects: links, cables, endpoints and devices that explain which pairs are slow: maximum likelihood over
// single faults, one after the other.
//
// Promises: pure, deterministic, most suspect first. What is at fault makes slow what crosses it, by the
// chance that it does (per-flow hashing), and nothing else; a pair is taken for slow or healthy by mistake
// with kMistaken. A thing is suspected only if that explains the slow pairs better than no fault in common;
// then what it explains is set aside, and the rest is asked again. Things that explain alike share a `rank`:
// which of them it is can't be told from these pairs. Refuses to accuse where all is slow or nothing is: a
// fault that every pair shares has no place.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/measurement.hpp"

namespace lockstep::bench {

// The share of pairs that may be on the wrong side of a bound by accident. A choice: large enough that one
// odd pair does not clear a link, small enough that two slow pairs of a few accuse one.
inline constexpr double kMistaken = 0.05;

struct Suspect {
  enum class Kind : std::uint8_t { link, cable, endpoint, device } kind = Kind::link;
  std::string name;
  std::size_t rank = 0;   // 0: most suspect; equal ranks can't be told apart
  std::size_t slow = 0;   // slow pairs that may have crossed it
  std::size_t pairs = 0;  // measured pairs that may have crossed it
  double score() const { return pairs == 0 ? 0 : static_cast<double>(slow) / static_cast<double>(pairs); }
};
constexpr auto words(Suspect::Kind) {
  return std::to_array<std::string_view>({"link", "cable", "endpoint", "device"});
}

// `slow` are indices into `measurements` (SloVerdict::violating).
std::vector<Suspect> suspects(std::span<const Measurement> measurements, std::span<const std::size_t> slow);

// Of two runs over the same fabric: each thing once, as the run has it that suspects it most; most suspect
// first.
void join(std::vector<Suspect>& all, const std::vector<Suspect>& more);

}  // namespace lockstep::bench
