// Which class of a RoceProfile is used for which traffic.
//
// Promises: compile, proofs and explain share this lookup, so that a NIC's ToS, its CNPs and the proofs about
// them refer to the same class.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "specs/language/device_set.hpp"
#include "specs/language/fabric.hpp"

namespace lockstep {

// Follows `carries`. If no class of the profile lists the traffic: CNPs use the class called `cnp`; compute
// and storage use the first lossless class that has a DSCP and no `carries`, else (lossy RoCE) the first
// class without `carries` that has a DSCP and ECN. nullptr: no class is used for it.
const TrafficClass* class_for(const RoceProfile& profile, Carried what);
bool is_for(const RoceProfile& profile, const TrafficClass& one, Carried what);
// Compute, storage or control.
bool is_for_rdma(const RoceProfile& profile, const TrafficClass& one);

// On a switch of this role.
const Said<Ecn>& ecn_on(const TrafficClass& one, DeviceRole role);

// The RDMA traffic of a fabric of this role: storage on storage fabrics, else compute.
Carried rdma_of(FabricRole role);

}  // namespace lockstep
