#include "bench/suspects.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace lockstep::bench {
namespace {

using Thing = std::pair<Suspect::Kind, std::string>;
using Chances = std::map<std::size_t, double>;  // by pair: the probability that it crossed the thing

constexpr std::string_view kArrow = " -> ";

std::string device_of(std::string_view port) { return std::string(port.substr(0, port.find(':'))); }

void add(Chances& chances, std::size_t pair, double chance) {
  chances[pair] = std::min(1.0, chances[pair] + chance);
}

// "leaf0:up0 <-> spine0:down0": a fault of the cable or of its port often affects both directions.
void add_links(std::map<Thing, Chances>& things, std::size_t pair, const Measurement& measurement) {
  std::map<std::string, double> entered;
  for (const CrossedLink& link : measurement.links) {
    add(things[{Suspect::Kind::link, link.name}], pair, link.chance);
    const std::size_t arrow = link.name.find(kArrow);
    if (arrow == std::string::npos) continue;
    std::string from = link.name.substr(0, arrow);
    std::string to = link.name.substr(arrow + kArrow.size());
    entered[device_of(to)] += link.chance;
    if (to < from) std::swap(from, to);
    add(things[{Suspect::Kind::cable, from + " <-> " + to}], pair, link.chance);
  }
  for (const auto& [device, chance] : entered) add(things[{Suspect::Kind::device, device}], pair, chance);
}

// The sending and the receiving side of a pair are suspected separately (a slow row or column).
void add_end(std::map<Thing, Chances>& things, std::size_t pair, const std::string& endpoint,
             const char* side) {
  if (endpoint.empty()) return;
  add(things[{Suspect::Kind::endpoint, endpoint + side}], pair, 1);
  add(things[{Suspect::Kind::device, device_of(endpoint)}], pair, 1);
}

std::map<Thing, Chances> things_of(std::span<const Measurement> measurements) {
  std::map<Thing, Chances> things;
  for (std::size_t i = 0; i < measurements.size(); ++i) {
    add_links(things, i, measurements[i]);
    add_end(things, i, measurements[i].from, " sending");
    add_end(things, i, measurements[i].to, " receiving");
    for (const std::string& rank : measurements[i].ranks) add_end(things, i, rank, "");
  }
  return things;
}

// How much better a fault of the thing explains the pairs over it than no common fault: the logarithm of the
// likelihood ratio. Pairs that can't have crossed it contribute nothing.
double gain(const Chances& chances, const std::set<std::size_t>& slow,
            const std::set<std::size_t>& explained) {
  double sum = 0;
  for (const auto& [pair, chance] : chances) {
    if (explained.contains(pair)) continue;
    const double is_slow = kMistaken + (1 - 2 * kMistaken) * chance;
    sum += slow.contains(pair) ? std::log(is_slow / kMistaken) : std::log((1 - is_slow) / (1 - kMistaken));
  }
  return sum;
}

Suspect told(const Thing& thing, const Chances& chances, const std::set<std::size_t>& slow,
             std::size_t rank) {
  Suspect suspect{thing.first, thing.second, rank, 0, chances.size()};
  for (const auto& [pair, chance] : chances) suspect.slow += slow.contains(pair) ? 1 : 0;
  return suspect;
}

}  // namespace

std::vector<Suspect> suspects(std::span<const Measurement> measurements, std::span<const std::size_t> slow) {
  const std::set<std::size_t> guilty(slow.begin(), slow.end());
  if (guilty.empty() || guilty.size() >= measurements.size()) return {};
  const std::map<Thing, Chances> things = things_of(measurements);
  std::vector<Suspect> found;
  std::set<std::size_t> explained;
  for (std::size_t rank = 0; explained.size() < guilty.size(); ++rank) {
    constexpr double kAlike = 1e-9;  // equal except for rounding
    double best = kAlike;
    for (const auto& [thing, chances] : things) best = std::max(best, gain(chances, guilty, explained));
    if (best <= kAlike) break;
    std::set<std::size_t> now;
    for (const auto& [thing, chances] : things) {
      if (gain(chances, guilty, explained) < best - kAlike) continue;
      found.push_back(told(thing, chances, guilty, rank));
      for (const auto& [pair, chance] : chances)
        if (guilty.contains(pair)) now.insert(pair);
    }
    explained.merge(now);
  }
  return found;
}

void join(std::vector<Suspect>& all, const std::vector<Suspect>& more) {
  for (const Suspect& one : more) {
    const auto known = std::find_if(all.begin(), all.end(), [&one](const Suspect& seen) {
      return seen.kind == one.kind && seen.name == one.name;
    });
    if (known == all.end())
      all.push_back(one);
    else if (one.rank < known->rank)
      *known = one;
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Suspect& a, const Suspect& b) { return a.rank < b.rank; });
}

}  // namespace lockstep::bench
