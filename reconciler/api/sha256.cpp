#include "reconciler/api/sha256.hpp"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <charconv>

namespace lockstep::api {

Sha256 sha256(std::string_view text) {
  Sha256 out{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), out.data());
  return out;
}

std::optional<Sha256> parse_sha256(std::string_view hex) {
  Sha256 out{};
  if (hex.size() != 2 * out.size()) return std::nullopt;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const char* const digits = hex.data() + 2 * i;
    const auto [end, code] = std::from_chars(digits, digits + 2, out[i], 16);
    if (code != std::errc() || end != digits + 2) return std::nullopt;
  }
  return out;
}

bool is_equal(const Sha256& one, const Sha256& other) {
  return CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

}  // namespace lockstep::api
