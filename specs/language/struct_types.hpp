// The structs that have a table: declarations of the specialisations, needed before their first use (C++
// [temp.expl.spec]).
#pragma once

#include "specs/language/type_table.hpp"

namespace lockstep {

template <>
const Type& struct_type<Addressing>();
template <>
const Type& struct_type<AllowedState>();
template <>
const Type& struct_type<Approvals>();
template <>
const Type& struct_type<Asns>();
template <>
const Type& struct_type<Benchmark>();
template <>
const Type& struct_type<BenchmarkRun>();
template <>
const Type& struct_type<Bfd>();
template <>
const Type& struct_type<BgpTimers>();
template <>
const Type& struct_type<Bond>();
template <>
const Type& struct_type<CablePair>();
template <>
const Type& struct_type<Buffers>();
template <>
const Type& struct_type<BufferPools>();
template <>
const Type& struct_type<Cabling>();
template <>
const Type& struct_type<ChangeObject>();
template <>
const Type& struct_type<ChangeStep>();
template <>
const Type& struct_type<Cluster>();
template <>
const Type& struct_type<Condition>();
template <>
const Type& struct_type<Connect>();
template <>
const Type& struct_type<Cost>();
template <>
const Type& struct_type<Counted>();
template <>
const Type& struct_type<Cpu>();
template <>
const Type& struct_type<Credentials>();
template <>
const Type& struct_type<Dcqcn>();
template <>
const Type& struct_type<DeviceObject>();
template <>
const Type& struct_type<DeviceSet>();
template <>
const Type& struct_type<Drain>();
template <>
const Type& struct_type<DriftItem>();
template <>
const Type& struct_type<Ecmp>();
template <>
const Type& struct_type<Ecn>();
template <>
const Type& struct_type<Fabric>();
template <>
const Type& struct_type<Finding>();
template <>
const Type& struct_type<Flowlets>();
template <>
const Type& struct_type<From>();
template <>
const Type& struct_type<GitSource>();
template <>
const Type& struct_type<Gpu>();
template <>
const Type& struct_type<HashSeeds>();
template <>
const Type& struct_type<HostProfile>();
template <>
const Type& struct_type<Interface>();
template <>
const Type& struct_type<Kernel>();
template <>
const Type& struct_type<LoadBalancing>();
template <>
const Type& struct_type<Maintenance>();
template <>
const Type& struct_type<Management>();
template <>
const Type& struct_type<Metadata>();
template <>
const Type& struct_type<MinCapacity>();
template <>
const Type& struct_type<Mtu>();
template <>
const Type& struct_type<Multihoming>();
template <>
const Type& struct_type<Nccl>();
template <>
const Type& struct_type<Nic>();
template <>
const Type& struct_type<NicChannels>();
template <>
const Type& struct_type<NicCoalescing>();
template <>
const Type& struct_type<NicRings>();
template <>
const Type& struct_type<OnChange>();
template <>
const Type& struct_type<OnSchedule>();
template <>
const Type& struct_type<Override>();
template <>
const Type& struct_type<Pcie>();
template <>
const Type& struct_type<Pfc>();
template <>
const Type& struct_type<Port>();
template <>
const Type& struct_type<Raw>();
template <>
const Type& struct_type<RoceProfile>();
template <>
const Type& struct_type<RolloutPolicy>();
template <>
const Type& struct_type<Routing>();
template <>
const Type& struct_type<RunResult>();
template <>
const Type& struct_type<Scheduler>();
template <>
const Type& struct_type<Selector>();
template <>
const Type& struct_type<Signatures>();
template <>
const Type& struct_type<Slo>();
template <>
const Type& struct_type<TrafficClass>();
template <>
const Type& struct_type<ValidationSuite>();
template <>
const Type& struct_type<VirtualFunctions>();
template <>
const Type& struct_type<Vlan>();
template <>
const Type& struct_type<Watchdog>();
template <>
const Type& struct_type<Window>();
template <>
const Type& TypeOf<Said<Ecn>>::type();

}  // namespace lockstep
