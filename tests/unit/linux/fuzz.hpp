// Mutations of recorded messages: truncated at every length, and each byte in turn set to every other value.
// A decoder of messages from a kernel or a device must return an answer or an Error and have no undefined
// behaviour (run under ASan and UBSan).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drivers/linux/netlink.hpp"

namespace lockstep {

using Buffer = std::vector<std::byte>;

inline Buffer bytes_of(std::string_view hex) {
  Buffer out;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2)
    out.push_back(static_cast<std::byte>(std::stoi(std::string(hex.substr(at, 2)), nullptr, 16)));
  return out;
}

inline std::string hex_of(netlink::Bytes bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const std::byte one : bytes) {
    out += kDigits[std::to_integer<unsigned>(one) >> 4];
    out += kDigits[std::to_integer<unsigned>(one) & 0xF];
  }
  return out;
}

inline std::string zeros(std::size_t bytes) { return std::string(2 * bytes, '0'); }

// Each truncated message is a separate allocation, so that ASan finds a read beyond its end.
template <class Decode>
void fuzz(const std::string& hex, const Decode& decode) {
  const Buffer whole = bytes_of(hex);
  for (std::size_t size = 0; size < whole.size(); ++size)
    decode(Buffer(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (unsigned flip = 1; flip < 256; ++flip) {
      Buffer changed = whole;
      changed[at] ^= static_cast<std::byte>(flip);
      decode(changed);
    }
}

}  // namespace lockstep
