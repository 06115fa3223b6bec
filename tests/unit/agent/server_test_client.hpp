// A client of the agent's server made of a blocking socket and OpenSSL alone, which reads HTTP by itself:
// what it sees is not what the product's own client would make of it.
#pragma once

#include <openssl/ssl.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "specs/files/descriptor.hpp"
#include "tests/unit/agent/pki.hpp"

namespace lockstep {

// Polls until it holds, for 20 seconds at most.
bool soon(const std::function<bool()>& holds);
// A TCP connection to this machine, from an address of it; false: refused.
Descriptor connect_to(std::uint16_t port, const std::string& from = "127.0.0.1");
// Whether the other end ends the connection, by whatever means, without sending more than this many bytes.
bool ended_by_peer(int socket, std::size_t bytes_max = 4096);

class RawClient {
 public:
  struct Options {
    std::string from{"127.0.0.1"};
    int version = TLS1_3_VERSION;  // the highest offered
    int receive_buffer = 0;        // of the socket; 0: the kernel's choice
  };
  // A handshake with these files, or without any; checks nothing.
  RawClient(std::uint16_t port, const TlsFiles& files, const Options& options);
  RawClient(std::uint16_t port, const TlsFiles& files) : RawClient(port, files, Options{}) {}

  explicit operator bool() const { return finished_; }
  bool send(std::string_view bytes);
  // POST /v1/NAME.
  bool post(const std::string& name, const std::string& body, const std::string& headers = "");
  bool get(const std::string& path);

  struct Answer {
    int status = 0;  // 0: none came
    std::map<std::string, std::string> headers{};
    std::string body{};
  };
  Answer answer();
  Answer call(const std::string& name, const std::string& body, const std::string& headers = "") {
    return post(name, body, headers) ? answer() : Answer{};
  }
  // Of a chunked answer whose head was read by head(): the next chunk; empty: the last, or the end.
  std::string chunk();
  Answer head();
  // Reads to the end.
  bool closed();
  std::string rest();
  // Of the last failed read or handshake, as OpenSSL names it; empty: the connection just ended.
  const std::string& failure() const { return failure_; }
  int socket() const { return socket_.number(); }
  std::string server_serial() const;

 private:
  struct Free {
    void operator()(SSL* tls) const { SSL_free(tls); }
  };
  bool read_more();
  std::string take(std::size_t size);
  std::string line();

  Descriptor socket_;
  TlsContext context_;
  std::unique_ptr<SSL, Free> tls_;
  bool finished_ = false;
  std::string failure_;
  std::string read_;  // and not taken yet
};

}  // namespace lockstep
