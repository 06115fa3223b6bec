#include "drivers/linux/rdma/roce_tos.hpp"

#include <charconv>

#include "drivers/linux/rdma/inventory.hpp"

namespace lockstep::rdma {
namespace {

constexpr std::string_view kClass = ", traffic class ";
constexpr std::string_view kUnsetWord = "unset";

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return out;
}

}  // namespace

Value tos_value(const RoceTos& tos) {
  if (tos.mode == kRoceV2 && tos.traffic_class.value_or(tos.tos) == tos.tos) return Value::integer(tos.tos);
  std::string text = std::to_string(tos.tos) + " (" + tos.mode;
  if (tos.traffic_class)
    text += std::string(kClass) +
            (*tos.traffic_class == kUnset ? std::string(kUnsetWord) : std::to_string(*tos.traffic_class));
  return Value::text(text + ")");
}

std::optional<RoceTos> tos_of(const Value& value, bool has_traffic_class) {
  RoceTos out;
  if (value.kind() == Value::Kind::integer) {
    out = {value.as_integer(), std::string(kRoceV2), {}};
    if (has_traffic_class) out.traffic_class = out.tos;
    return out;
  }
  if (value.kind() != Value::Kind::text) return std::nullopt;
  const std::string_view text = value.as_text();
  const std::size_t open = text.find(" (");
  if (open == std::string_view::npos || !text.ends_with(')')) return std::nullopt;
  const auto tos = number_of(text.substr(0, open));
  if (!tos) return std::nullopt;
  std::string_view rest = text.substr(open + 2, text.size() - open - 3);
  const std::size_t at = rest.find(kClass);
  if ((at != std::string_view::npos) != has_traffic_class) return std::nullopt;
  if (has_traffic_class) {
    const std::string_view word = rest.substr(at + kClass.size());
    out.traffic_class = word == kUnsetWord ? std::optional(kUnset) : number_of(word);
    if (!out.traffic_class) return std::nullopt;
    rest = rest.substr(0, at);
  }
  out.tos = *tos;
  out.mode = std::string(rest);
  return out;
}

std::optional<std::int64_t> traffic_class_in(std::string_view text) {
  text = trimmed(text);
  if (text.empty()) return kUnset;
  const std::size_t equals = text.rfind('=');
  return number_of(equals == std::string_view::npos ? text : text.substr(equals + 1));
}

}  // namespace lockstep::rdma
