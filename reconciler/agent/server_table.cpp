#include "reconciler/agent/server_table.hpp"

#include <algorithm>
#include <utility>

#include "reconciler/agent/server_connection.hpp"

namespace lockstep::agent {
namespace {

// How little is lost with a connection; none: too much.
std::optional<int> loss_of(const ServerConnection& connection) {
  switch (connection.phase()) {
    case ServerConnection::Phase::idle: return 0;
    case ServerConnection::Phase::streaming: return 1;
    case ServerConnection::Phase::reading: return 2;
    default: break;
  }
  if (connection.role() == PeerRole::reader) return 3;
  return std::nullopt;
}

}  // namespace

AddressKey key_of(const boost::asio::ip::address& address) {
  if (address.is_v4())
    return boost::asio::ip::make_address_v6(boost::asio::ip::v4_mapped, address.to_v4()).to_bytes();
  AddressKey out = address.to_v6().to_bytes();
  if (address.to_v6().is_v4_mapped()) return out;
  std::fill(out.begin() + 8, out.end(), 0);  // whoever has one address of a /64 has them all
  return out;
}

std::shared_ptr<ServerConnection> ServerTable::add(const std::shared_ptr<ServerConnection>& stranger) {
  strangers_.emplace(stranger->number(), stranger);
  ++strangers_of_[stranger->address_key()];
  if (strangers_.size() <= strangers_max_) return nullptr;
  const auto most =
      std::max_element(strangers_of_.begin(), strangers_of_.end(),
                       [](const auto& one, const auto& other) { return one.second < other.second; });
  for (const auto& [number, connection] : strangers_)
    if (connection->address_key() == most->first) return connection;
  return nullptr;
}

std::shared_ptr<ServerConnection> ServerTable::one_to_leave(const std::string& for_peer) const {
  std::map<std::string, std::size_t> have;
  for (const auto& [number, connection] : peers_) ++have[connection->peer()];
  std::size_t most = 0;
  for (const auto& [peer, count] : have) most = std::max(most, count);
  const bool is_the_most = have[for_peer] >= most;
  std::shared_ptr<ServerConnection> out;
  std::optional<int> least;
  for (const auto& [number, connection] : peers_) {
    const std::optional<int> loss = loss_of(*connection);
    // Who has the most already gets another only for one that it does not use.
    const bool may_leave = is_the_most ? connection->peer() == for_peer && loss == 0
                                       : loss.has_value() && have[connection->peer()] == most;
    if (!may_leave || (least && *least <= *loss)) continue;
    least = loss;
    out = connection;
  }
  return out;
}

ServerTable::Promotion ServerTable::promote(ServerConnection& connection) {
  Promotion out;
  if (peers_.size() >= peers_max_) {
    out.leaves = one_to_leave(connection.peer());
    if (!out.leaves) return out;
  }
  const auto at = strangers_.find(connection.number());
  if (at == strangers_.end()) return out;
  const std::shared_ptr<ServerConnection> kept = at->second;
  remove(connection);
  peers_.emplace(connection.number(), kept);
  out.accepted = true;
  return out;
}

void ServerTable::remove(const ServerConnection& connection) {
  peers_.erase(connection.number());
  if (strangers_.erase(connection.number()) == 0) return;
  const auto count = strangers_of_.find(connection.address_key());
  if (--count->second == 0) strangers_of_.erase(count);
}

std::shared_ptr<ServerConnection> ServerTable::oldest_stranger() const {
  return strangers_.empty() ? nullptr : strangers_.begin()->second;
}

std::vector<std::shared_ptr<ServerConnection>> ServerTable::all() const {
  std::vector<std::shared_ptr<ServerConnection>> out;
  for (const ByAge* const some : {&strangers_, &peers_})
    for (const auto& [number, connection] : *some) out.push_back(connection);
  return out;
}

}  // namespace lockstep::agent
