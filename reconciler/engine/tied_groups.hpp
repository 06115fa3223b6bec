// Tied groups: nodes of a graph that must be in one place in any order that keeps its edges (the first not
// after the second) and keeps given nodes together: the strongly connected components of both.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep {

struct TiedGroups {
  std::vector<std::uint32_t> of;                    // by node
  std::vector<std::vector<std::uint32_t>> members;  // sorted; every group comes after all that lead to it
};

// `after`: for each node, those that come after it. `together`: nodes that must be in one place.
TiedGroups tied_groups(const std::vector<std::vector<std::uint32_t>>& after,
                       const std::vector<std::vector<std::uint32_t>>& together);

}  // namespace lockstep
