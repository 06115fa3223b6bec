// ListenAddress: where the API listens: ADDRESS:PORT, [ADDRESS]:PORT or unix:PATH.
//
// Promises: pure. Refuses (invalid_spec) names and malformed addresses.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <string>

#include "specs/model/result.hpp"

namespace lockstep::api {

struct ListenAddress {
  std::string path;  // of a UNIX socket; empty: TCP
  boost::asio::ip::tcp::endpoint tcp{};
  bool needs_tls() const { return path.empty() && !tcp.address().is_loopback(); }
};
Result<ListenAddress> parse_listen(const std::string& text);

// For limits: the address, or the /64 of an IPv6 address, as whoever has one of its addresses has them all.
std::string limits_key_of(const boost::asio::ip::address& address);

}  // namespace lockstep::api
