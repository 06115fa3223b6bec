// Authentication: who makes a request, by a bearer token, the client certificate of its TLS connection, or
// its user on this machine's UNIX socket.
//
// Promises: a request that comes with a token is judged by it alone. Over the UNIX socket, root and the
// service's own user are admins; nobody is anything only because a request comes from this machine. For one
// thread.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "drivers/agent/identity.hpp"
#include "reconciler/api/role.hpp"
#include "reconciler/api/tokens.hpp"

namespace lockstep::api {

// The other end of a connection.
struct Peer {
  std::string address{};                      // "192.0.2.7"; of the UNIX socket: "this machine"
  std::string limits_key{};                   // the address, or IPv6 network, whose limits count
  std::optional<PeerIdentity> certificate{};  // that was verified, of this cluster's user
  std::string why_no_certificate{};           // why the one that came is not accepted; empty: none came
  std::optional<uid_t> user{};                // of the UNIX socket
};

struct AuthenticatedAs {
  Caller caller;
  std::optional<TokenOwner> token{};  // by which it was
};

class Authentication {
 public:
  // `own_user`: the service's.
  Authentication(TokenFile tokens, uid_t own_user) : tokens_(std::move(tokens)), own_user_(own_user) {}

  // `authorization`: the header's value. Errors (denied): why nobody is known.
  Result<AuthenticatedAs> judge(std::string_view authorization, const Peer& peer) const;
  // Whether it still is, after the tokens were read again.
  bool holds(const AuthenticatedAs& as) const { return !as.token || tokens_.accepts(*as.token); }
  bool refresh(const std::function<void(const std::string&)>& log) { return tokens_.refresh(log); }

 private:
  TokenFile tokens_;
  const uid_t own_user_;
};

}  // namespace lockstep::api
