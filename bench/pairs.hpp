// Endpoints and the choice of pairs: who sends to whom.
//
// Promises: pairs are directed, never within one device (same-host pairs are not counted), in the same order
// on every run: by distance around the circle of endpoints, so that each run of n consecutive pairs has every
// endpoint once as sender and once as receiver. sample(N) takes whole turns of that circle, chosen by the
// seed, so that every endpoint is used before any is used twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "specs/language/validation_suite.hpp"
#include "specs/model/result.hpp"

namespace lockstep::bench {

struct Endpoint {
  std::string device;   // gpu1
  std::string port;     // rail0
  std::string address;  // 10.64.0.1, the source address to bind
  std::string leaf;     // the switch at the other end of its link
  std::string rail;     // "0"; empty where the topology has no rails

  std::string name() const { return port.empty() ? device : device + ":" + port; }
};

struct Pair {
  std::size_t from = 0;  // index into the endpoints
  std::size_t to = 0;
  auto operator<=>(const Pair&) const = default;
};

std::vector<Pair> select_pairs(std::span<const Endpoint> endpoints, const PairChoice& choice,
                               std::uint64_t seed = 1);

// `invalid_spec`: a pair refers to a missing endpoint, or to the same one twice.
Result<Done> check_rounds(std::span<const std::vector<Pair>> rounds, std::size_t endpoints);

// One ring per rail, in the order of the endpoints; a rail with one rank has none. Without rails: one ring.
struct Group {
  std::string name;
  std::vector<std::size_t> ranks;
  bool operator==(const Group&) const = default;
};
std::vector<Group> rail_groups(std::span<const Endpoint> endpoints);

}  // namespace lockstep::bench
