// The egress scheduler of one port in Lockstep's terms (rate and traffic classes), and the kernel's objects
// that carry it. Which carrier a port has, carrier.hpp says; a rate alone is TBF on any of them.
//
// - HTB (htb.cpp), with a u32 filter for each DSCP. What it gives is bandwidth by share: a strict class is
//   guaranteed its upper bound and is first to borrow, which is not strict priority of each packet (HTB's
//   prio only orders borrowing: tc-htb(8)).
// - ETS (ets.cpp), under TBF where there is a rate. A strict class goes first, the higher number of two;
//   shares are quanta. Each band has a queue of Lockstep's, whose handle says which class it is.
// - mqprio (mqprio.cpp): each class has transmit queues of the port, and nothing else.
// ETS and mqprio take a packet by its DSCP where a class has it (classify.hpp), else by its priority: the
// socket's, or the one that Linux makes of the ToS byte. A priority that no class has is the default class's:
// the class of priority 0, else the one of DSCP 0 (RFC 2474), or of most DSCPs where all 64 are given out.
//
// Promises: what is built reads back as what was asked for, from any carrier; building again is empty; what
// can be changed in place is. On ETS and mqprio that is not so of a class that comes, goes or becomes strict,
// and of a rate that comes or goes: all queues are made anew, and what they hold is dropped; as is what the
// queue of a class holds that gains or loses a maximal rate or a marker. A queue that another hand put into a
// class of HTB stays, unless the class is to mark ECN; in a band of ETS it stands for no class, and gives
// way. Refuses: a rate of 0, class numbers beyond 7, more than one class for a DSCP or a priority, a part of
// an ECN marker, and what the carrier can't give.
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

// A class's ECN marker as entries, which come one by one; a marker has all three or none.
struct EcnEntries {
  std::optional<std::uint64_t> min;          // bytes
  std::optional<std::uint64_t> max;          // bytes
  std::optional<std::uint64_t> probability;  // per mille
  bool operator==(const EcnEntries&) const = default;
};

struct SchedulerClass {
  std::set<std::uint8_t> dscp;
  std::set<std::uint8_t> priority;     // 802.1p; HTB has no use for them
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
  std::vector<Qdisc> queues;  // all but the root: of classes and of bands
  bool clsact = false;
  std::vector<PriorityFilter> priorities;  // of clsact's egress
};

// The root qdisc's handle when Lockstep made it ("LS"), as `tc qdisc` shows it: 4c53:.
inline constexpr std::uint32_t kOwnMajor = 0x4C53;
// Whether a qdisc's handle, or that of a class in it, is of Lockstep's queueing on any carrier.
bool is_own_handle(std::uint32_t handle);
// By its handle and kind, as Lockstep makes one there; what it says, scheduler_of() shows.
bool is_own(const Qdisc& qdisc);

PortScheduler scheduler_of(const PortQueueing& queueing);

// HTB and ETS are for ports whose speed is made by software, mqprio is for those with a speed of their own.
enum class Carrier : std::uint8_t { htb, ets, mqprio };

struct SchedulerPlace {
  std::uint32_t index = 0;
  Carrier carrier = Carrier::htb;
  std::uint64_t speed = 0;  // bit/s that HTB shares out when no rate is wanted
  unsigned tx_queues = 0;   // that mqprio divides
};
Result<Done> check(const PortScheduler& wanted, const SchedulerPlace& place);
// `wanted`: checked.
std::vector<netlink::Request> requests_for(const SchedulerPlace& place, const PortQueueing& have,
                                           const PortScheduler& wanted);

}  // namespace lockstep
