// The target of an HTTP request, taken apart: path segments and query, percent-decoded.
//
// Promises: what is decoded is UTF-8 without NUL. Refused (invalid_spec), each with what is wrong: a target
// that is neither in origin form (/path?query) nor in absolute form (RFC 9112 3.2), a malformed escape, a
// parameter that comes twice, more parameters than kParametersMax. A slash that is escaped is a part of its
// segment.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "specs/model/result.hpp"

namespace lockstep::api {

// The API has nine; the others are ignored, as kubectl sends some of its own.
inline constexpr std::size_t kParametersMax = 32;

struct RequestTarget {
  std::vector<std::string> segments;         // of "/api/v1alpha1/devices": "api", "v1alpha1", "devices"
  std::map<std::string, std::string> query;  // by name; "watch" and "watch=" are the same
};
Result<RequestTarget> parse_target(std::string_view target);

// The value of an escaped text; `plus`: a plus is a space, as in a query.
Result<std::string> percent_decoded(std::string_view text, bool plus);

}  // namespace lockstep::api
