// http_post: one POST of JSON over HTTP or HTTPS, by libcurl.
//
// Promises: any thread. Returns within `timeout`, and within a second once a stop is requested. Follows no
// redirect, uses no proxy or file of the user's environment, and speaks no other protocol. Certificates are
// verified. Of the answer, kAnswerMax bytes are kept, for a log.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace lockstep {

struct HttpPost {
  std::string url;
  std::string body;
  std::vector<std::string> headers{};  // "name: value"
  std::string ca_file{};               // PEM; empty: the system's authorities
  std::chrono::milliseconds timeout{10'000};
};

struct HttpAnswer {
  int status = 0;     // 0: none came
  std::string why{};  // none came, or the answer's first line
  std::optional<std::chrono::seconds> retry_after{};
};

inline constexpr std::size_t kAnswerMax = 512;

HttpAnswer http_post(const HttpPost& request, const std::stop_token& stop);

}  // namespace lockstep
