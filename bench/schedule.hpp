// Schedule: distributes flows over rounds, so that in each round the flows that may cross a link never exceed
// its capacity, whatever the hash of any switch decides.
//
// Promises: deterministic; every flow is in exactly one round, or in `left_out` if the number of rounds is
// limited (the given order is then the priority, and later flows fill the remaining gaps); in a round of two
// or more flows no link can be oversubscribed (a flow that alone exceeds a link gets a round of its own and
// is listed in `alone`). Greedy: first fit, tried in the given order (same leaf first if the caller sorts so)
// and with the most contended flows first; the result with fewer rounds is used. The number of rounds is
// at least the bound of the busiest link, and may exceed it. Pure. The cost grows with the links that flows
// cross, not with all links. A flow without links fits into any round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace lockstep::bench {

struct Flow {
  std::vector<std::uint32_t> links;   // directed, all that it may cross under some hash outcome
  std::uint64_t bits_per_second = 0;  // the rate that it may use
};

struct Schedule {
  std::vector<std::vector<std::size_t>> rounds;  // indices of flows, ascending
  std::vector<std::size_t> alone;                // flows that exceed the capacity of one of their links
  std::vector<std::size_t> left_out;             // did not fit into any round, ascending
};

struct ScheduleLimits {
  // More flows in one round than this only measure the CPU of the machine that runs them all; 0: no limit.
  std::size_t flows_per_round = 0;
  std::optional<std::size_t> rounds{};  // maximum; none: as many as needed
};

// A link without an entry in `capacities` has no capacity (every flow over it is alone).
Schedule schedule(std::span<const Flow> flows, std::span<const std::uint64_t> capacities,
                  ScheduleLimits limits = {});

// How much the measured flows covered of what there is. A link counts as covered if a measured flow may have
// crossed it: with per-flow hashing it is not known which of several equal links one flow took.
struct Coverage {
  std::size_t pairs = 0;
  std::size_t of_pairs = 0;
  std::size_t links = 0;
  std::size_t of_links = 0;
};
Coverage coverage(std::span<const Flow> flows, const std::vector<bool>& measured, std::size_t link_count);

}  // namespace lockstep::bench
