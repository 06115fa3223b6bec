// Answer: what a request gets, before it is bytes of HTTP. Everything that fails is a Status of Kubernetes
// (metav1.Status), in JSON, with a message that says what is wrong.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reconciler/api/kinds.hpp"
#include "specs/model/result.hpp"

namespace lockstep::api {

inline constexpr std::string_view kJson = "application/json";
inline constexpr std::string_view kText = "text/plain; charset=utf-8";
inline constexpr std::string_view kEventStream = "text/event-stream";

// RFC 9110 15, and 429 and 431 of RFC 6585.
enum class Http : std::uint16_t {
  ok = 200,
  accepted = 202,
  no_content = 204,
  bad_request = 400,
  unauthorized = 401,
  forbidden = 403,
  not_found = 404,
  method_not_allowed = 405,
  not_acceptable = 406,
  conflict = 409,
  gone = 410,
  too_large = 413,
  uri_too_long = 414,
  unsupported_media_type = 415,
  unprocessable = 422,
  too_many_requests = 429,
  headers_too_large = 431,
  internal_error = 500,
  unavailable = 503,
  version_not_supported = 505,
};

struct Answer {
  Http status = Http::ok;
  std::string body{};
  std::string_view type = kJson;
  std::vector<std::pair<std::string_view, std::string>> headers{};
};

// The word of Kubernetes for a status: "NotFound".
std::string_view reason_of(Http status);
Answer failure(Http status, std::string_view message);
Answer failure(const Error& error);                                        // by its kind
Answer too_many(std::string_view message, std::chrono::nanoseconds wait);  // 429, with Retry-After
// "devices \"gpu9\" not found", as Kubernetes words it.
Answer not_found(const KindRow& kind, const std::string& name);
Answer success(Http status, std::string_view message);
// The Status alone, for a watch's event ERROR.
nlohmann::json status_json(Http status, std::string_view message);

}  // namespace lockstep::api
