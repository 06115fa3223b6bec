#include "specs/model/uuid.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kLength = 36;   // RFC 9562, 4: 32 digits and 4 hyphens
constexpr std::size_t kVersion = 14;  // the digit that is 4
constexpr std::size_t kVariant = 19;  // the digit that begins with the bits 10: 8, 9, a or b
constexpr std::string_view kDigits = "0123456789abcdef";

bool is_hyphen(std::size_t at) { return at == 8 || at == 13 || at == 18 || at == 23; }

}  // namespace

std::string uuid_v4(std::array<std::uint8_t, 16> random) {
  random[6] = static_cast<std::uint8_t>((random[6] & 0x0FU) | 0x40U);
  random[8] = static_cast<std::uint8_t>((random[8] & 0x3FU) | 0x80U);
  std::string out;
  for (const std::uint8_t byte : random) {
    if (is_hyphen(out.size())) out += '-';
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 0x0FU];
  }
  return out;
}

std::optional<std::string> parse_uuid_v4(std::string_view text) {
  if (text.size() != kLength) return std::nullopt;
  std::string out;
  for (const char c : text) {
    const char lower = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool fits = is_hyphen(out.size()) ? lower == '-' : kDigits.find(lower) != kDigits.npos;
    if (!fits) return std::nullopt;
    out += lower;
  }
  const std::string_view variants = kDigits.substr(8, 4);
  if (out[kVersion] != '4' || variants.find(out[kVariant]) == variants.npos) return std::nullopt;
  return out;
}

}  // namespace lockstep
