// An agent that answers as a test tells it, with OpenSSL's blocking calls and none of the product's network
// code: a thread for each connection.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "drivers/agent/network.hpp"
#include "drivers/agent/tls.hpp"
#include "specs/files/descriptor.hpp"
#include "tests/unit/agent/pki.hpp"

namespace lockstep {

class ScriptedAgent {
 public:
  struct Request {
    std::string line;     // "POST /v1/hello HTTP/1.1"
    std::string headers;  // the other lines
    std::string body;
    std::string peer;          // the URI of the client's certificate
    std::size_t connection{};  // 1: the first
  };
  enum class Then : std::uint8_t {
    keep,   // reads the next request
    close,  // ends TLS and TCP
    cut,    // ends TCP alone
    hang,   // does nothing until the client goes
    flood,  // sends `again` again and again until the client goes
  };
  struct Reply {
    std::string bytes;
    Then then = Then::keep;
    bool bytewise = false;  // each byte in a TLS record of its own
    std::string again{};
  };
  using Script = std::function<Reply(const Request&)>;

  // `believed`: the CA of clients; empty: that of `files`. `before_tls`: answered to whoever connects,
  // instead of TLS. `port`: 0: any.
  ScriptedAgent(const TlsFiles& files, Script script, const std::string& believed = "",
                const std::string& before_tls = "", std::uint16_t port = 0);
  ~ScriptedAgent();
  ScriptedAgent(const ScriptedAgent&) = delete;
  ScriptedAgent& operator=(const ScriptedAgent&) = delete;

  std::uint16_t port() const { return port_; }
  AgentAddress address(const std::string& device = "gpu1", const std::string& host = "127.0.0.1") const {
    return {device, {host, port_}};
  }
  // Ends all connections, as an agent does that is restarted. They are closed when this returns.
  void cut_connections();
  // Sends it over every connection that hangs, once there is one.
  void send(const std::string& bytes);

  std::vector<Request> requests() const;
  std::size_t connections() const;       // in all
  std::size_t open_connections() const;  // whose client is there
  // False: it did not come true within 20 s. `holds` is asked after each event.
  bool wait(const std::function<bool()>& holds) const;
  bool wait_for_requests(std::size_t count) const;

 private:
  struct Peer {
    std::size_t number = 0;
    Descriptor socket{};
    SSL* tls = nullptr;
    bool hangs = false;  // under mutex_
    std::thread thread{};
  };
  void accept_all();
  void serve(Peer& peer);
  void converse(Peer& peer);
  bool read_request(Peer& peer, Request& request);
  bool answer(Peer& peer, const Reply& reply);
  void hang(Peer& peer);

  const Script script_;
  const std::string before_tls_;
  TlsContext context_;
  Descriptor listener_;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::list<Peer> peers_;
  std::vector<Request> requests_;
  std::size_t open_ = 0;
  std::thread thread_;
};

// A whole answer.
std::string http(const std::string& body, const std::string& status = "200 OK",
                 const std::string& headers = "");

}  // namespace lockstep
