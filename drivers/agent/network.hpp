// AgentNetwork: the controller's end of all agents: HTTP/1.1 over TLS 1.3 on one I/O thread.
//
// Contract: call() blocks until the answer is there or its Call ends, whichever is first (deadline, stop
// token, wake descriptor); one attempt, at most one new connection; a kept connection that turns out to be
// closed before any byte of the request was sent is replaced once. At most two connections to an agent: one
// for calls, one for events. What an agent sends is bounded (size of headers and body, time between bytes);
// an agent that exceeds a bound costs its own connection only. Errors: `transient` where nothing was sent;
// `unknown_outcome` for a call that may write and whose request was sent without an answer; `denied` for
// identity; `refused` for a reading call whose answer is none of the protocol; else the agent's own error
// (one that was stopped, `cancelled`, is `transient` or `unknown_outcome` here: nobody here asked for it). A
// new connection carries no call that may write before it has answered a hello, so that a certificate that
// the agent refuses is `denied` and never an unknown outcome. Every message names the agent ("gpu1
// (https://10.0.0.1:7443): ...").
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "drivers/agent/tls.hpp"
#include "drivers/driver.hpp"

namespace lockstep {

struct AgentEndpoint {
  std::string host;  // name or address, without brackets
  std::uint16_t port = 7443;
  std::string text() const;  // "https://gpu1:7443", "https://[fd00::1]:7443"
};
// "https://HOST[:PORT]" and nothing else. Errors (invalid_spec): what of it is wrong.
Result<AgentEndpoint> parse_agent_url(std::string_view url);

struct AgentAddress {
  std::string device;
  AgentEndpoint endpoint;
  std::string text() const;  // "gpu1 (https://10.0.0.1:7443)"
};

class AgentNetwork {
 public:
  static constexpr std::chrono::milliseconds kReconnectMax{30'000};

  struct Options {
    TlsFiles files;
    std::string cluster;
    std::string netns_path{};            // a network namespace to connect from; empty: this one
    std::size_t answer_max = 64U << 20;  // bytes of a body
    // Between bytes of an answer; longer than the events' heartbeat of 15 s.
    std::chrono::milliseconds silence_max{20'000};
    // After events have ended, until they are asked for again; doubles up to kReconnectMax while that fails.
    std::chrono::milliseconds reconnect_min{1'000};
  };
  // Errors: the files, or the namespace.
  static Result<std::shared_ptr<AgentNetwork>> start(Options options);
  virtual ~AgentNetwork() = default;

  virtual const std::string& cluster() const = 0;  // of its options
  enum class Effect : std::uint8_t { reads, writes };
  // POST /v1/NAME. The body of a 200 answer.
  virtual Result<std::string> call(const AgentAddress& agent, std::string_view name, const std::string& body,
                                   Effect effect, const Call& call) = 0;
  // GET /v1/events as long as the watcher lives; reconnects by itself, and wakes (`all`) after each
  // reconnection.
  virtual Result<std::shared_ptr<Watcher>> events(const AgentAddress& agent) = 0;
};

}  // namespace lockstep
