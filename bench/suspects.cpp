#include "bench/suspects.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace lockstep::bench {
namespace {

using Thing = std::pair<Suspect::Kind, std::string>;

// "gpu1:rail0, sending": a pair blames the sending and the receiving side apart (a slow row or column).
void add_end(std::set<Thing>& things, const std::string& endpoint, const char* side) {
  if (endpoint.empty()) return;
  things.emplace(Suspect::Kind::endpoint, endpoint + side);
  things.emplace(Suspect::Kind::device, endpoint.substr(0, endpoint.find(':')));
}

std::set<Thing> things_of(const Measurement& measurement) {
  std::set<Thing> things;
  for (const std::string& link : measurement.links) things.emplace(Suspect::Kind::link, link);
  add_end(things, measurement.from, " sending");
  add_end(things, measurement.to, " receiving");
  for (const std::string& rank : measurement.ranks) add_end(things, rank, "");
  return things;
}

}  // namespace

std::vector<Suspect> suspects(std::span<const Measurement> measurements, std::span<const std::size_t> slow) {
  const std::set<std::size_t> guilty(slow.begin(), slow.end());
  if (guilty.empty() || guilty.size() >= measurements.size()) return {};
  std::map<Thing, Suspect> found;
  for (std::size_t i = 0; i < measurements.size(); ++i) {
    for (const Thing& thing : things_of(measurements[i])) {
      Suspect& suspect = found[thing];
      suspect.kind = thing.first;
      suspect.name = thing.second;
      ++suspect.pairs;
      if (guilty.contains(i)) ++suspect.slow;
    }
  }
  std::vector<Suspect> ranked;
  for (auto& [thing, suspect] : found) {
    suspect.in_all_slow = suspect.slow == guilty.size();
    // Majority vote: more slow than healthy pairs over it, or the one thing that all slow pairs share.
    if (2 * suspect.slow > suspect.pairs || (suspect.slow > 0 && suspect.in_all_slow))
      ranked.push_back(suspect);
  }
  const auto key = [](const Suspect& s) {
    return std::make_tuple(!s.in_all_slow, -s.score(), -static_cast<double>(s.slow), s.kind, s.name);
  };
  std::sort(ranked.begin(), ranked.end(),
            [&](const Suspect& a, const Suspect& b) { return key(a) < key(b); });
  return ranked;
}

}  // namespace lockstep::bench
