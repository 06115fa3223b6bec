#include "drivers/linux/filters/nft_packet.hpp"

#include <algorithm>
#include <compare>

namespace lockstep::nft {
namespace {

using netlink::Bytes;

std::strong_ordering compare(Bytes one, Bytes other) {
  return std::lexicographical_compare_three_way(one.begin(), one.end(), other.begin(), other.end());
}

}  // namespace

Field Field::of(Bytes value) {
  return {{value.begin(), value.end()}, std::vector<std::byte>(value.size(), std::byte{0xFF})};
}

Field Field::part(std::size_t offset, std::size_t size) const {
  Field out = unknown(size);
  for (std::size_t i = 0; i < size && offset + i < value.size(); ++i) {
    out.value[i] = value[offset + i];
    out.known[i] = known[offset + i];
  }
  return out;
}

void Field::put(std::size_t offset, const Field& from) {
  for (std::size_t i = 0; i < from.value.size() && offset + i < value.size(); ++i) {
    value[offset + i] = from.value[i];
    known[offset + i] = from.known[i];
  }
}

void Field::mask(Bytes by) {
  for (std::size_t i = 0; i < by.size(); ++i) {
    value[i] &= by[i];
    known[i] |= ~by[i];
  }
}

Match is_equal(const Field& field, Bytes to) {
  Match out = Match::yes;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::byte known = i < field.known.size() ? field.known[i] : std::byte{0};
    if (known != std::byte{0} && ((field.value[i] ^ to[i]) & known) != std::byte{0}) return Match::no;
    if (known != std::byte{0xFF}) out = Match::maybe;
  }
  return out;
}

std::vector<std::byte> Field::bound(bool high) const {
  std::vector<std::byte> out = value;
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = (out[i] & known[i]) | (high ? ~known[i] : std::byte{0});
  return out;
}

Match is_within(const Field& field, Bytes first, Bytes last) {
  const std::vector<std::byte> low = field.bound(false);
  const std::vector<std::byte> high = field.bound(true);
  if (compare(high, first) < 0 || compare(low, last) > 0) return Match::no;
  return compare(low, first) >= 0 && compare(high, last) <= 0 ? Match::yes : Match::maybe;
}

Match is_below(const Field& field, Bytes than) {
  if (compare(field.bound(false), than) >= 0) return Match::no;
  return compare(field.bound(true), than) < 0 ? Match::yes : Match::maybe;
}

}  // namespace lockstep::nft
