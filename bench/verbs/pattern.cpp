#include "bench/verbs/pattern.hpp"

#include <array>
#include <bit>
#include <cstring>

#include "drivers/runtime/random.hpp"

namespace lockstep::bench::verbs {
namespace {

constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);

// Little endian in memory, so that the bytes are the same on every machine.
std::array<std::uint8_t, word_bytes> word(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t value = Random(seed + index * 0x9e3779b97f4a7c15ULL).next();  // a counter into splitmix64
  std::array<std::uint8_t, word_bytes> out{};
  for (std::uint8_t& byte : out) {
    byte = static_cast<std::uint8_t>(value);
    value >>= 8U;
  }
  return out;
}

// Calls each(bytes of the piece, the same bytes of the pattern) for pieces of up to a word.
template <class Bytes, class Each>
void walk(Bytes bytes, std::uint64_t seed, std::uint64_t offset, Each each) {
  for (std::size_t at = 0; at < bytes.size();) {
    const std::uint64_t within = (offset + at) % word_bytes;
    const std::size_t size = std::min<std::size_t>(word_bytes - within, bytes.size() - at);
    const auto pattern = word(seed, (offset + at) / word_bytes);
    if (!each(bytes.subspan(at, size), std::span(pattern).subspan(within, size), at)) return;
    at += size;
  }
}

}  // namespace

void fill(std::span<std::uint8_t> bytes, std::uint64_t seed, std::uint64_t offset) {
  walk(bytes, seed, offset, [](auto piece, auto pattern, std::size_t) {
    std::memcpy(piece.data(), pattern.data(), piece.size());
    return true;
  });
}

void fill_complement(std::span<std::uint8_t> bytes, std::uint64_t seed, std::uint64_t offset) {
  walk(bytes, seed, offset, [](auto piece, auto pattern, std::size_t) {
    for (std::size_t i = 0; i < piece.size(); ++i) piece[i] = static_cast<std::uint8_t>(~pattern[i]);
    return true;
  });
}

std::optional<Difference> first_difference(std::span<const std::uint8_t> bytes, std::uint64_t seed,
                                           std::uint64_t offset) {
  std::optional<Difference> out;
  walk(bytes, seed, offset, [&out](auto piece, auto pattern, std::size_t at) {
    if (std::memcmp(piece.data(), pattern.data(), piece.size()) == 0) return true;
    std::size_t i = 0;
    while (piece[i] == pattern[i]) ++i;
    out = Difference{at + i, pattern[i], piece[i]};
    return false;
  });
  return out;
}

}  // namespace lockstep::bench::verbs
