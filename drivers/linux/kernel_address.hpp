// Addresses in the kernel's representation: IP addresses as 4 or 16 bytes in network order with an address
// family; hardware addresses as many bytes as their kind has.
//
// Promises: address_from_bytes returns none for any other size; bytes_of is its inverse. Arithmetic on and
// texts of IP addresses are in specs/model/ip.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "specs/model/ip.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

std::optional<IpAddress> address_from_bytes(std::span<const std::byte> raw);
std::vector<std::byte> bytes_of(const IpAddress& address);
std::uint8_t family_of(const IpAddress& address);  // AF_INET or AF_INET6
IpPrefix everything(std::uint8_t family);          // 0.0.0.0/0 or ::/0
bool is_link_local(const IpAddress& address);      // fe80::/10; not 169.254.0.0/16, which may be configured
bool is_loopback(const IpAddress& address);        // 127.0.0.0/8, ::1

std::string hardware_address_text(std::span<const std::byte> raw);  // "52:54:00:12:34:56"

// The same as IpPrefix::parse and IpAddress::parse, as a Result that names the text.
Result<IpPrefix> parse_prefix(std::string_view text);
Result<IpAddress> parse_address(std::string_view text);
// A decimal number of at most `max`; the text must contain nothing else.
Result<std::uint64_t> parse_number(std::string_view text, std::uint64_t max);

}  // namespace lockstep
