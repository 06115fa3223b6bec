// The JSON body of a request.
//
// Promises: never trusted: refused (invalid_spec), each with what is wrong, and before memory is used for it:
// what is not one JSON object, in UTF-8, at most kDepthMax deep and of at most `values` values; fields that
// are repeated, at any depth. A body of blanks is an empty object.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "specs/model/result.hpp"

namespace lockstep::api {

inline constexpr std::size_t kDepthMax = 8;  // the deepest legal body has two levels

Result<nlohmann::json> parse_json_body(std::string_view body, std::size_t values);
// "body: ..."
Error wrong_body(const std::string& what);

}  // namespace lockstep::api
