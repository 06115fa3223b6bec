// ServerTable: the connections of an agent, and which of them goes when there are too many.
//
// Contract: none of them keeps the others from being served. Of connections without an accepted certificate,
// the oldest of the address (IPv6: of its /64) that has the most of them goes first. Of the others, one goes
// of the peer that has the most: between two requests if there is one, never one that may be changing the
// device. One thread.
#pragma once

#include <array>
#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace lockstep::agent {

class ServerConnection;

using AddressKey = std::array<unsigned char, 16>;
AddressKey key_of(const boost::asio::ip::address& address);

class ServerTable {
 public:
  ServerTable(std::size_t strangers_max, std::size_t peers_max)
      : strangers_max_(strangers_max), peers_max_(peers_max) {}

  // A new connection, whose certificate is not known yet. The one that has to go, if any.
  std::shared_ptr<ServerConnection> add(const std::shared_ptr<ServerConnection>& stranger);
  struct Promotion {
    bool accepted = false;
    std::shared_ptr<ServerConnection> leaves{};
  };
  // Its certificate was accepted. Not accepted: there is no place for it, and it stays a stranger.
  Promotion promote(ServerConnection& connection);
  void remove(const ServerConnection& connection);
  std::shared_ptr<ServerConnection> oldest_stranger() const;
  // Of both kinds.
  std::vector<std::shared_ptr<ServerConnection>> all() const;

 private:
  using ByAge = std::map<std::uint64_t, std::shared_ptr<ServerConnection>>;
  std::shared_ptr<ServerConnection> one_to_leave(const std::string& for_peer) const;

  const std::size_t strangers_max_;
  const std::size_t peers_max_;
  ByAge strangers_;
  ByAge peers_;
  std::map<AddressKey, std::size_t> strangers_of_;
};

}  // namespace lockstep::agent
