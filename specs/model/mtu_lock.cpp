#include "specs/model/mtu_lock.hpp"

#include <charconv>
#include <string>
#include <string_view>

namespace lockstep {
namespace {

constexpr std::string_view kWords = "mtu lock ";

}  // namespace

Value mtu_lock(std::uint32_t bytes) { return Value::text(std::string(kWords) + std::to_string(bytes)); }

std::optional<std::uint32_t> mtu_locked_to(Value value) {
  if (value.kind() != Value::Kind::text || !value.as_text().starts_with(kWords)) return std::nullopt;
  const std::string_view digits = value.as_text().substr(kWords.size());
  std::uint32_t out = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  if (failed != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return out;
}

}  // namespace lockstep
