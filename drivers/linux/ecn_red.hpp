// RED as the ECN marker of one traffic class: thresholds in Lockstep's terms, and as the kernel's RED qdisc
// holds them.
//
// Promises: ecn_of() is the inverse of red_for(). RED uses the instantaneous queue length, not an average
// (weight 1: Wlog 0, which tc(8) can't express), as DCTCP re-purposes it (Alizadeh et al. 2010, section 3.1):
// below `min` no packet is marked, from there on with a probability that grows to `probability`, from `max`
// on every one. Only ECT packets are marked (RFC 3168), and none is dropped early (nodrop, so the kernel is
// 5.7 or later). Marks are spaced evenly, 1 to 1/p packets apart (Floyd and Jacobson 1993, section 7): up to
// twice as many as by independent draws. Changing a threshold drops the queued packets, as sch_red.c
// recreates its queue. ecn_of() returns none for any other RED, for example one made or changed by another
// writer.
// Formats: tc-red(8); iproute2 tc/q_red.c, tc/tc_red.c; include/net/red.h, net/sched/sch_red.c.
#pragma once

#include <cstdint>
#include <optional>

#include "drivers/linux/netlink.hpp"

namespace lockstep {

struct ClassEcn {
  std::uint64_t min = 0;          // bytes
  std::uint64_t max = 0;          // bytes
  std::uint64_t probability = 0;  // per mille, at `max`
  bool operator==(const ClassEcn&) const = default;
};

struct RedParameters {
  std::uint32_t limit = 0;            // bytes that the queue holds
  std::uint32_t min = 0;              // bytes
  std::uint32_t max = 0;              // bytes
  std::uint32_t max_probability = 0;  // of 2^32
  std::uint32_t flags = 0;            // TC_RED_*
  std::uint8_t weight_log = 0;        // Wlog
  bool operator==(const RedParameters&) const = default;
};

Result<Done> check(const ClassEcn& wanted);
RedParameters red_for(const ClassEcn& wanted);
std::optional<ClassEcn> ecn_of(const RedParameters& red);

// TCA_OPTIONS of a red qdisc.
Result<RedParameters> decode_red(netlink::Bytes options);
netlink::Request red_request(std::uint32_t index, std::uint32_t handle, std::uint32_t parent,
                             const RedParameters& red);

}  // namespace lockstep
