// Sockets for the probe: non-blocking TCP, bound to a given source, errors reported as the stage they belong
// to.
//
// Promises: a socket is closed by its owner; the source address is bound, and the source port if there is one
// (with several rails, source-policy routing follows the address). Stale path-MTU entries are flushed before
// a connect: a "fragmentation needed" of an earlier fault stays 600 s in the kernel's route exceptions
// (ip-sysctl, mtu_expires) and would lower or hide what is measured now.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "specs/files/descriptor.hpp"
#include "specs/model/result.hpp"

namespace lockstep::bench {

struct Address {
  sockaddr_storage bytes{};
  socklen_t length = 0;
};
Result<Address> parse_address(const std::string& text, std::uint16_t port);  // IPv4 or IPv6 literal
bool same_host(const Address& a, const Address& b);

Result<Descriptor> listen_on(const Address& address);  // port 0: the kernel chooses
std::uint16_t port_of(int fd);
// If no connection waits: a Descriptor of -1. Connections from hosts other than `peer` are closed.
Descriptor accept_from(int listener, const Address& peer);
// Connected or in progress; congestion: empty for the namespace's default.
Result<Descriptor> connect_from(const Address& source, const Address& peer, const std::string& congestion);

int socket_error(int fd);         // SO_ERROR, cleared by reading
std::string stage_of(int error);  // ECONNREFUSED: "connect refused"
void forget_path_mtu();
void close_hard(Descriptor& fd);  // RST: data that the peer still sends is discarded

}  // namespace lockstep::bench
