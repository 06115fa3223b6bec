#include <linux/pkt_sched.h>

#include <algorithm>
#include <map>
#include <utility>

#include "drivers/linux/queueing/carriers.hpp"

namespace lockstep::queueing {
namespace {

constexpr std::uint32_t kRootMinor = 1;        // 4c53:1, whose rate is the port's
constexpr std::uint32_t kFirstMinor = 0x10;    // class n is 4c53:1n
constexpr std::uint16_t kPreferenceV4 = 0x4C;  // u32 keeps one protocol per preference
constexpr std::uint16_t kPreferenceV6 = 0x4D;
// HTB does not accept a rate of zero; this value rounds to a share of 0 % on any port of 1 Mbit/s and more.
constexpr std::uint64_t kLeastRate = 125;

std::uint32_t class_handle(unsigned number) { return kOwnHandle | (kFirstMinor + number); }
std::uint32_t queue_of(std::uint32_t class_handle) {
  return queue_handle((class_handle & 0xFFFF) - kFirstMinor);
}

// 100 % of what the strict classes leave; the root's rate if they leave nothing.
std::uint64_t shared_rate(std::uint64_t root, std::uint64_t strict_sum) {
  return strict_sum < root ? root - strict_sum : root;
}

// A strict class without an upper bound is guaranteed half of the port: the rest is borrowed, strict classes
// first.
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
    // Unlimited is twice the root's rate: the root limits it, and a limit equal to the port's rate stays
    // distinguishable.
    made.ceil = one.max_rate ? std::max(kLeastRate, bytes_of_bits(*one.max_rate)) : 2 * root;
    if (one.strict) {
      made.rate = std::max(kLeastRate, strict_rate(one, root));
    } else if (one.share) {
      made.rate = std::max(kLeastRate, shared_rate(root, strict_sum) * *one.share / kWholeLink);
    }
    out.push_back(made);
  }
  return out;
}

std::uint32_t default_minor(const PortScheduler& wanted) { return kFirstMinor + default_class(wanted); }

std::vector<DscpFilter> dscp_filters_for(std::uint32_t index, const PortScheduler& wanted) {
  std::vector<DscpFilter> out;
  const bool rest_by_default = covers_all(wanted);
  for (const auto& [number, one] : wanted.classes) {
    if (rest_by_default && kFirstMinor + number == default_minor(wanted)) continue;
    for (const std::uint8_t dscp : one.dscp)
      for (const bool v6 : {false, true})
        // u32 accepts a node number of 1 to 0xFFF within its table; DSCP + 1 identifies our filter.
        out.push_back(DscpFilter{index, kOwnHandle, dscp + 1U, v6 ? kPreferenceV6 : kPreferenceV4, v6, dscp,
                                 class_handle(number)});
  }
  return out;
}

// The DSCPs of the default class, if it has no filters: every DSCP that no filter sends elsewhere.
std::set<std::uint8_t> rest_of(const std::vector<DscpFilter>& filters) {
  std::set<std::uint8_t> sent;
  for (const DscpFilter& one : filters) sent.insert(one.dscp);
  return all_dscps_but(sent);
}

// The filters that take effect: for one DSCP and family the filter of the lowest preference (tc(8)).
std::vector<DscpFilter> deciding(const std::vector<DscpFilter>& filters) {
  std::map<std::pair<bool, std::uint8_t>, DscpFilter> first;
  for (const DscpFilter& one : filters) {
    const auto [at, is_new] = first.try_emplace({one.v6, one.dscp}, one);
    if (!is_new && one.preference < at->second.preference) at->second = one;
  }
  std::vector<DscpFilter> out;
  for (auto& [key, one] : first) out.push_back(one);
  return out;
}

// A DSCP is in a class for both IPv4 and IPv6; a filter of one family alone is drift.
bool both_families(const std::vector<DscpFilter>& filters, const DscpFilter& one) {
  return std::any_of(filters.begin(), filters.end(), [&](const DscpFilter& other) {
    return other.plain && other.dscp == one.dscp && other.flow == one.flow && other.v6 != one.v6;
  });
}

// Our classes, by number; a foreign class in our qdisc is left alone.
bool is_numbered(std::uint32_t handle) {
  const std::uint32_t minor = handle & 0xFFFF;
  return minor >= kFirstMinor && minor < kFirstMinor + kClassesMax;
}

const HtbClass* find_class(const std::vector<HtbClass>& classes, std::uint32_t handle) {
  for (const HtbClass& one : classes)
    if (one.handle == handle) return &one;
  return nullptr;
}

const Qdisc* own_queue(const PortQueueing& have, std::uint32_t class_handle) {
  for (const Qdisc& one : have.queues)
    if (one.parent == class_handle && one.handle == queue_of(class_handle) && one.red) return &one;
  return nullptr;
}

void remake_queues(std::uint32_t index, const PortQueueing& have, const PortScheduler& wanted,
                   Requests& out) {
  for (const auto& [number, one] : wanted.classes) {
    const std::uint32_t parent = class_handle(number);
    const Qdisc* const queue = own_queue(have, parent);
    if (const auto ecn = whole(one.ecn)) {
      const RedParameters red = red_for(*ecn);
      if (queue == nullptr || queue->red != red)
        out.push_back(red_request(index, queue_handle(number), parent, red));
    } else if (queue != nullptr) {
      out.push_back(delete_qdisc_request(index, queue->handle, parent));
    }
  }
}

bool same_filter(const DscpFilter& a, const DscpFilter& b) {
  return a.v6 == b.v6 && a.dscp == b.dscp && a.flow == b.flow && a.preference == b.preference &&
         a.plain == b.plain;
}

const DscpFilter* find_filter(const std::vector<DscpFilter>& filters, const DscpFilter& wanted) {
  for (const DscpFilter& one : filters)
    if (same_filter(one, wanted)) return &one;
  return nullptr;
}

}  // namespace

// In the form that dscp_filters_for() makes.
bool is_own_filter(const DscpFilter& one) {
  constexpr std::uint32_t kNode = 0xFFF;  // the node in a u32 handle: table, bucket, node
  return one.plain && one.preference == (one.v6 ? kPreferenceV6 : kPreferenceV4) &&
         (one.handle & kNode) == one.dscp + 1U && (one.flow & ~0xFFFFU) == kOwnHandle &&
         is_numbered(one.flow);
}

bool is_own_htb(const PortQueueing& have) {
  return have.root && have.root->kind == "htb" && have.root->handle == kOwnHandle;
}

void remake_htb(const SchedulerPlace& place, const PortQueueing& have, const PortScheduler& wanted,
                Requests& out) {
  const std::uint32_t index = place.index;
  const std::uint64_t root = bytes_of_bits(wanted.rate.value_or(place.speed));
  const bool in_place = is_own_htb(have) && have.root->htb_default_class == default_minor(wanted);
  if (!in_place && have.root) out.push_back(delete_root_request(index));
  if (!in_place) out.push_back(htb_request(index, kOwnHandle, default_minor(wanted)));
  const PortQueueing nothing;
  const PortQueueing& left = in_place ? have : nothing;
  const auto classes = classes_for(index, wanted, root);
  const auto filters = dscp_filters_for(index, wanted);
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

PortScheduler read_htb(const PortQueueing& have) {
  PortScheduler out;
  const std::vector<DscpFilter> filters = deciding(have.filters);
  const HtbClass* const root = find_class(have.classes, kOwnHandle | kRootMinor);
  if (root == nullptr) return out;
  out.rate = bits_of_bytes(root->rate);
  std::uint64_t strict_sum = 0;
  for (const HtbClass& one : have.classes)
    if (is_numbered(one.handle) && one.priority == 0) strict_sum += one.rate;
  const std::uint64_t shared = std::max<std::uint64_t>(shared_rate(root->rate, strict_sum), 1);
  for (const HtbClass& one : have.classes) {
    if (!is_numbered(one.handle)) continue;
    SchedulerClass made;
    made.strict = one.priority == 0;
    if (one.ceil != 2 * root->rate) made.max_rate = bits_of_bytes(one.ceil);
    const std::uint64_t share = (one.rate * kWholeLink + shared / 2) / shared;
    if (!made.strict && share > 0) made.share = share;
    for (const DscpFilter& filter : filters)
      if (filter.plain && filter.flow == one.handle && both_families(filters, filter))
        made.dscp.insert(filter.dscp);
    if (made.dscp.empty() && (one.handle & 0xFFFF) == have.root->htb_default_class)
      made.dscp = rest_of(filters);
    made.ecn = ecn_entries(own_queue(have, one.handle));
    out.classes.emplace((one.handle & 0xFFFF) - kFirstMinor, std::move(made));
  }
  return out;
}

}  // namespace lockstep::queueing
