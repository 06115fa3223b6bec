#include "reconciler/api/answer.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reconciler/api/api_object.hpp"

namespace lockstep::api {
namespace {

// By what a client can do about it.
Http http_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid_spec: return Http::bad_request;
    case ErrorKind::denied: return Http::forbidden;
    case ErrorKind::conflict: return Http::conflict;
    case ErrorKind::refused:
    case ErrorKind::unsupported: return Http::unprocessable;
    case ErrorKind::transient:
    case ErrorKind::cancelled: return Http::unavailable;
    case ErrorKind::unknown_outcome: break;
  }
  return Http::internal_error;
}

}  // namespace

std::string_view reason_of(Http status) {
  switch (status) {
    case Http::bad_request: return "BadRequest";
    case Http::unauthorized: return "Unauthorized";
    case Http::forbidden: return "Forbidden";
    case Http::not_found: return "NotFound";
    case Http::method_not_allowed: return "MethodNotAllowed";
    case Http::not_acceptable: return "NotAcceptable";
    case Http::conflict: return "Conflict";
    case Http::gone: return "Expired";
    case Http::too_large:
    case Http::uri_too_long:
    case Http::headers_too_large: return "RequestEntityTooLarge";
    case Http::unsupported_media_type: return "UnsupportedMediaType";
    case Http::unprocessable: return "Invalid";
    case Http::too_many_requests: return "TooManyRequests";
    case Http::unavailable: return "ServiceUnavailable";
    case Http::ok:
    case Http::accepted:
    case Http::no_content: return "";
    case Http::internal_error:
    case Http::version_not_supported: break;
  }
  return "InternalError";
}

nlohmann::json status_json(Http status, std::string_view message) {
  const bool well = static_cast<int>(status) < 400;
  nlohmann::json out{{"kind", "Status"},
                     {"apiVersion", "v1"},
                     {"metadata", nlohmann::json::object()},
                     {"status", well ? "Success" : "Failure"},
                     {"message", message},
                     {"code", static_cast<int>(status)}};
  if (!well) out["reason"] = reason_of(status);
  make_presentable(out);
  return out;
}

Answer failure(Http status, std::string_view message) {
  Answer out{.status = status, .body = status_json(status, message).dump()};
  // RFC 6750 3: how to authenticate.
  if (status == Http::unauthorized) out.headers.emplace_back("WWW-Authenticate", "Bearer");
  return out;
}

Answer failure(const Error& error) { return failure(http_of(error.kind), error.text()); }

Answer too_many(std::string_view message, std::chrono::nanoseconds wait) {
  Answer out = failure(Http::too_many_requests, message);
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait);
  out.headers.emplace_back("Retry-After", std::to_string(std::max<std::int64_t>(1, seconds.count())));
  return out;
}

Answer not_found(const KindRow& kind, const std::string& name) {
  return failure(Http::not_found, std::string(kind.plural) + " \"" + name + "\" not found");
}

Answer success(Http status, std::string_view message) {
  return {.status = status, .body = status_json(status, message).dump()};
}

}  // namespace lockstep::api
