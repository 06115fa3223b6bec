// IpAddress and IpPrefix: IPv4 and IPv6 as values, with the arithmetic that allocation needs.
//
// Promises: parse accepts exactly the textual forms of RFC 4291 2.2 / dotted quad without leading zeros, and
// nothing else (no zone, no spaces); text() is RFC 5952 canonical; ordering is family, then number.
// Arithmetic that leaves the address space or the prefix is refused (nullopt), never wrapped.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep {

struct IpAddress {
  bool v6 = false;
  std::uint64_t high = 0;  // the upper 64 bits of an IPv6 address; 0 for IPv4
  std::uint64_t low = 0;   // the lower 64 bits of an IPv6 address; the 32 bits of an IPv4 address
  auto operator<=>(const IpAddress&) const = default;

  static std::optional<IpAddress> parse(std::string_view text);
  static IpAddress v4(std::uint32_t bits) { return {false, 0, bits}; }
  std::string text() const;
  unsigned width() const { return v6 ? 128 : 32; }
  // The address plus `by`; nullopt past the end of the address space.
  std::optional<IpAddress> plus(std::uint64_t by) const;
};

struct IpPrefix {
  IpAddress address;  // as written: host bits are kept (10.0.0.1/24 is an interface address)
  std::uint8_t length = 0;
  auto operator<=>(const IpPrefix&) const = default;

  static std::optional<IpPrefix> parse(std::string_view text);
  std::string text() const;
  IpPrefix network() const;  // host bits cleared
  bool is_network() const { return network() == *this; }
  IpAddress last() const;
  bool contains(const IpAddress& one) const;
  bool contains(const IpPrefix& other) const;
  bool overlaps(const IpPrefix& other) const;
  // The number of addresses, capped at 2^64 - 1.
  std::uint64_t size() const;
  // Address number n of the network (0 is the network address); nullopt past its end.
  std::optional<IpAddress> nth_address(std::uint64_t n) const;
  // Subnet number n of `sub_length` bits inside this network; nullopt past its end or if sub_length < length.
  std::optional<IpPrefix> nth_subnet(std::uint8_t sub_length, std::uint64_t n) const;
  // The number of subnets of `sub_length` bits that fit, capped at 2^64 - 1; 0 if sub_length < length.
  std::uint64_t subnets(std::uint8_t sub_length) const;
};

}  // namespace lockstep
