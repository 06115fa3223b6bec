// The carriers of a port's classes, behind one interface for scheduler.cpp: whether a qdisc is Lockstep's,
// its meaning, and the requests that make it as desired. No I/O.
#pragma once

#include "drivers/linux/bit_rate.hpp"
#include "drivers/linux/queueing/scheduler.hpp"

namespace lockstep::queueing {

using Requests = std::vector<netlink::Request>;

inline constexpr std::uint32_t kOwnHandle = kOwnMajor << 16;
inline constexpr unsigned kClassesMax = 8;  // 802.1Q has 8 traffic classes
inline constexpr unsigned kPriorities = 8;  // and 8 priorities
inline constexpr unsigned kDscps = 64;      // RFC 2474
// TBF's bucket holds one GSO super-packet (64 KiB); the queue behind it holds 512 KiB, with which one TCP
// flow reached 200 Mbit/s to 5 Gbit/s within 1 to 7 % in the lab.
inline constexpr std::uint32_t kTbfBurst = 65536;
inline constexpr std::uint32_t kQueueLimit = 524288;

constexpr std::uint64_t bytes_of_bits(std::uint64_t bits) { return bits / kBitsPerByte; }
constexpr std::uint64_t bits_of_bytes(std::uint64_t bytes) { return bit_rate(bytes, kBitsPerByte); }
// The handle of a class's queue: 4c54: for class 0 and so on.
constexpr std::uint32_t queue_handle(unsigned number) { return (kOwnMajor + 1 + number) << 16; }

// Per mille: for a smaller share, ETS's quantum would be so small that the kernel raises it (ets.cpp).
inline constexpr std::uint64_t kLeastEtsShare = 5;

// None: an incomplete marker, which check() refuses, or no marker.
std::optional<ClassEcn> whole(const EcnEntries& ecn);
EcnEntries ecn_entries(const Qdisc* queue);
// True when each of the 64 DSCPs belongs to a class.
bool covers_all(const PortScheduler& wanted);
// All 64 except `dscps`.
std::set<std::uint8_t> all_dscps_but(const std::set<std::uint8_t>& dscps);
// The class of packets that nothing else classifies; `wanted` must have classes.
unsigned default_class(const PortScheduler& wanted);

bool is_own_htb(const PortQueueing& have);
bool is_own_filter(const DscpFilter& one);  // for a class of the HTB
PortScheduler read_htb(const PortQueueing& have);
void remake_htb(const SchedulerPlace& place, const PortQueueing& have, const PortScheduler& wanted,
                Requests& out);

const Qdisc* own_ets(const PortQueueing& have);  // null: there is none
PortScheduler read_ets(const PortQueueing& have);
void remake_ets(std::uint32_t index, const PortQueueing& have, const PortScheduler& wanted, Requests& out);

bool is_own_mqprio(const PortQueueing& have);
PortScheduler read_mqprio(const PortQueueing& have);
void remake_mqprio(const SchedulerPlace& place, const PortQueueing& have, const PortScheduler& wanted,
                   Requests& out);

}  // namespace lockstep::queueing
