// The payload: bytes that follow from a seed and an offset, so that a receiver knows them without being told.
//
// Promises: byte N of a seed is the same on every machine, and no byte of the complement (what a receiver's
// memory is filled with before) equals that of the pattern at the same offset: what did not arrive shows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace lockstep::bench::verbs {

void fill(std::span<std::uint8_t> bytes, std::uint64_t seed, std::uint64_t offset);
void fill_complement(std::span<std::uint8_t> bytes, std::uint64_t seed, std::uint64_t offset);

// The first byte that is not the pattern's.
struct Difference {
  std::uint64_t at = 0;  // from the start of `bytes`
  std::uint8_t expected = 0;
  std::uint8_t found = 0;
};
std::optional<Difference> first_difference(std::span<const std::uint8_t> bytes, std::uint64_t seed,
                                           std::uint64_t offset);

}  // namespace lockstep::bench::verbs
