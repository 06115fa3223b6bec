// ApiServer: the API over HTTP/1.1: on TCP with TLS 1.3 (plain only on loopback) and on a UNIX socket.
//
// Promises: what a client does costs a bounded amount of memory and no other client its service: the limits
// of ServerLimits hold, each of which is answered by a status that says so, or ends the connection where
// there is no request to answer. Whoever is too slow with a handshake, a header, a body or with reading is
// cut off. Watches end when their credential does: a token that was revoked, a certificate that has expired
// or whose revocation list has it; the others go on. Changed tokens, secrets and TLS files hold within a
// second, for new requests (TLS files: connections). stop() ends all connections; actions that have begun are
// waited for; plans of specs are stopped. Refuses at start, each with what to do: what listening_sockets.hpp
// refuses; files that can't be used.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drivers/agent/tls.hpp"
#include "reconciler/api/api_service.hpp"
#include "reconciler/api/listening_sockets.hpp"

namespace lockstep::api {

struct ServerLimits {
  RequestLimits requests{};
  // 1,000 watchers (the goal of a service of 4,096 devices), and half as many that ask.
  std::size_t connections_max = 1536;
  std::size_t watches_max = 1024;
  // Of one address (IPv6: /64), or all of this machine: a proxy's, or a script's that starts one for each
  // device. A tenth of all, so that no one of them takes all.
  std::size_t connections_per_client = 154;
  // Without a finished TLS handshake, in all: as the agent's.
  std::size_t handshakes_max = 256;
  std::size_t header_max = std::size_t{16} << 10;   // as the agent's; a token and selectors have some 2 KiB
  std::size_t target_max = std::size_t{8} << 10;    // RFC 9110 4.1 advises 8,000 octets at least
  std::chrono::milliseconds handshake_time{5'000};  // as the agent's
  std::chrono::milliseconds header_time{10'000};    // of a few KiB, by the slowest person's network
  std::chrono::milliseconds body_time{30'000};      // of 25 MiB at 7 Mbit/s
  std::chrono::milliseconds write_time{30'000};     // for each 64 KiB: 17 kbit/s
  std::chrono::milliseconds idle_time{120'000};     // between two requests, as the agent's
  std::chrono::milliseconds heartbeat{15'000};      // of watches (service.md D6); proxies cut at 60 s
  // Threads that wait for the store, and as many for the engine and the audit log.
  std::size_t waiting_threads = 2;
};

struct ServerSettings {
  // "127.0.0.1:7445", "[::1]:7445", "0.0.0.0:7445", "unix:/run/lockstep/api.sock". Port 0: any.
  // With `tls`, all of TCP is TLS, loopback as well.
  std::vector<std::string> listen;
  std::vector<GivenSocket> given{};                // by systemd; open for as long as the server runs
  std::string cluster{};                           // whose users' certificates are accepted
  std::optional<TlsFiles> tls{};                   // `ca`: of users' certificates; none: plain
  std::string tokens{};                            // file (tokens.hpp); empty: none
  std::string audit;                               // file (audit_log.hpp)
  std::map<Forge, std::string> webhook_secrets{};  // files, by forge
  ServerLimits limits{};
  ServiceMetrics* metrics = nullptr;  // outlives it; null: there are none
  Planner planner{};                  // of specs that are not the service's; null: none are planned
  std::function<void(const std::string&)> log = [](const std::string&) {};  // one thread at a time
};

class ApiServer {
 public:
  // `desk`, `feed` and `log` outlive it; it listens to the log.
  static Result<std::unique_ptr<ApiServer>> start(ServerSettings settings, ServiceDesk& desk,
                                                  const ObjectFeed& feed, EventLog& log);
  virtual ~ApiServer() = default;  // stops
  // Of the i-th of ServerSettings::listen; 0 for a UNIX socket.
  virtual std::uint16_t port(std::size_t i) const = 0;
};

}  // namespace lockstep::api
