// What a RoCE NIC marks and how it answers congestion: each setting of one port, in the file where its driver
// has it.
//
// roce-tos: default_roce_tos and default_roce_mode in rdma_cm's configfs (infiniband/core/cma_configfs.c),
// and /sys/class/infiniband/DEVICE/tc/PORT/traffic_class of MLNX_OFED, which holds for connections made
// without rdma_cm too. Its value is the ToS byte where all of them agree on it and the mode is RoCE v2; else
// a text of all ("0 (IB/RoCE v1, traffic class 106)"), which a write takes as well, so that an undo puts them
// back.
//
// cnp-dscp: /sys/class/net/PORT/ecn/roce_np/cnp_dscp of MLNX_OFED; np_cnp_dscp of the upstream mlx5 driver
// (debugfs, infiniband/hw/mlx5/cong.c); cc/cnp_dscp of Broadcom's bnxt_re (configfs); alt_vlan_dscp of the
// upstream one (debugfs, infiniband/hw/bnxt_re/debugfs.c).
//
// cnp-priority: roce_np/cnp_802p_prio, np_cnp_prio, cc/cnp_prio and alt_vlan_pcp in the same places. Where
// the upstream mlx5 driver is told to send each CNP with the priority of the packet that it answers
// (np_cnp_prio_mode 1) its value is the text "as received", which a write takes as well; a priority that is
// written ends that.
//
// congestion-control: DCQCN on all priorities ("dcqcn") or on none ("none"), by ecn/roce_np/enable/PRIORITY
// and roce_rp of MLNX_OFED, ecn_enable (configfs) or enable_cc (debugfs) of bnxt_re. On some priorities: a
// text of two masks ("dcqcn (np 0xff, rp 0xf7)"), which a write takes as well.
//
// Promises: a value is written where it differs and read back, and an error names both where the driver made
// it another. An entry of configfs that is missing is made for the moment of a read or a write and taken away
// again, as MLNX_OFED's cma_roce_tos does: the values are the device's and stay. Refuses what is no value of
// the setting; what its range is, the kernel says.
#pragma once

#include <string>

#include "drivers/linux/host/files.hpp"
#include "drivers/linux/rdma/port_file.hpp"
#include "specs/model/diff.hpp"

namespace lockstep::rdma {

// Of each setting: why the port, one of RoCE, has no file for it (empty: it has), and its reading and writing
// there.
std::string why_no_tos(const HostFiles& files, const RocePort& port);
Result<Value> read_tos(const HostFiles& files, const RocePort& port);
Result<Done> write_tos(const Change& change, const HostFiles& files, const RocePort& port);

std::string why_no_cnp_dscp(const HostFiles& files, const RocePort& port);
Result<Value> read_cnp_dscp(const HostFiles& files, const RocePort& port);
Result<Done> write_cnp_dscp(const Change& change, const HostFiles& files, const RocePort& port);

std::string why_no_cnp_priority(const HostFiles& files, const RocePort& port);
Result<Value> read_cnp_priority(const HostFiles& files, const RocePort& port);
Result<Done> write_cnp_priority(const Change& change, const HostFiles& files, const RocePort& port);

std::string why_no_control(const HostFiles& files, const RocePort& port);
Result<Value> read_control(const HostFiles& files, const RocePort& port);
Result<Done> write_control(const Change& change, const HostFiles& files, const RocePort& port);

}  // namespace lockstep::rdma
