// Ground: what one reading of a network namespace shows, and what of it is the specs' own.
//
// Lawful is what carries out what the specs say: our own routes and rules, the rules that each namespace
// starts with, BGP's routes by the routing daemon, and the routes that the kernel makes for addresses of
// wanted ports and the loopback. All else is foreign. Promises: a rule that the namespace started with is
// lawful's whether it is still there or not, so that a walk of `lawful` says what should be.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "drivers/linux/diversion/fib.hpp"

namespace lockstep::diversion {

bool is_foreign(const Rule& rule);

class Ground {
 public:
  Ground(NetworkState network, std::vector<Neighbour> neighbours, std::set<std::uint32_t> ports);
  Ground(const Ground&) = delete;
  Ground& operator=(const Ground&) = delete;

  bool is_foreign(const Route& route) const;
  bool is_local(const IpAddress& address) const;
  bool is_up(std::uint32_t port) const;  // a wanted port that takes frames
  // The rule that a namespace starts with, if somebody took this one out.
  bool is_missing(const Rule& rule) const;

  const NetworkState network;  // with the routes of the local table
  const std::vector<Neighbour> neighbours;
  const std::set<std::uint32_t> ports;  // the wanted ones
  const Fib all;
  const Fib lawful;

 private:
  std::vector<Rule> lawful_rules() const;
  std::vector<const Route*> lawful_routes() const;
  bool is_implied(const Route& route) const;
  bool is_of_an_aggregate(const Route& route) const;
};

}  // namespace lockstep::diversion
