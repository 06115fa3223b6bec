// Ground: one reading of a network namespace, and which parts of it belong to the specs.
//
// Lawful state implements the specs: our own routes and rules, the initial rules of each namespace, the
// routing daemon's BGP routes in the main table, and the kernel's routes for addresses of desired ports and
// the loopback. A route of the daemon that the specs don't name is lawful if it leads the same way as the
// desired one that contains it (whichever way that is: fib[...] reports it), or if no desired one contains
// it. Everything else is foreign. Promises: an initial rule of the namespace, and the local route of an own
// address, are lawful whether they still exist or not, so that a lookup in `lawful` gives the intended
// result.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "drivers/linux/diversion/fib.hpp"

namespace lockstep::diversion {

bool is_foreign(const Rule& rule);
bool is_of_daemon(const Route& route);  // by its protocol

IpPrefix alone(const IpAddress& address);  // 10.64.0.1/32
// How packets leave through it: port, gateway, encapsulation.
using Leaving = std::tuple<std::uint32_t, std::optional<IpAddress>, std::uint16_t>;
Leaving leaving_by(const NextHop& hop);

class Ground {
 public:
  // `routed`: the destinations for which specs want routes of the daemon; none: unknown.
  Ground(NetworkState network, std::vector<Neighbour> neighbours, std::set<std::uint32_t> ports,
         const std::set<IpPrefix>& routed);
  Ground(const Ground&) = delete;
  Ground& operator=(const Ground&) = delete;

  bool is_foreign(const Route& route) const;
  bool is_local(const IpAddress& address) const;
  bool is_up(std::uint32_t port) const;  // a desired port that is operationally up
  // An initial rule of the namespace that was removed.
  bool is_missing(const Rule& rule) const;
  bool is_missing(const Route& route) const;  // one of `gone`

  const NetworkState network;  // with the routes of the local table
  const std::vector<Neighbour> neighbours;
  const std::set<std::uint32_t> ports;            // the desired ones
  const std::map<IpPrefix, const Route*> routed;  // null: the daemon has none there
  const std::vector<Route> gone;                  // local routes of own addresses that were removed
  const Fib all;
  const Fib lawful;

 private:
  std::vector<Rule> lawful_rules() const;
  std::vector<const Route*> lawful_routes() const;
  bool is_implied(const Route& route) const;
  bool is_of_an_aggregate(const Route& route) const;
  bool leads_as_wanted(const Route& route) const;
  std::map<IpPrefix, const Route*> routes_to(const std::set<IpPrefix>& wanted) const;
  std::vector<Route> local_routes_gone() const;
};

}  // namespace lockstep::diversion
