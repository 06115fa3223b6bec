#include "specs/model/ip.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>

namespace lockstep {
namespace {

constexpr std::uint64_t all_ones = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t v4_ones = 0xffffffffU;

std::uint64_t read_big_endian(const unsigned char* from) {
  std::uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value = value << 8 | from[i];
  return value;
}

// A 64-bit mask with the upper `bits` set; bits may be 0 or 64, where a plain shift would be undefined.
std::uint64_t upper_mask(unsigned bits) {
  if (bits == 0) return 0;
  return bits >= 64 ? all_ones : ~(all_ones >> bits);
}

struct Mask {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
};
Mask mask_of(bool v6, unsigned length) {
  if (!v6) return {0, length == 0 ? 0 : v4_ones & (v4_ones << (32 - length))};
  return {upper_mask(std::min(length, 64U)), upper_mask(length > 64 ? length - 64 : 0)};
}

struct ZeroRun {
  std::size_t begin = 0;
  std::size_t length = 0;
};
// RFC 5952 4.2: the longest run of two or more zero groups, the first of equals.
ZeroRun longest_zero_run(const std::array<unsigned, 8>& groups, std::size_t count) {
  ZeroRun best;
  for (std::size_t i = 0; i < count;) {
    std::size_t end = i;
    while (end < count && groups[end] == 0) ++end;
    if (end - i > best.length) best = {i, end - i};
    i = std::max(end, i + 1);
  }
  return best.length >= 2 ? best : ZeroRun{};
}

std::string v4_text(std::uint64_t bits) {
  std::string text;
  for (unsigned shift = 32; shift > 0; shift -= 8)
    text += (text.empty() ? "" : ".") + std::to_string(bits >> (shift - 8) & 0xff);
  return text;
}

std::string v6_text(const IpAddress& one) {
  std::array<unsigned, 8> groups{};
  for (std::size_t i = 0; i < 8; ++i)
    groups[i] = static_cast<unsigned>((i < 4 ? one.high : one.low) >> (48 - 16 * (i % 4)) & 0xffff);
  const bool mapped = one.high == 0 && one.low >> 32 == 0xffff;  // RFC 5952 5: ::ffff:192.0.2.1
  const std::size_t count = mapped ? 6 : 8;
  const ZeroRun run = longest_zero_run(groups, count);
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    if (run.length > 0 && i == run.begin) {
      text += "::";
      i += run.length - 1;
      continue;
    }
    if (!text.empty() && text.back() != ':') text += ':';
    std::array<char, 8> hex{};
    std::snprintf(hex.data(), hex.size(), "%x", groups[i]);
    text += hex.data();
  }
  return mapped ? text + ":" + v4_text(one.low & v4_ones) : text;
}

std::optional<unsigned> parse_length(std::string_view text, unsigned most) {
  if (text.empty() || text.size() > 3 || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  unsigned value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<unsigned>(c - '0');
  }
  return value <= most ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  if (text.size() >= INET6_ADDRSTRLEN || text.find('\0') != text.npos) return std::nullopt;
  const std::string terminated(text);
  std::array<unsigned char, 16> bytes{};
  if (inet_pton(AF_INET, terminated.c_str(), bytes.data()) == 1)
    return v4(static_cast<std::uint32_t>(read_big_endian(bytes.data()) >> 32));
  if (inet_pton(AF_INET6, terminated.c_str(), bytes.data()) != 1) return std::nullopt;
  return IpAddress{true, read_big_endian(bytes.data()), read_big_endian(bytes.data() + 8)};
}

std::string IpAddress::text() const { return v6 ? v6_text(*this) : v4_text(low & v4_ones); }

std::optional<IpAddress> IpAddress::plus(std::uint64_t by) const {
  IpAddress sum = *this;
  if (!v6) {
    if (by > v4_ones - low) return std::nullopt;
    sum.low += by;
    return sum;
  }
  sum.low += by;
  if (sum.low < by && ++sum.high == 0) return std::nullopt;
  return sum;
}

std::optional<IpPrefix> IpPrefix::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == text.npos) return std::nullopt;
  const auto address = IpAddress::parse(text.substr(0, slash));
  if (!address) return std::nullopt;
  const auto length = parse_length(text.substr(slash + 1), address->width());
  if (!length) return std::nullopt;
  return IpPrefix{*address, static_cast<std::uint8_t>(*length)};
}

std::string IpPrefix::text() const { return address.text() + "/" + std::to_string(length); }

IpPrefix IpPrefix::network() const {
  const Mask mask = mask_of(address.v6, length);
  return {{address.v6, address.high & mask.high, address.low & mask.low}, length};
}

IpAddress IpPrefix::last() const {
  const Mask mask = mask_of(address.v6, length);
  if (!address.v6) return {false, 0, address.low | (v4_ones & ~mask.low)};
  return {true, address.high | ~mask.high, address.low | ~mask.low};
}

bool IpPrefix::contains(const IpAddress& one) const {
  return one.v6 == address.v6 && IpPrefix{one, length}.network() == network();
}

bool IpPrefix::contains(const IpPrefix& other) const {
  return other.length >= length && contains(other.address);
}

bool IpPrefix::overlaps(const IpPrefix& other) const { return contains(other) || other.contains(*this); }

std::uint64_t IpPrefix::size() const { return subnets(static_cast<std::uint8_t>(address.width())); }

std::optional<IpAddress> IpPrefix::nth_address(std::uint64_t n) const {
  const auto at = network().address.plus(n);
  return at && contains(*at) ? at : std::nullopt;
}

std::uint64_t IpPrefix::subnets(std::uint8_t sub_length) const {
  if (sub_length < length || sub_length > address.width()) return 0;
  const unsigned bits = static_cast<unsigned>(sub_length) - length;
  return bits >= 64 ? all_ones : std::uint64_t{1} << bits;
}

std::optional<IpPrefix> IpPrefix::nth_subnet(std::uint8_t sub_length, std::uint64_t n) const {
  const std::uint64_t count = subnets(sub_length);
  const bool uncounted = sub_length >= length && sub_length - length >= 64;  // every n fits
  if (sub_length > address.width() || (!uncounted && n >= count)) return std::nullopt;
  IpAddress at = network().address;
  const unsigned shift = address.width() - sub_length;
  // n < 2^(sub_length - length), so no bit of n is shifted out of the address.
  if (shift >= 64) {
    at.high |= shift == 128 ? 0 : n << (shift - 64);
  } else {
    at.low |= n << shift;
    if (shift > 0) at.high |= n >> (64 - shift);
  }
  return IpPrefix{at, sub_length};
}

}  // namespace lockstep
