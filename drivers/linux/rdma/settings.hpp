// How a RoCE NIC marks packets and responds to congestion: each setting of one port, in the file where its
// driver keeps it.
//
// roce-tos: default_roce_tos and default_roce_mode in rdma_cm's configfs (infiniband/core/cma_configfs.c),
// and /sys/class/infiniband/DEVICE/tc/PORT/traffic_class of MLNX_OFED, which also applies to connections made
// without rdma_cm. Its value is the ToS byte if all of them agree on it and the mode is RoCE v2; else a text
// with all of them ("0 (IB/RoCE v1, traffic class 106)"), which a write accepts as well, so that a rollback
// restores them.
//
// cnp-dscp: /sys/class/net/PORT/ecn/roce_np/cnp_dscp of MLNX_OFED; np_cnp_dscp of the upstream mlx5 driver
// (debugfs, infiniband/hw/mlx5/cong.c); cc/cnp_dscp of Broadcom's bnxt_re (configfs); alt_vlan_dscp of the
// upstream one (debugfs, infiniband/hw/bnxt_re/debugfs.c).
//
// cnp-priority: roce_np/cnp_802p_prio, np_cnp_prio, cc/cnp_prio and alt_vlan_pcp in the same places. If the
// upstream mlx5 driver is set to send each CNP with the priority of the packet that it answers
// (np_cnp_prio_mode 1) the value is the text "as received", which a write accepts as well; writing a priority
// ends that mode.
//
// congestion-control: DCQCN on all priorities ("dcqcn") or on none ("none"), by ecn/roce_np/enable/PRIORITY
// and roce_rp of MLNX_OFED, ecn_enable (configfs) or enable_cc (debugfs) of bnxt_re. On some priorities: a
// text of two masks ("dcqcn (np 0xff, rp 0xf7)"), which a write accepts as well.
//
// Promises: a value is written if it differs and read back; if the driver changed it, the error names both. A
// missing configfs entry is created for the duration of a read or a write and then removed, as MLNX_OFED's
// cma_roce_tos does: the values belong to the device and stay. Refuses what is not a value of the setting;
// the kernel checks its range.
#pragma once

#include <string>

#include "drivers/linux/host/files.hpp"
#include "drivers/linux/rdma/port_file.hpp"
#include "specs/model/diff.hpp"

namespace lockstep::rdma {

// For each setting: why the RoCE port has no file for it (empty: it has one), and functions to read and write
// it.
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
