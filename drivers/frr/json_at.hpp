// Typed access to a member of an object in FRR's JSON: a missing member, or one of another type, yields an
// empty result.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

namespace lockstep::frr {

inline std::string text_at(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

inline std::optional<std::int64_t> integer_at(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  if (found->is_number_unsigned() && !std::in_range<std::int64_t>(found->get<std::uint64_t>()))
    return std::nullopt;
  return found->get<std::int64_t>();
}

inline bool is_true(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

}  // namespace lockstep::frr
