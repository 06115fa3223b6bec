// SHA-256 of credentials, and comparisons that take as long whatever the texts are.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::api {

using Sha256 = std::array<unsigned char, 32>;

Sha256 sha256(std::string_view text);
// Of 64 hexadecimal digits; none: it is not that.
std::optional<Sha256> parse_sha256(std::string_view hex);
// In constant time.
bool is_equal(const Sha256& one, const Sha256& other);

}  // namespace lockstep::api
