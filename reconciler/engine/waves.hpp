// Waves: which change happens on which device in which wave of its policy. The last part of make_order.
//
// The shares of a policy's waves apply to each role, and anew in each stage (hosts that wait for all
// switches); members of a redundancy group are spread over them. Devices on this process's own path
// (own_path.hpp) start anew after all that are not on it, and those nearest to this machine after that,
// except where others wait for them: then they are the last of their role. Remedies are not distributed: they
// run where the effects that they treat are open.
//
// Promises: pure; nothing is in an earlier wave than what it comes after; changes at both ends of a cable
// that must be alike there, or that disturb it in no order, are in one wave: that of the host's end, and
// between switches that of the end that the specs name first. Only what these two rules require is tied;
// where this ties devices of one role, or changes some before their share, a note says so.
#pragma once

#include "reconciler/engine/order.hpp"
#include "reconciler/engine/traffic.hpp"

namespace lockstep {

// Sets OrderNode::wave and own_wave, and adds to `notes`. `is_peer_ordered`: by node, whether it waits for
// the devices on the other side of the fabric's edge, or they wait for it.
void give_waves(const PlanInput& input, const std::vector<DeviceAtoms>& atoms, const Columns& columns,
                const std::vector<bool>& is_peer_ordered, Traffic& traffic, OrderGraph& graph);

}  // namespace lockstep
