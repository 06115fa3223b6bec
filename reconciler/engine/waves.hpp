// Waves: which change reaches which device in which wave of its policy. The last part of make_order.
//
// Promises: pure; nothing is in an earlier wave than what it comes after; both ends of a cable that change
// what must be alike there are in one wave.
#pragma once

#include "reconciler/engine/order.hpp"
#include "reconciler/engine/traffic.hpp"

namespace lockstep {

// Fills OrderNode::wave and own_wave, and adds to `notes`. `is_peer_ordered`: by node, whether it waits for
// the devices on the other side of the fabric's edge, or they for it.
void give_waves(const PlanInput& input, const std::vector<DeviceAtoms>& atoms,
                const std::vector<bool>& is_peer_ordered, Traffic& traffic, OrderGraph& graph);

}  // namespace lockstep
