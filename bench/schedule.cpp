#include "bench/schedule.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace lockstep::bench {
namespace {

// The links that flows cross, renumbered, each once per flow: links that no flow crosses cost nothing.
struct Crossed {
  std::vector<std::vector<std::uint32_t>> links;         // by flow
  std::vector<std::optional<std::uint64_t>> capacities;  // by link; none: unknown
  std::vector<std::uint64_t> bits_per_second;            // by flow

  Crossed(std::span<const Flow> flows, std::span<const std::uint64_t> of_all) {
    std::unordered_map<std::uint32_t, std::uint32_t> numbers;
    for (const Flow& flow : flows) {
      std::vector<std::uint32_t>& own = links.emplace_back();
      own.reserve(flow.links.size());
      for (const std::uint32_t link : flow.links) {
        const auto [at, fresh] = numbers.try_emplace(link, static_cast<std::uint32_t>(capacities.size()));
        if (fresh) capacities.push_back(link < of_all.size() ? std::optional(of_all[link]) : std::nullopt);
        own.push_back(at->second);
      }
      std::sort(own.begin(), own.end());
      own.erase(std::unique(own.begin(), own.end()), own.end());
      bits_per_second.push_back(flow.bits_per_second);
    }
  }
  std::size_t flows() const { return links.size(); }
};

// What each round uses of one link; contains only rounds that use it.
class Usage {
 public:
  std::uint64_t in(std::size_t round) const {
    const auto at = place(round);
    return at == used_.end() || at->first != round ? 0 : at->second;
  }
  void add(std::size_t round, std::uint64_t bits_per_second) {
    const auto at = place(round);
    if (at != used_.end() && at->first == round)
      used_[static_cast<std::size_t>(at - used_.begin())].second += bits_per_second;
    else
      used_.insert(at, {round, bits_per_second});
  }

 private:
  using Used = std::vector<std::pair<std::size_t, std::uint64_t>>;  // by round
  Used::const_iterator place(std::size_t round) const {
    return std::lower_bound(used_.begin(), used_.end(), round,
                            [](const auto& one, std::size_t wanted) { return one.first < wanted; });
  }
  Used used_;
};

class FirstFit {
 public:
  FirstFit(const Crossed& flows, ScheduleLimits limits)
      : flows_(flows),
        limits_(limits),
        used_(flows.capacities.size()),
        first_open_(flows.capacities.size(), 0) {}

  Schedule place(std::span<const std::size_t> order) {
    for (const std::size_t flow : order) place_one(flow);
    for (auto& round : made_.rounds) std::sort(round.begin(), round.end());
    std::sort(made_.alone.begin(), made_.alone.end());
    std::sort(made_.left_out.begin(), made_.left_out.end());
    return std::move(made_);
  }

 private:
  bool too_big(std::size_t flow) const {
    return std::any_of(flows_.links[flow].begin(), flows_.links[flow].end(), [&](std::uint32_t link) {
      const auto& capacity = flows_.capacities[link];
      return !capacity || flows_.bits_per_second[flow] > *capacity;
    });
  }

  bool full(std::size_t round) const {
    return closed_[round] ||
           (limits_.flows_per_round != 0 && made_.rounds[round].size() >= limits_.flows_per_round);
  }

  bool fits(std::size_t flow, std::size_t round) const {
    if (full(round)) return false;
    return std::all_of(flows_.links[flow].begin(), flows_.links[flow].end(), [&](std::uint32_t link) {
      return used_[link].in(round) + flows_.bits_per_second[flow] <= *flows_.capacities[link];
    });
  }

  bool open_round() {
    if (limits_.rounds && made_.rounds.size() >= *limits_.rounds) return false;
    made_.rounds.emplace_back();
    closed_.push_back(false);
    return true;
  }

  void place_one(std::size_t flow) {
    const std::vector<std::uint32_t>& links = flows_.links[flow];
    // Rounds that are full, or in which one of its links is full, are skipped at once: late in a long list
    // most are.
    while (first_with_room_ < made_.rounds.size() && full(first_with_room_)) ++first_with_room_;
    std::size_t round = made_.rounds.size();
    const bool alone = too_big(flow);
    if (!alone) {
      round = first_with_room_;
      for (const std::uint32_t link : links) round = std::max(round, first_open_[link]);
      while (round < made_.rounds.size() && !fits(flow, round)) ++round;
    }
    if (round == made_.rounds.size() && !open_round()) return made_.left_out.push_back(flow);
    made_.rounds[round].push_back(flow);
    if (alone) {
      closed_[round] = true;
      return made_.alone.push_back(flow);
    }
    for (const std::uint32_t link : links) {
      used_[link].add(round, flows_.bits_per_second[flow]);
      std::size_t& first = first_open_[link];
      while (first < made_.rounds.size() &&
             (closed_[first] || used_[link].in(first) >= *flows_.capacities[link]))
        ++first;
    }
  }

  const Crossed& flows_;
  ScheduleLimits limits_;
  std::vector<Usage> used_;              // by link
  std::vector<std::size_t> first_open_;  // by link: the first round that still has room on it
  std::size_t first_with_room_ = 0;      // over all rounds, whatever the link
  std::vector<bool> closed_;
  Schedule made_;
};

// By the number of flows on a flow's busiest link: flows with the least choice should be placed first.
std::vector<std::size_t> most_contended_first(const Crossed& flows) {
  std::vector<std::size_t> load(flows.capacities.size(), 0);
  for (const auto& links : flows.links)
    for (const std::uint32_t link : links) ++load[link];
  std::vector<std::size_t> contention(flows.flows(), 0);
  for (std::size_t i = 0; i < flows.flows(); ++i)
    for (const std::uint32_t link : flows.links[i])
      if (flows.capacities[link]) contention[i] = std::max(contention[i], load[link]);
  std::vector<std::size_t> order(flows.flows());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return contention[a] > contention[b]; });
  return order;
}

}  // namespace

Schedule schedule(std::span<const Flow> flows, std::span<const std::uint64_t> capacities,
                  ScheduleLimits limits) {
  const Crossed crossed(flows, capacities);
  std::vector<std::size_t> given(crossed.flows());
  std::iota(given.begin(), given.end(), 0);
  Schedule as_given = FirstFit{crossed, limits}.place(given);
  Schedule contended = FirstFit{crossed, limits}.place(most_contended_first(crossed));
  const bool better = contended.rounds.size() < as_given.rounds.size() || !as_given.left_out.empty();
  return contended.left_out.empty() && better ? contended : as_given;
}

Coverage coverage(std::span<const Flow> flows, const std::vector<bool>& measured, std::size_t link_count) {
  Coverage seen;
  seen.of_pairs = flows.size();
  seen.of_links = link_count;
  std::vector<bool> crossed(link_count, false);
  for (std::size_t i = 0; i < flows.size() && i < measured.size(); ++i) {
    if (!measured[i]) continue;
    ++seen.pairs;
    for (const std::uint32_t link : flows[i].links)
      if (link < link_count) crossed[link] = true;
  }
  seen.links = static_cast<std::size_t>(std::count(crossed.begin(), crossed.end(), true));
  return seen;
}

}  // namespace lockstep::bench
