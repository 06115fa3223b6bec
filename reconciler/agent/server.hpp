// AgentServer: the calls of protocol 1 over HTTP/1.1 and TLS 1.3, for controllers and readers of one cluster.
//
// Contract: what a client does costs the agent a bounded amount of memory and no other client its service:
// connections in all and without a finished handshake are limited (which of them goes first:
// server_table.hpp), and so are sizes of headers and bodies, the bytes of all bodies together, the time for a
// handshake and for a request, and the calls that run at once (readers' at most half of them). A reader's
// call that would write is 403; an unknown path 404; a wrong method 405; a body beyond the limit 413. Every
// refused handshake is logged with its reason, at most once a second for one address. A certificate of our
// CA that is refused for what it says (another cluster, a device's) gets 403 with the reason. Changed TLS
// files hold for new connections at once; within a second, others end as soon as they serve no call. So does
// one whose certificate, or the revocation list for it, has expired; no call of it begins from then on.
// Stopping ends all connections; calls that run are asked to stop and waited for.
//
// Besides the calls (POST /v1/NAME): GET /v1/healthz; GET /v1/events, a chunked answer of one JSON line for
// each wake (wire::Woken), and `{}` as a heartbeat. The header Lockstep-Deadline-Ms is the time that a call
// may take; without it call_time.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "drivers/agent/tls.hpp"
#include "drivers/driver.hpp"

namespace lockstep::agent {

struct Reply {
  int status = 200;
  std::string body;  // JSON
};
// The body is wire::encode(error).
Reply error_reply(const Error& error);

// What the server serves. Called by its worker threads, but for kind(), which must not wait.
class Calls {
 public:
  virtual ~Calls() = default;
  // POST /v1/NAME, by somebody whose role allows it.
  virtual Reply handle(std::string_view name, const std::string& body, PeerRole by, const Call& call) = 0;
  // Whether the call of that name exists, and whether it changes anything.
  enum class Kind : std::uint8_t { unknown, reads, writes };
  virtual Kind kind(std::string_view name) const = 0;
  // A new watch on the device, for one event stream.
  virtual Result<std::shared_ptr<Watcher>> watch() = 0;
};

struct ServerOptions {
  std::string listen = "[::]:7443";  // ADDRESS:PORT; port 0: any
  std::string cluster{};
  TlsFiles files{};
  std::string netns_path{};  // of a twin's device; empty: this process's
  std::size_t connections_max = 64;
  std::size_t handshakes_max = 256;
  std::size_t header_max = 16U << 10;
  std::size_t body_max = 16U << 20;
  std::size_t calls_max = 8;  // at once; more wait
  std::chrono::milliseconds handshake_time{5'000};
  std::chrono::milliseconds request_time{30'000};  // for all of a request's bytes
  std::chrono::milliseconds idle_time{120'000};    // of a connection between requests
  std::chrono::milliseconds call_time{
      120'000};  // the longest deadline of a call (header Lockstep-Deadline-Ms)
  std::chrono::milliseconds heartbeat{15'000};  // of event streams
};

class AgentServer {
 public:
  // Errors: the files; the address: `transient` if it may be had later, else `invalidSpec`. `log`: one line
  // for each thing that an operator of the machine should know; called by one thread at a time.
  static Result<std::unique_ptr<AgentServer>> start(ServerOptions options, std::shared_ptr<Calls> calls,
                                                    std::function<void(const std::string&)> log);
  virtual ~AgentServer() = default;  // stops
  virtual std::uint16_t port() const = 0;
};

}  // namespace lockstep::agent
