// The payload: bytes derived from a seed and an offset, so that a receiver can compute them.
//
// Promises: byte N of a seed is the same on every machine, and no byte of the complement (which a receiver's
// memory is filled with before) equals that of the pattern at the same offset, so that missing bytes are
// detected.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace lockstep::bench::verbs {

void fill(std::span<std::uint8_t> bytes, std::uint64_t seed, std::uint64_t offset);
void fill_complement(std::span<std::uint8_t> bytes, std::uint64_t seed, std::uint64_t offset);

// The first byte that differs from the pattern.
struct Difference {
  std::uint64_t at = 0;  // from the start of `bytes`
  std::uint8_t expected = 0;
  std::uint8_t found = 0;
};
std::optional<Difference> first_difference(std::span<const std::uint8_t> bytes, std::uint64_t seed,
                                           std::uint64_t offset);

}  // namespace lockstep::bench::verbs
