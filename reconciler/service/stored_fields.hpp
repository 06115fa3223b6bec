// Fields of the documents in which the service keeps its decisions for a restart.
//
// Promises: a damaged document gives an error (invalid_spec) that names the field: nothing is assumed in its
// place. Times are nanoseconds since 1970: the same time comes back, and no sum of it and a duration of years
// overflows.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>

#include "drivers/posix/call.hpp"
#include "specs/model/result.hpp"

namespace lockstep::stored {

Error damaged(const std::string& what);

// Errors: `json` is not an object, or has no such field.
Result<const nlohmann::json*> field(const nlohmann::json& json, const char* name);
Result<std::string> text(const nlohmann::json& json, const char* name);
// `most`: at most 2^62.
Result<std::uint64_t> number(const nlohmann::json& json, const char* name, std::uint64_t most);
Result<bool> flag(const nlohmann::json& json, const char* name);
Result<std::set<std::string>> texts(const nlohmann::json& json, const char* name);
Result<WallTime> time(const nlohmann::json& json, const char* name);

nlohmann::json time_json(WallTime at);
Result<WallTime> time_from(const nlohmann::json& json, const std::string& name);

}  // namespace lockstep::stored
