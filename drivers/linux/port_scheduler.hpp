// The egress scheduler of one port in Lockstep's terms (rate and traffic classes), and as the qdisc, classes
// and filters that carry it: TBF for a rate alone, HTB with a u32 filter for each DSCP when there are
// classes.
//
// Promises: what is built reads back as what was asked for; building again is empty; classes are changed in
// place when only shares or DSCPs move. What HTB gives is bandwidth by share: a strict class is guaranteed
// its upper bound and is first to borrow, which is not strict priority of each packet (HTB's prio only orders
// borrowing: tc-htb(8)). A queue that another hand put into a class stays, unless the class is to mark ECN.
// Refuses: a rate of 0, class numbers beyond 7, more than one class for a DSCP, a part of an ECN marker.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "drivers/linux/traffic_control.hpp"

namespace lockstep {

// A class's ECN marker as leaves, which come one by one; a marker has all three or none.
struct EcnLeaves {
  std::optional<std::uint64_t> min;          // bytes
  std::optional<std::uint64_t> max;          // bytes
  std::optional<std::uint64_t> probability;  // percent
  bool operator==(const EcnLeaves&) const = default;
};

struct SchedulerClass {
  std::set<std::uint8_t> dscp;
  std::optional<std::uint64_t> share;  // percent of what strict classes leave
  bool strict = false;
  std::optional<std::uint64_t> max_rate;  // bit/s
  EcnLeaves ecn;
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
  std::vector<Qdisc> queues;  // of the classes
};

// The root qdisc's handle when Lockstep made it ("LS"), as `tc qdisc` shows it: 4c53:.
inline constexpr std::uint32_t kOwnMajor = 0x4C53;

PortScheduler scheduler_of(const PortQueueing& queueing);

// `port_speed`: bit/s that HTB shares out when no rate is wanted.
Result<Done> check(const PortScheduler& wanted);
std::vector<netlink::Request> requests_for(std::uint32_t index, const PortQueueing& have,
                                           const PortScheduler& wanted, std::uint64_t port_speed);

}  // namespace lockstep
