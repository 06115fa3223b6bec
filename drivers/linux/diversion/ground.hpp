// Ground: what one reading of a network namespace shows, and what of it is the specs' own.
//
// Lawful is what carries out what the specs say: our own routes and rules, the rules that each namespace
// starts with, BGP's routes by the routing daemon in the main table, and the routes that the kernel makes for
// addresses of wanted ports and the loopback. Of the daemon's those that the specs don't want by name are
// lawful where they lead as the wanted one around them does (whatever way that is: fib[...] says), and where
// no wanted one is around them. All else is foreign. Promises: a rule that the namespace started with, and
// the local route of an own address, are lawful's whether they are still there or not, so that a walk of
// `lawful` says what should be.
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
// How packets leave by it: port, gateway, encapsulation.
using Leaving = std::tuple<std::uint32_t, std::optional<IpAddress>, std::uint16_t>;
Leaving leaving_by(const NextHop& hop);

class Ground {
 public:
  // `routed`: the destinations that specs want routes of the daemon to; none: it is not known.
  Ground(NetworkState network, std::vector<Neighbour> neighbours, std::set<std::uint32_t> ports,
         const std::set<IpPrefix>& routed);
  Ground(const Ground&) = delete;
  Ground& operator=(const Ground&) = delete;

  bool is_foreign(const Route& route) const;
  bool is_local(const IpAddress& address) const;
  bool is_up(std::uint32_t port) const;  // a wanted port that takes frames
  // The rule that a namespace starts with, if somebody took this one out.
  bool is_missing(const Rule& rule) const;
  bool is_missing(const Route& route) const;  // one of `gone`

  const NetworkState network;  // with the routes of the local table
  const std::vector<Neighbour> neighbours;
  const std::set<std::uint32_t> ports;            // the wanted ones
  const std::map<IpPrefix, const Route*> routed;  // null: the daemon has none there
  const std::vector<Route> gone;                  // local routes of own addresses that somebody took out
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
