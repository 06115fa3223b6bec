// Which class of a RoceProfile carries what.
//
// Promises: compile, proofs and explain ask here, so that a NIC's ToS, its CNPs and what is proved of them
// are of the same class.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "specs/language/device_set.hpp"
#include "specs/language/fabric.hpp"

namespace lockstep {

// What `carries` says. Where no class of the profile says who carries it: CNPs are in the class called `cnp`;
// compute and storage are in the first lossless class that has a DSCP and says nothing else of itself, else
// (lossy RoCE) in the first such that has a DSCP and ECN. nullptr: nothing carries it.
const TrafficClass* class_for(const RoceProfile& profile, Carried what);
bool is_for(const RoceProfile& profile, const TrafficClass& one, Carried what);
// Compute, storage or control.
bool is_for_rdma(const RoceProfile& profile, const TrafficClass& one);

// On a switch of this role.
const Said<Ecn>& ecn_on(const TrafficClass& one, DeviceRole role);

// What RDMA on a fabric of this role is for: storage on storage fabrics, else compute.
Carried rdma_of(FabricRole role);

}  // namespace lockstep
