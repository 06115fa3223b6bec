// Order across devices: the graph of all atoms, with the order that peers require, and the wave of each. The
// second stage of make_plan.
//
// Promises: pure; `topological` lists every node after all nodes that it depends on. A ladder's order is
// dropped where it would make a cycle with references or with another ladder (with a note); a cycle of
// references is an error.
#pragma once

#include <string>
#include <vector>

#include "reconciler/engine/atoms.hpp"

namespace lockstep {

inline constexpr std::uint32_t kBarrier = 0xFFFF'FFFF;
inline constexpr std::uint32_t kNoCable = 0xFFFF'FFFF;

struct OrderNode {
  std::uint32_t device = 0;  // into PlanInput::devices; kBarrier: no device
  std::uint32_t atom = 0;    // into the device's atoms
  std::uint32_t wave = 1;
  std::uint32_t own_wave = 1;      // of the device, from the policy
  std::uint32_t cable = kNoCable;  // the cable whose end it changes
  bool live = false;               // disturbs current traffic
};

// Nodes at both ends of a cable that change what must be alike there: they are in one wave. If both ends
// replace something (replacements.hpp), additions and the later removals are tied separately.
struct Tie {
  LinkMatter matter = LinkMatter::none;
  std::vector<std::uint32_t> nodes;
};

struct OrderGraph {
  std::vector<OrderNode> nodes;                   // by device, then atom; barriers at the end
  std::vector<std::vector<std::uint32_t>> after;  // for each node, those that come after it
  std::vector<std::uint32_t> topological;
  std::vector<Tie> ties;
  std::vector<std::string> notes;
};

// Whether some nodes of a graph, none of them a barrier, belong to more than one device.
bool is_of_two_devices(const OrderGraph& graph, const std::vector<std::uint32_t>& nodes);

Result<OrderGraph> make_order(const PlanInput& input, const std::vector<DeviceAtoms>& atoms,
                              const Columns& columns);

}  // namespace lockstep
