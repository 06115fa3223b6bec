// Schedule: flows in rounds, so that in no round the flows that may cross a link can ask for more than it
// has, whatever the hash of any switch decides.
//
// Promises: deterministic; every flow is in exactly one round, or in `left_out` where there may be no more
// rounds (then the given order is the order of importance, and what can still be fitted in is); in a round of
// two or more flows no link can be oversubscribed (a flow that alone asks for more than a link has gets a
// round of its own and is named in `alone`). Greedy: first fit, tried in the given order (same leaf first
// where the caller sorts so) and with the most contended flows first; the result with fewer rounds is taken.
// Never below the bound of the busiest link; no promise to reach it. Pure. Its cost follows the links that
// flows cross, not those that there are. Refuses: nothing; a flow without links fits anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace lockstep::bench {

struct Flow {
  std::vector<std::uint32_t> links;   // directed, each that it may cross under some hash outcome
  std::uint64_t bits_per_second = 0;  // what it may ask for
};

struct Schedule {
  std::vector<std::vector<std::size_t>> rounds;  // indices of flows, ascending
  std::vector<std::size_t> alone;                // flows that ask for more than one of their links has
  std::vector<std::size_t> left_out;             // for which there was no round, ascending
};

struct ScheduleLimits {
  // More flows in one round than this only measure the CPU of the machine that runs them all; 0: no limit.
  std::size_t flows_per_round = 0;
  std::optional<std::size_t> rounds{};  // at the most; none: as many as it takes
};

// A link without an entry in `capacities` has none (every flow over it is alone).
Schedule schedule(std::span<const Flow> flows, std::span<const std::uint64_t> capacities,
                  ScheduleLimits limits = {});

// What the flows that were measured have touched, of what there is. A link counts as covered if a measured
// flow may have crossed it: with per-flow hashing nobody knows which of several equal links one flow took.
struct Coverage {
  std::size_t pairs = 0;
  std::size_t of_pairs = 0;
  std::size_t links = 0;
  std::size_t of_links = 0;
};
Coverage coverage(std::span<const Flow> flows, const std::vector<bool>& measured, std::size_t link_count);

}  // namespace lockstep::bench
