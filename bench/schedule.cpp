#include "bench/schedule.hpp"

#include <algorithm>
#include <numeric>

namespace lockstep::bench {
namespace {

class FirstFit {
 public:
  FirstFit(std::span<const Flow> flows, std::span<const std::uint64_t> capacities, ScheduleLimits limits)
      : flows_(flows), capacities_(capacities), limits_(limits), first_open_(capacities.size(), 0) {}

  Schedule place(std::span<const std::size_t> order) {
    for (const std::size_t flow : order) place_one(flow);
    for (auto& round : made_.rounds) std::sort(round.begin(), round.end());
    std::sort(made_.alone.begin(), made_.alone.end());
    return std::move(made_);
  }

 private:
  bool too_big(const Flow& flow) const {
    return std::any_of(flow.links.begin(), flow.links.end(), [&](std::uint32_t link) {
      return link >= capacities_.size() || flow.bits_per_second > capacities_[link];
    });
  }

  bool fits(const Flow& flow, std::size_t round) const {
    if (closed_[round]) return false;
    if (limits_.flows_per_round != 0 && made_.rounds[round].size() >= limits_.flows_per_round) return false;
    return std::all_of(flow.links.begin(), flow.links.end(), [&](std::uint32_t link) {
      return used_[round][link] + flow.bits_per_second <= capacities_[link];
    });
  }

  std::size_t open_round() {
    made_.rounds.emplace_back();
    used_.emplace_back(capacities_.size(), 0);
    closed_.push_back(false);
    return made_.rounds.size() - 1;
  }

  void place_one(std::size_t index) {
    const Flow& flow = flows_[index];
    if (too_big(flow)) {
      const std::size_t round = open_round();
      closed_[round] = true;
      made_.rounds[round].push_back(index);
      made_.alone.push_back(index);
      return;
    }
    // Rounds in which one of its links is full are skipped at once: most rounds are, late in a long list.
    std::size_t round = 0;
    for (const std::uint32_t link : flow.links) round = std::max(round, first_open_[link]);
    while (round < made_.rounds.size() && !fits(flow, round)) ++round;
    if (round == made_.rounds.size()) open_round();
    made_.rounds[round].push_back(index);
    for (const std::uint32_t link : flow.links) {
      used_[round][link] += flow.bits_per_second;
      while (first_open_[link] < made_.rounds.size() &&
             (closed_[first_open_[link]] || used_[first_open_[link]][link] >= capacities_[link]))
        ++first_open_[link];
    }
  }

  std::span<const Flow> flows_;
  std::span<const std::uint64_t> capacities_;
  ScheduleLimits limits_;
  std::vector<std::size_t> first_open_;  // a link: the first round that still has room on it
  std::vector<std::vector<std::uint64_t>> used_;
  std::vector<bool> closed_;
  Schedule made_;
};

// How many flows share its busiest link: those that have least choice should choose first.
std::vector<std::size_t> most_contended_first(std::span<const Flow> flows, std::size_t link_count) {
  std::vector<std::size_t> load(link_count, 0);
  for (const Flow& flow : flows)
    for (const std::uint32_t link : flow.links)
      if (link < link_count) ++load[link];
  std::vector<std::size_t> contention(flows.size(), 0);
  for (std::size_t i = 0; i < flows.size(); ++i)
    for (const std::uint32_t link : flows[i].links)
      if (link < link_count) contention[i] = std::max(contention[i], load[link]);
  std::vector<std::size_t> order(flows.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return contention[a] > contention[b]; });
  return order;
}

}  // namespace

Schedule schedule(std::span<const Flow> flows, std::span<const std::uint64_t> capacities,
                  ScheduleLimits limits) {
  // A link listed twice by one flow must not be charged twice.
  std::vector<Flow> clean(flows.begin(), flows.end());
  for (Flow& flow : clean) {
    std::sort(flow.links.begin(), flow.links.end());
    flow.links.erase(std::unique(flow.links.begin(), flow.links.end()), flow.links.end());
  }
  std::vector<std::size_t> given(clean.size());
  std::iota(given.begin(), given.end(), 0);
  Schedule as_given = FirstFit{clean, capacities, limits}.place(given);
  Schedule contended =
      FirstFit{clean, capacities, limits}.place(most_contended_first(clean, capacities.size()));
  return contended.rounds.size() < as_given.rounds.size() ? contended : as_given;
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
