// Connection: HTTP requests to one service, over its UNIX socket, or TCP with TLS 1.3.
//
// Promises: nothing is sent before the server's certificate and name were verified. Credentials are read from
// their files for each request, and go to this server alone: no redirect is followed, and no proxy is asked
// but for https. A request ends by its call's deadline or stop. Errors: transient (nobody answers), denied
// (certificates, files of credentials), refused (what answers is no HTTP server), cancelled; unknown_outcome:
// the answer to a POST that was sent did not come. For one thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "drivers/posix/call.hpp"
#include "reconciler/client/server_address.hpp"
#include "specs/model/result.hpp"

namespace lockstep::client {

// Whom to reach, and as whom. Files; empty: none.
struct Endpoint {
  ServerAddress server{};
  std::string ca{};  // empty: the system's authorities
  std::string certificate{};
  std::string key{};
  std::string token_file{};
};

struct Patience {
  std::chrono::milliseconds connect{10'000};  // chosen: three SYNs (1 s, 3 s, 7 s)
  std::chrono::milliseconds answer{30'000};   // an action may wait 10 s for the engine (RequestLimits)
  std::chrono::milliseconds silence{45'000};  // of a stream: three of its heartbeats
  std::chrono::milliseconds again{1'000};  // before the next try; of a watch it doubles up to 30 times that
};

struct HttpRequest {
  std::string method = "GET";
  std::string target{};         // "/api/v1alpha1/devices"
  std::string body{};           // JSON
  std::string last_event_id{};  // of a stream
};
struct HttpReply {
  int status = 0;
  std::string type{};  // media type
  std::string body{};
  std::optional<std::chrono::milliseconds> retry_after{};
};

class Connection {
 public:
  virtual ~Connection() = default;
  static Result<std::unique_ptr<Connection>> open(Endpoint endpoint, Patience patience);

  virtual Result<HttpReply> send(const HttpRequest& request, const Call& call) = 0;
  // The body of an answer 200 goes to `piece`, until it returns false or the stream ends; other answers are
  // returned whole. A stream that was cut off (also by silence) is an error (transient).
  using Piece = std::function<bool(std::string_view)>;
  virtual Result<HttpReply> stream(const HttpRequest& request, const Call& call, const Piece& piece) = 0;
};

// A text as a part of a path or a query.
std::string percent_encoded(std::string_view text);

}  // namespace lockstep::client
