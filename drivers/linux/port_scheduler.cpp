#include "drivers/linux/port_scheduler.hpp"

#include <linux/pkt_sched.h>

#include <algorithm>
#include <string>

namespace lockstep {
namespace {

using netlink::Request;

constexpr std::uint32_t kOwnHandle = kOwnMajor << 16;
constexpr std::uint32_t kRootMinor = 1;        // 4c53:1, whose rate is the port's
constexpr std::uint32_t kFirstMinor = 0x10;    // class n is 4c53:1n
constexpr unsigned kClassesMax = 8;            // 802.1Q has 8 traffic classes
constexpr unsigned kDscpMax = 63;              // RFC 2474
constexpr std::uint16_t kPreferenceV4 = 0x4C;  // u32 keeps one protocol a preference
constexpr std::uint16_t kPreferenceV6 = 0x4D;
// HTB has no rate of zero; this much rounds to a share of 0 % on any port of 1 Mbit/s and more.
constexpr std::uint64_t kLeastRate = 125;
// TBF's bucket takes one GSO super-packet (64 KiB); the queue behind it holds 512 KiB, with which one TCP
// flow reached 200 Mbit/s to 5 Gbit/s within 1 to 7 % in the lab.
constexpr std::uint32_t kTbfBurst = 65536;
constexpr std::uint32_t kTbfLimit = 524288;

std::uint64_t bytes_of_bits(std::uint64_t bits) { return bits / 8; }
std::uint64_t bits_of_bytes(std::uint64_t bytes) { return bytes * 8; }
std::uint32_t class_handle(unsigned number) { return kOwnHandle | (kFirstMinor + number); }
// The handle of a class's RED: 4c54: for class 0 and so on.
std::uint32_t queue_handle(std::uint32_t class_handle) {
  return (kOwnMajor + 1 + (class_handle & 0xFFFF) - kFirstMinor) << 16;
}

// Of 100 % of what the strict classes leave; the root's rate where they leave nothing.
std::uint64_t shared_rate(std::uint64_t root, std::uint64_t strict_sum) {
  return strict_sum < root ? root - strict_sum : root;
}

// A strict class without an upper bound is guaranteed half of the port: the rest is borrowed, strict first.
std::uint64_t strict_rate(const SchedulerClass& wanted, std::uint64_t root) {
  return std::min(root, wanted.max_rate ? bytes_of_bits(*wanted.max_rate) : root / 2);
}

HtbClass root_class(std::uint32_t index, std::uint64_t root) {
  return HtbClass{index, kOwnHandle | kRootMinor, TC_H_ROOT, root, root, 0};
}

std::vector<HtbClass> classes_for(std::uint32_t index, const PortScheduler& wanted, std::uint64_t root) {
  std::vector<HtbClass> out{root_class(index, root)};
  std::uint64_t strict_sum = 0;
  for (const auto& [number, one] : wanted.classes)
    if (one.strict) strict_sum += strict_rate(one, root);
  for (const auto& [number, one] : wanted.classes) {
    HtbClass made{index, class_handle(number), kOwnHandle | kRootMinor, kLeastRate, 0, one.strict ? 0U : 1U};
    // Unbounded is twice the root's rate: the root binds, and a bound equal to the port's rate stays
    // tellable.
    made.ceil = one.max_rate ? std::max(kLeastRate, bytes_of_bits(*one.max_rate)) : 2 * root;
    if (one.strict) {
      made.rate = std::max(kLeastRate, strict_rate(one, root));
    } else if (one.share) {
      made.rate = std::max(kLeastRate, shared_rate(root, strict_sum) * *one.share / 100);
    }
    out.push_back(made);
  }
  return out;
}

// True when each of the 64 DSCPs belongs to a class. One class then needs no filters: it takes the rest.
bool covers_all(const PortScheduler& wanted) {
  std::size_t count = 0;
  for (const auto& [number, one] : wanted.classes) count += one.dscp.size();
  return count == kDscpMax + 1;
}

// The class of packets that no filter knows: when all DSCPs are given out, the one with the most of them (so
// that few filters are needed); else the class of DSCP 0 (default forwarding, RFC 2474), else the lowest
// class.
std::uint32_t default_minor(const PortScheduler& wanted) {
  auto best = wanted.classes.begin();
  for (auto at = best; at != wanted.classes.end(); ++at) {
    if (covers_all(wanted) ? at->second.dscp.size() > best->second.dscp.size() : at->second.dscp.contains(0))
      best = at;
  }
  return kFirstMinor + best->first;
}

std::vector<DscpFilter> filters_for(std::uint32_t index, const PortScheduler& wanted) {
  std::vector<DscpFilter> out;
  const bool rest_by_default = covers_all(wanted);
  for (const auto& [number, one] : wanted.classes) {
    if (rest_by_default && kFirstMinor + number == default_minor(wanted)) continue;
    for (const std::uint8_t dscp : one.dscp)
      for (const bool v6 : {false, true})
        // u32 takes a node number of 1 to 0xFFF within its table; DSCP + 1 makes it ours to find.
        out.push_back(DscpFilter{index, kOwnHandle, dscp + 1U, v6 ? kPreferenceV6 : kPreferenceV4, v6, dscp,
                                 class_handle(number)});
  }
  return out;
}

// What a class without filters gets when it is the default: every DSCP that no filter sends elsewhere.
std::set<std::uint8_t> rest_of(const std::vector<DscpFilter>& filters) {
  std::set<std::uint8_t> out;
  for (unsigned dscp = 0; dscp <= kDscpMax; ++dscp) out.insert(static_cast<std::uint8_t>(dscp));
  for (const DscpFilter& one : filters) out.erase(one.dscp);
  return out;
}

// A DSCP is in a class for IPv4 and IPv6 alike; a filter of one family alone is drift.
bool both_families(const std::vector<DscpFilter>& filters, const DscpFilter& one) {
  return std::any_of(filters.begin(), filters.end(), [&](const DscpFilter& other) {
    return other.dscp == one.dscp && other.flow == one.flow && other.v6 != one.v6;
  });
}

// Classes of ours, by number; a foreign class in our qdisc is left alone.
bool is_numbered(std::uint32_t handle) {
  const std::uint32_t minor = handle & 0xFFFF;
  return minor >= kFirstMinor && minor < kFirstMinor + kClassesMax;
}

bool is_own_htb(const PortQueueing& have) {
  return have.root && have.root->kind == "htb" && have.root->handle == kOwnHandle;
}

const HtbClass* find_class(const std::vector<HtbClass>& classes, std::uint32_t handle) {
  for (const HtbClass& one : classes)
    if (one.handle == handle) return &one;
  return nullptr;
}

const Qdisc* own_queue(const PortQueueing& have, std::uint32_t class_handle) {
  for (const Qdisc& one : have.queues)
    if (one.parent == class_handle && one.handle == queue_handle(class_handle) && one.red) return &one;
  return nullptr;
}

// None: a marker of parts, which check() refuses, or no marker.
std::optional<ClassEcn> whole(const EcnLeaves& ecn) {
  if (!ecn.min || !ecn.max || !ecn.probability) return std::nullopt;
  return ClassEcn{*ecn.min, *ecn.max, *ecn.probability};
}

EcnLeaves ecn_leaves(const Qdisc* queue) {
  const auto ecn = queue != nullptr ? ecn_of(*queue->red) : std::nullopt;
  return ecn ? EcnLeaves{ecn->min, ecn->max, ecn->probability} : EcnLeaves{};
}

void remake_queues(std::uint32_t index, const PortQueueing& have, const PortScheduler& wanted,
                   std::vector<Request>& out) {
  for (const auto& [number, one] : wanted.classes) {
    const std::uint32_t parent = class_handle(number);
    const Qdisc* const queue = own_queue(have, parent);
    if (const auto ecn = whole(one.ecn)) {
      const RedParameters red = red_for(*ecn);
      if (queue == nullptr || queue->red != red)
        out.push_back(red_request(index, queue_handle(parent), parent, red));
    } else if (queue != nullptr) {
      out.push_back(delete_qdisc_request(index, queue->handle, parent));
    }
  }
}

bool same_filter(const DscpFilter& a, const DscpFilter& b) {
  return a.v6 == b.v6 && a.dscp == b.dscp && a.flow == b.flow && a.preference == b.preference;
}

const DscpFilter* find_filter(const std::vector<DscpFilter>& filters, const DscpFilter& wanted) {
  for (const DscpFilter& one : filters)
    if (same_filter(one, wanted)) return &one;
  return nullptr;
}

void remake_tbf(std::uint32_t index, const PortQueueing& have, std::uint64_t rate,
                std::vector<Request>& out) {
  // A qdisc of another kind under the same handle can't be replaced ("Invalid qdisc name: must match
  // existing qdisc"): it goes first. A foreign root goes too: the port's rate is asked for, and it is its
  // rate.
  if (have.root && !(have.root->kind == "tbf" && have.root->handle == kOwnHandle))
    out.push_back(delete_root_request(index));
  out.push_back(tbf_request(index, kOwnHandle, TbfShape{rate, kTbfBurst, kTbfLimit}));
}

void remake_htb(std::uint32_t index, const PortQueueing& have, const PortScheduler& wanted,
                std::uint64_t root, std::vector<Request>& out) {
  const bool in_place = is_own_htb(have) && have.root->htb_default_class == default_minor(wanted);
  if (!in_place && have.root) out.push_back(delete_root_request(index));
  if (!in_place) out.push_back(htb_request(index, kOwnHandle, default_minor(wanted)));
  const PortQueueing nothing;
  const PortQueueing& left = in_place ? have : nothing;
  const auto classes = classes_for(index, wanted, root);
  const auto filters = filters_for(index, wanted);
  // Filters before the classes that they send to: a class in use can't be deleted (EBUSY).
  for (const DscpFilter& one : left.filters)
    if (find_filter(filters, one) == nullptr) out.push_back(delete_filter_request(one));
  for (const HtbClass& one : classes) {
    const HtbClass* there = find_class(left.classes, one.handle);
    if (there == nullptr || there->rate != one.rate || there->ceil != one.ceil ||
        there->priority != one.priority)
      out.push_back(class_request(one));
  }
  remake_queues(index, left, wanted, out);
  for (const DscpFilter& one : filters)
    if (find_filter(left.filters, one) == nullptr) out.push_back(filter_request(one));
  for (const HtbClass& one : left.classes)
    if (is_numbered(one.handle) && find_class(classes, one.handle) == nullptr)
      out.push_back(delete_class_request(index, one.handle));
}

}  // namespace

PortScheduler scheduler_of(const PortQueueing& queueing) {
  PortScheduler out;
  if (!queueing.root) return out;
  if (queueing.root->kind == "tbf") out.rate = bits_of_bytes(queueing.root->tbf_rate);
  const HtbClass* root =
      is_own_htb(queueing) ? find_class(queueing.classes, kOwnHandle | kRootMinor) : nullptr;
  if (root == nullptr) return out;
  out.rate = bits_of_bytes(root->rate);
  std::uint64_t strict_sum = 0;
  for (const HtbClass& one : queueing.classes)
    if (is_numbered(one.handle) && one.priority == 0) strict_sum += one.rate;
  const std::uint64_t shared = std::max<std::uint64_t>(shared_rate(root->rate, strict_sum), 1);
  for (const HtbClass& one : queueing.classes) {
    if (!is_numbered(one.handle)) continue;
    SchedulerClass made;
    made.strict = one.priority == 0;
    if (one.ceil != 2 * root->rate) made.max_rate = bits_of_bytes(one.ceil);
    const std::uint64_t share = (one.rate * 100 + shared / 2) / shared;
    if (!made.strict && share > 0) made.share = share;
    for (const DscpFilter& filter : queueing.filters)
      if (filter.flow == one.handle && both_families(queueing.filters, filter)) made.dscp.insert(filter.dscp);
    if (made.dscp.empty() && (one.handle & 0xFFFF) == queueing.root->htb_default_class)
      made.dscp = rest_of(queueing.filters);
    made.ecn = ecn_leaves(own_queue(queueing, one.handle));
    out.classes.emplace((one.handle & 0xFFFF) - kFirstMinor, std::move(made));
  }
  return out;
}

Result<Done> check(const PortScheduler& wanted) {
  // Below 1 kbit/s HTB's and TBF's buckets are longer than a minute: surely a wrong unit.
  constexpr std::uint64_t kRateMin = 1000;
  const auto invalid = [](std::string what) { return Error{ErrorKind::invalid_spec, std::move(what)}; };
  const auto whole_bytes = [](std::uint64_t bits) { return bits % 8 == 0; };
  if (wanted.rate && *wanted.rate < kRateMin) return invalid("a port's rate is at least 1 kbit/s");
  if (wanted.rate && !whole_bytes(*wanted.rate))
    return invalid("the kernel counts bytes: a port's rate is a multiple of 8 bit/s");
  std::set<std::uint8_t> taken;
  for (const auto& [number, one] : wanted.classes) {
    if (number >= kClassesMax) return invalid("traffic classes are numbered 0 to 7");
    if (one.share && (*one.share == 0 || *one.share > 100))
      return invalid("a class's share is 1 to 100 percent");
    if (one.max_rate && *one.max_rate < kRateMin) return invalid("a class's max-rate is at least 1 kbit/s");
    if (one.max_rate && !whole_bytes(*one.max_rate))
      return invalid("the kernel counts bytes: a class's max-rate is a multiple of 8 bit/s");
    if (const auto ecn = whole(one.ecn))
      TRY_DONE(check(*ecn));
    else if (!(one.ecn == EcnLeaves{}))
      return invalid("a class has ecn-min, ecn-max and ecn-probability, or none of them");
    for (const std::uint8_t dscp : one.dscp) {
      if (dscp > kDscpMax) return invalid("a DSCP is 0 to 63");
      if (!taken.insert(dscp).second) return invalid("DSCP " + std::to_string(dscp) + " is in two classes");
    }
  }
  return Done{};
}

std::vector<Request> requests_for(std::uint32_t index, const PortQueueing& have, const PortScheduler& wanted,
                                  std::uint64_t port_speed) {
  std::vector<Request> out;
  const PortScheduler now = scheduler_of(have);
  if (!wanted.classes.empty()) {
    remake_htb(index, have, wanted, bytes_of_bits(wanted.rate.value_or(port_speed)), out);
  } else if (wanted.rate) {
    if (now.rate != wanted.rate || !now.classes.empty() || have.root->kind != "tbf")
      remake_tbf(index, have, bytes_of_bits(*wanted.rate), out);
  } else if (now.rate || !now.classes.empty()) {
    out.push_back(delete_root_request(index));
  }
  return out;
}

}  // namespace lockstep
