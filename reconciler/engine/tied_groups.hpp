// Tied groups: nodes of a graph that must be at one place in any order that keeps its edges (first not after
// second) and keeps some nodes together: the strongly connected components of both.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep {

struct TiedGroups {
  std::vector<std::uint32_t> of;                    // by node
  std::vector<std::vector<std::uint32_t>> members;  // sorted; every group after all that lead to it
};

// `after`: for each node, those that come after it. `together`: nodes that are in one place.
TiedGroups tied_groups(const std::vector<std::vector<std::uint32_t>>& after,
                       const std::vector<std::vector<std::uint32_t>>& together);

}  // namespace lockstep
