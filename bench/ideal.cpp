#include "bench/ideal.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "drivers/runtime/random.hpp"

namespace lockstep::bench {
namespace {

constexpr std::uint64_t enumerate_up_to = 4096;
constexpr std::uint64_t trials = 4000;

// P(no uplink has more than `most` flows) = flows! / uplinks^flows * [x^flows] (sum_{i<=most} x^i /
// i!)^uplinks. Computed as probabilities: ways[f] is the probability that the uplinks so far took f flows, in
// Poisson form, which keeps every number in range: each uplink is Poisson(flows/uplinks), and the sum is
// conditioned at the end.
double chance_at_most(std::uint32_t flows, std::uint32_t uplinks, std::uint32_t most) {
  const double rate = static_cast<double>(flows) / uplinks;
  std::vector<double> one(most + 1);
  for (std::uint32_t i = 0; i <= most; ++i)
    one[i] = std::exp(i * std::log(rate) - rate - std::lgamma(i + 1.0));
  std::vector<double> ways(flows + 1, 0);
  ways[0] = 1;
  for (std::uint32_t link = 0; link < uplinks; ++link) {
    std::vector<double> next(flows + 1, 0);
    for (std::uint32_t f = 0; f <= flows; ++f) {
      if (ways[f] == 0) continue;
      for (std::uint32_t i = 0; i <= most && f + i <= flows; ++i) next[f + i] += ways[f] * one[i];
    }
    ways = std::move(next);
  }
  const double all = flows;
  return ways[flows] / std::exp(all * std::log(all) - all - std::lgamma(all + 1.0));
}

double slowest_rate(std::span<const double> load, std::span<const double> capacities) {
  double slowest = std::numeric_limits<double>::infinity();
  for (std::size_t link = 0; link < load.size(); ++link)
    if (load[link] > 0) slowest = std::min(slowest, capacities[link] / load[link]);
  return std::isinf(slowest) ? 0 : slowest;
}

double balanced_rate(std::span<const FlowPath> flows, std::span<const double> capacities) {
  std::vector<double> load(capacities.size(), 0);
  for (const FlowPath& flow : flows) {
    for (const std::uint32_t link : flow.fixed)
      if (link < load.size()) load[link] += 1;
    for (const auto& stage : flow.stages) {
      double room = 0;
      for (const std::uint32_t link : stage) room += link < load.size() ? capacities[link] : 0;
      for (const std::uint32_t link : stage)
        if (link < load.size() && room > 0) load[link] += capacities[link] / room;
    }
  }
  return slowest_rate(load, capacities);
}

// The number of hash outcomes, or a value above `enumerate_up_to`.
std::uint64_t outcomes(std::span<const FlowPath> flows) {
  std::uint64_t count = 1;
  for (const FlowPath& flow : flows)
    for (const auto& stage : flow.stages) {
      if (stage.empty()) continue;
      if (count > enumerate_up_to) return count;
      count *= stage.size();
    }
  return count;
}

// The rate of the slowest flow when every choice is taken from `choose(number of alternatives)`.
template <class Choose>
double rate_of_outcome(std::span<const FlowPath> flows, std::span<const double> capacities, Choose choose) {
  std::vector<double> load(capacities.size(), 0);
  for (const FlowPath& flow : flows) {
    for (const std::uint32_t link : flow.fixed)
      if (link < load.size()) load[link] += 1;
    for (const auto& stage : flow.stages) {
      if (stage.empty()) continue;
      const std::uint32_t link = stage[static_cast<std::size_t>(choose(stage.size()))];
      if (link < load.size()) load[link] += 1;
    }
  }
  return slowest_rate(load, capacities);
}

}  // namespace

double tcp_goodput_share(std::uint32_t mtu, Framing framing, bool ipv6) {
  const std::uint32_t headers = (ipv6 ? 40U : 20U) + 20U + 12U;
  if (mtu <= headers) return 0;
  return static_cast<double>(mtu - headers) / (static_cast<double>(mtu) + framing.bytes);
}

double rocev2_goodput_share(const RoceMessage& message, Framing framing, bool ipv6) {
  if (message.path_mtu == 0 || message.bytes == 0) return 0;
  const std::uint32_t headers = (ipv6 ? 40U : 20U) + 8 + 12 + 4;
  const std::uint64_t packets = (message.bytes + message.path_mtu - 1) / message.path_mtu;
  const std::uint64_t beside = packets * (headers + framing.bytes) + message.extended;
  return static_cast<double>(message.bytes) / static_cast<double>(message.bytes + beside);
}

double nominal_goodput(std::uint64_t link_bits_per_second, std::uint32_t mtu, Framing framing, bool ipv6) {
  return static_cast<double>(link_bits_per_second) * tcp_goodput_share(mtu, framing, ipv6);
}

double busbw_factor(Collective collective, std::size_t ranks) {
  if (ranks == 0) return 0;
  const double n = static_cast<double>(ranks);
  switch (collective) {
    case Collective::all_reduce: return 2 * (n - 1) / n;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all: return (n - 1) / n;
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::send_receive: return 1;
  }
  return 0;
}

double expected_most_loaded(std::uint32_t flows, std::uint32_t uplinks) {
  if (flows == 0 || uplinks == 0) return 0;
  if (uplinks == 1) return flows;
  // E[max] = sum over m >= 0 of P(max > m).
  double expected = 0;
  for (std::uint32_t most = 0; most < flows; ++most) {
    if (static_cast<std::uint64_t>(most) * uplinks < flows) {
      expected += 1;
      continue;
    }
    const double above = 1 - std::min(1.0, chance_at_most(flows, uplinks, most));
    expected += above;
    if (above < 1e-12) break;
  }
  return expected;
}

IdealBounds slowest_flow(std::span<const FlowPath> flows, std::span<const double> capacities) {
  IdealBounds bounds;
  bounds.balanced = balanced_rate(flows, capacities);
  const std::uint64_t count = outcomes(flows);
  double sum = 0;
  if (count <= enumerate_up_to) {
    for (std::uint64_t outcome = 0; outcome < count; ++outcome) {
      std::uint64_t rest = outcome;
      sum += rate_of_outcome(flows, capacities, [&](std::uint64_t ways) {
        const std::uint64_t choice = rest % ways;
        rest /= ways;
        return choice;
      });
    }
    bounds.hash_expected = sum / static_cast<double>(count);
    return bounds;
  }
  Random random{1};
  for (std::uint64_t trial = 0; trial < trials; ++trial)
    sum += rate_of_outcome(flows, capacities, [&](std::uint64_t ways) { return random.below(ways); });
  bounds.hash_expected = sum / static_cast<double>(trials);
  return bounds;
}

}  // namespace lockstep::bench
