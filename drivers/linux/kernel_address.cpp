#include "drivers/linux/kernel_address.hpp"

#include <sys/socket.h>

#include <charconv>
#include <string>

namespace lockstep {
namespace {

std::uint64_t big_endian(std::span<const std::byte> raw) {
  std::uint64_t out = 0;
  for (const std::byte one : raw) out = (out << 8) | std::to_integer<std::uint64_t>(one);
  return out;
}

void append_big_endian(std::vector<std::byte>& out, std::uint64_t number, int bytes) {
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8)
    out.push_back(static_cast<std::byte>(number >> shift));
}

Error not_an(const char* what, std::string_view text) {
  return Error{ErrorKind::invalid_spec, "'" + std::string(text) + "' is not an " + what};
}

}  // namespace

std::optional<IpAddress> address_from_bytes(std::span<const std::byte> raw) {
  if (raw.size() == 4) return IpAddress{false, 0, big_endian(raw)};
  if (raw.size() == 16) return IpAddress{true, big_endian(raw.first(8)), big_endian(raw.last(8))};
  return std::nullopt;
}

std::vector<std::byte> bytes_of(const IpAddress& address) {
  std::vector<std::byte> out;
  if (address.v6) append_big_endian(out, address.high, 8);
  append_big_endian(out, address.low, address.v6 ? 8 : 4);
  return out;
}

std::uint8_t family_of(const IpAddress& address) { return address.v6 ? AF_INET6 : AF_INET; }

IpPrefix everything(std::uint8_t family) { return IpPrefix{IpAddress{family == AF_INET6, 0, 0}, 0}; }

bool is_link_local(const IpAddress& address) { return address.v6 && (address.high >> 54) == 0x3FA; }

bool is_loopback(const IpAddress& address) {
  if (!address.v6) return (address.low >> 24) == 127;
  return address.high == 0 && address.low == 1;
}

std::string hardware_address_text(std::span<const std::byte> raw) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const std::byte one : raw) {
    const auto code = std::to_integer<unsigned>(one);
    if (!out.empty()) out += ':';
    out += kDigits[code >> 4];
    out += kDigits[code & 0xF];
  }
  return out;
}

Result<IpPrefix> parse_prefix(std::string_view text) {
  const auto out = IpPrefix::parse(text);
  if (!out) return not_an("IP prefix", text);
  return *out;
}

Result<IpAddress> parse_address(std::string_view text) {
  const auto out = IpAddress::parse(text);
  if (!out) return not_an("IP address", text);
  return *out;
}

Result<std::uint64_t> parse_number(std::string_view text, std::uint64_t max) {
  std::uint64_t out = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (code != std::errc{} || end != text.data() + text.size() || out > max)
    return Error{ErrorKind::invalid_spec,
                 "'" + std::string(text) + "' is not a number from 0 to " + std::to_string(max)};
  return out;
}

}  // namespace lockstep
