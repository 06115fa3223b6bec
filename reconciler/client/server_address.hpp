// ServerAddress: where a client reaches a service: unix:/PATH, https://HOST[:PORT], or http:// on loopback.
//
// Promises: pure. Refuses (invalid_spec) everything else, with what would be right: TCP without TLS beyond
// this machine, a user or password in the address, a path, a query.
#pragma once

#include <string>

#include "specs/model/result.hpp"

namespace lockstep::client {

struct ServerAddress {
  std::string text{};    // as it was written
  std::string socket{};  // path of a UNIX socket; empty: TCP
  std::string origin{};  // "https://pod1.example.org:7445", to which paths are added
  bool tls = false;
};
Result<ServerAddress> parse_server(const std::string& text);

}  // namespace lockstep::client
