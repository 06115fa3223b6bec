// Waves: which change reaches which device in which wave of its policy. The last part of make_order.
//
// The shares of a policy's waves are of each role, and in each stage (hosts that wait for all switches begin
// anew); members of a redundancy group are spread over them. What is on this process's own path
// (own_path.hpp) begins anew after all that is not, and what is nearest to this machine after that, but for
// what others wait for: that is the last of its role. Remedies have no part in this: they come where what
// they heal is open.
//
// Promises: pure; nothing is in an earlier wave than what it comes after; both ends of a cable that change
// what must be alike there, or that disturb it in no order, are in one wave: that of the host's end, between
// switches of the end that the specs name first. Only what these two ask for is tied; where it ties devices
// of one role, or changes some before their share, a note says so.
#pragma once

#include "reconciler/engine/order.hpp"
#include "reconciler/engine/traffic.hpp"

namespace lockstep {

// Fills OrderNode::wave and own_wave, and adds to `notes`. `is_peer_ordered`: by node, whether it waits for
// the devices on the other side of the fabric's edge, or they for it.
void give_waves(const PlanInput& input, const std::vector<DeviceAtoms>& atoms, const Columns& columns,
                const std::vector<bool>& is_peer_ordered, Traffic& traffic, OrderGraph& graph);

}  // namespace lockstep
