// The egress scheduler of one port in Lockstep's terms (rate and traffic classes), and the kernel's objects
// that implement it. carrier.hpp decides which carrier a port has; a rate alone is TBF on any of them.
//
// - HTB (htb.cpp), with a u32 filter for each DSCP. It provides bandwidth by share: a strict class is
//   guaranteed its upper bound and borrows first, which is not strict priority of each packet (HTB's prio
//   only orders borrowing: tc-htb(8)).
// - ETS (ets.cpp), below TBF if there is a rate. A strict class goes first, the higher number of two; shares
//   are quanta. Each band has a queue of Lockstep's, whose handle identifies its class.
// - mqprio (mqprio.cpp): each class has transmit queues of the port, and nothing else.
// ETS and mqprio classify a packet by its DSCP if a class has that (classify.hpp), else by its priority: the
// socket's, or the one that Linux derives from the ToS byte. A priority that no class has belongs to the
// default class: the class of priority 0, else the one of DSCP 0 (RFC 2474), or the one with most DSCPs if
// all 64 are assigned.
//
// Promises: what is built reads back as requested, from any carrier; building the same again yields no
// requests; changes are made in place where possible. On ETS and mqprio this is not possible for a class that
// is added, removed or becomes strict, or a rate that is added or removed: all queues are recreated, which
// drops their content. The same applies to the queue of a class that gains or loses a maximal rate or a
// marker. A foreign queue in a class of HTB stays, unless the class is to mark ECN; in a band of ETS it is
// not read as a class, and is replaced. Refuses: a rate of 0, class numbers beyond 7, more than one class for
// a DSCP or a priority, an incomplete ECN marker, and what the carrier does not support.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "drivers/linux/queueing/classify.hpp"
#include "drivers/linux/traffic_control.hpp"

namespace lockstep {

inline constexpr std::uint64_t kWholeLink = 1000;  // per mille

// A class's ECN marker as entries, which are set one by one; a marker has all three or none.
struct EcnEntries {
  std::optional<std::uint64_t> min;          // bytes
  std::optional<std::uint64_t> max;          // bytes
  std::optional<std::uint64_t> probability;  // per mille
  bool operator==(const EcnEntries&) const = default;
};

struct SchedulerClass {
  std::set<std::uint8_t> dscp;
  std::set<std::uint8_t> priority;     // 802.1p; not used by HTB
  std::optional<std::uint64_t> share;  // per mille of what strict classes leave
  bool strict = false;
  std::optional<std::uint64_t> max_rate;  // bit/s
  EcnEntries ecn;
  bool operator==(const SchedulerClass&) const = default;
};

struct PortScheduler {
  std::optional<std::uint64_t> rate;  // bit/s; none: the port's own speed
  std::map<unsigned, SchedulerClass> classes;
  bool operator==(const PortScheduler&) const = default;
};

// What the kernel has on one port.
struct PortQueueing {
  std::optional<Qdisc> root;  // none: the kernel's default (noqueue, mq, pfifo_fast)
  std::vector<HtbClass> classes;
  std::vector<DscpFilter> filters;
  std::vector<Qdisc> queues;  // all except the root: of classes and of bands
  bool clsact = false;
  std::vector<PriorityFilter> priorities;  // of clsact's egress
};

// The handle of a root qdisc made by Lockstep ("LS"), as `tc qdisc` shows it: 4c53:.
inline constexpr std::uint32_t kOwnMajor = 0x4C53;
// Whether a qdisc's handle, or that of a class in it, belongs to Lockstep's queueing on any carrier.
bool is_own_handle(std::uint32_t handle);
// Judged by its handle and kind; its parameters are read by scheduler_of().
bool is_own(const Qdisc& qdisc);

PortScheduler scheduler_of(const PortQueueing& queueing);

// HTB and ETS are for ports whose speed is enforced by software, mqprio is for those with a speed of their
// own.
enum class Carrier : std::uint8_t { htb, ets, mqprio };

struct SchedulerPlace {
  std::uint32_t index = 0;
  Carrier carrier = Carrier::htb;
  std::uint64_t speed = 0;  // bit/s that HTB divides if no rate is desired
  unsigned tx_queues = 0;   // that mqprio divides
};
Result<Done> check(const PortScheduler& wanted, const SchedulerPlace& place);
// `wanted` must have passed check().
std::vector<netlink::Request> requests_for(const SchedulerPlace& place, const PortQueueing& have,
                                           const PortScheduler& wanted);

}  // namespace lockstep
