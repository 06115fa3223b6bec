#include "reconciler/service/stored_fields.hpp"

#include <chrono>
#include <nlohmann/json.hpp>

namespace lockstep::stored {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kTimeMax = std::uint64_t{1} << 62U;  // in the year 2116

// Negative numbers are above any `most` up to 2^62.
bool is_within(const Json& json, std::uint64_t most) {
  return json.is_number_integer() && json.get<std::uint64_t>() <= most;
}

Error mistyped(const std::string& name, const char* want) { return damaged("'" + name + "' is not " + want); }

}  // namespace

Error damaged(const std::string& what) {
  return Error{ErrorKind::invalid_spec, "stored state of the service: " + what};
}

Result<const Json*> field(const Json& json, const char* name) {
  if (!json.is_object()) return damaged(std::string("no object where '") + name + "' should be");
  const auto found = json.find(name);
  if (found == json.end()) return damaged(std::string("'") + name + "' is missing");
  return &*found;
}

Result<std::string> text(const Json& json, const char* name) {
  TRY(const Json* const value, field(json, name));
  if (!value->is_string()) return mistyped(name, "a text");
  return value->get<std::string>();
}

Result<std::uint64_t> number(const Json& json, const char* name, std::uint64_t most) {
  TRY(const Json* const value, field(json, name));
  if (!is_within(*value, most)) return mistyped(name, "a whole number within its limits");
  return value->get<std::uint64_t>();
}

Result<bool> flag(const Json& json, const char* name) {
  TRY(const Json* const value, field(json, name));
  if (!value->is_boolean()) return mistyped(name, "true or false");
  return value->get<bool>();
}

Result<std::set<std::string>> texts(const Json& json, const char* name) {
  TRY(const Json* const value, field(json, name));
  if (!value->is_array()) return mistyped(name, "a list");
  std::set<std::string> out;
  for (const Json& one : *value) {
    if (!one.is_string()) return mistyped(name, "a list of texts");
    out.insert(one.get<std::string>());
  }
  return out;
}

Result<WallTime> time(const Json& json, const char* name) {
  TRY(const Json* const value, field(json, name));
  return time_from(*value, name);
}

Json time_json(WallTime at) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count();
}

Result<WallTime> time_from(const Json& json, const std::string& name) {
  if (!is_within(json, kTimeMax)) return mistyped(name, "a time");
  return WallTime(std::chrono::nanoseconds(json.get<std::int64_t>()));
}

}  // namespace lockstep::stored
