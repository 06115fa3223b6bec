#include "bench/pairs.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string_view>

#include "drivers/runtime/random.hpp"

namespace lockstep::bench {
namespace {

bool wanted(const Endpoint& from, const Endpoint& to, PairChoice::Way way) {
  if (from.device == to.device) return false;
  if (way == PairChoice::Way::same_rail) return from.rail == to.rail;
  if (way == PairChoice::Way::cross_leaf) return from.leaf != to.leaf;
  return true;
}

void take_turn(std::span<const Endpoint> endpoints, std::size_t distance, PairChoice::Way way,
               std::vector<Pair>& chosen) {
  const std::size_t n = endpoints.size();
  for (std::size_t from = 0; from < n; ++from) {
    const std::size_t to = (from + distance) % n;
    if (wanted(endpoints[from], endpoints[to], way)) chosen.push_back({from, to});
  }
}

std::vector<Pair> rings(std::span<const Endpoint> endpoints) {
  std::vector<Pair> chosen;
  for (const Group& group : rail_groups(endpoints))
    for (std::size_t i = 0; i < group.ranks.size(); ++i)
      chosen.push_back({group.ranks[i], group.ranks[(i + 1) % group.ranks.size()]});
  return chosen;
}

}  // namespace

Result<Done> check_rounds(std::span<const std::vector<Pair>> rounds, std::size_t endpoints) {
  for (const auto& round : rounds)
    for (const Pair& pair : round) {
      if (pair.from >= endpoints || pair.to >= endpoints)
        return Error{ErrorKind::invalid_spec, "the plan names an endpoint that is not there"};
      if (pair.from == pair.to)
        return Error{ErrorKind::invalid_spec, "the plan pairs an endpoint with itself"};
    }
  return Done{};
}

std::vector<Group> rail_groups(std::span<const Endpoint> endpoints) {
  std::vector<Group> groups;
  std::map<std::string, std::size_t> place;
  std::vector<std::set<std::string_view>> devices;  // by group
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    const std::string& rail = endpoints[i].rail;
    const auto [found, fresh] = place.emplace(rail, groups.size());
    if (fresh) {
      groups.push_back({rail.empty() ? "all" : "rail" + rail, {}});
      devices.emplace_back();
    }
    // A second port of the same device on the same rail would make a pair within one host.
    if (devices[found->second].insert(endpoints[i].device).second) groups[found->second].ranks.push_back(i);
  }
  std::erase_if(groups, [](const Group& group) { return group.ranks.size() < 2; });
  return groups;
}

std::vector<Pair> select_pairs(std::span<const Endpoint> endpoints, const PairChoice& choice,
                               std::uint64_t seed) {
  if (choice.way == PairChoice::Way::ring) return rings(endpoints);
  const std::size_t n = endpoints.size();
  std::vector<Pair> chosen;
  if (n < 2) return chosen;
  std::vector<std::size_t> distances(n - 1);
  std::iota(distances.begin(), distances.end(), 1);
  const bool sampling = choice.way == PairChoice::Way::sample;
  if (sampling) {
    Random random{seed};
    for (std::size_t i = distances.size(); i > 1; --i)
      std::swap(distances[i - 1], distances[random.below(i)]);
  }
  for (const std::size_t distance : distances) {
    take_turn(endpoints, distance, choice.way, chosen);
    if (sampling && chosen.size() >= choice.sample) break;
  }
  if (sampling && chosen.size() > choice.sample) chosen.resize(choice.sample);
  return chosen;
}

}  // namespace lockstep::bench
