#include "drivers/linux/queueing/scheduler.hpp"

#include <linux/pkt_sched.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "drivers/linux/queueing/carriers.hpp"

namespace lockstep {
namespace {

using queueing::Requests;

Error invalid(std::string what) { return Error{ErrorKind::invalid_spec, std::move(what)}; }

Result<Done> check_rate(std::uint64_t bits, const std::string& what) {
  // Below 1 kbit/s HTB's and TBF's buckets last longer than a minute: certainly a wrong unit.
  constexpr std::uint64_t kRateMin = 1000;
  if (bits < kRateMin) return invalid(what + " is at least 1 kbit/s");
  if (bits % 8 != 0) return invalid("the kernel counts bytes: " + what + " is a multiple of 8 bit/s");
  return Done{};
}

Result<Done> check_class(const SchedulerClass& one) {
  if (one.share && (*one.share == 0 || *one.share > kWholeLink))
    return invalid("a class's share is 0.1 to 100 percent");
  if (one.max_rate) TRY_DONE(check_rate(*one.max_rate, "a class's max-rate"));
  if (const auto ecn = queueing::whole(one.ecn))
    TRY_DONE(check(*ecn));
  else if (!(one.ecn == EcnEntries{}))
    return invalid("a class has ecn-min, ecn-max and ecn-probability, or none of them");
  return Done{};
}

// Each number is below `end`, and in one class only.
Result<Done> check_distinct(const PortScheduler& wanted, std::set<std::uint8_t> SchedulerClass::*numbers,
                            unsigned end, const std::string& what) {
  std::set<std::uint8_t> taken;
  for (const auto& [number, one] : wanted.classes)
    for (const std::uint8_t each : one.*numbers) {
      if (each >= end) return invalid("a " + what + " is 0 to " + std::to_string(end - 1));
      if (!taken.insert(each).second)
        return invalid(what + " " + std::to_string(each) + " is in two classes");
    }
  return Done{};
}

Result<Done> check_for(const PortScheduler& wanted, const SchedulerPlace& place) {
  const auto refused = [](std::string what) { return Error{ErrorKind::refused, std::move(what)}; };
  if (place.carrier == Carrier::ets)
    for (const auto& [number, one] : wanted.classes) {
      if (one.share && *one.share < queueing::kLeastEtsShare)
        return refused("class " + std::to_string(number) + ": ETS can give a class 0.5 percent at least");
      // sch_ets.c serves the shared bands in turn and waits for a band that holds back its packets.
      if (one.max_rate && !one.strict)
        return refused("class " + std::to_string(number) +
                       ": ETS can hold back a strict class only; one with a share would hold up the others");
    }
  if (place.carrier == Carrier::mqprio && !wanted.classes.empty() &&
      (wanted.classes.size() < 2 || wanted.classes.size() > place.tx_queues))
    return refused("mqprio divides a port's " + std::to_string(place.tx_queues) +
                   " transmit queues among at least two classes, and no more than there are queues");
  return Done{};
}

// No classes: a rate, or nothing.
void remake_plain(std::uint32_t index, const PortQueueing& have, const PortScheduler& wanted, Requests& out) {
  const PortScheduler now = scheduler_of(have);
  const bool plain = have.root && have.root->kind == "tbf" && queueing::own_ets(have) == nullptr;
  if (wanted.rate && !(plain && now.rate == wanted.rate)) {
    // A qdisc of another kind under the same handle can't be replaced ("Invalid qdisc name: must match
    // existing qdisc"), so it is removed first. A foreign root is removed too: the port's rate is requested,
    // and only the root can set it.
    if (have.root && !(plain && have.root->handle == queueing::kOwnHandle))
      out.push_back(delete_root_request(index));
    out.push_back(tbf_request(
        index, queueing::kOwnHandle, TC_H_ROOT,
        TbfShape{queueing::bytes_of_bits(*wanted.rate), queueing::kTbfBurst, queueing::kQueueLimit}));
  } else if (!wanted.rate && (now.rate || !now.classes.empty())) {
    out.push_back(delete_root_request(index));
  }
  queueing::unclassify(have, out);
}

}  // namespace

// The root's, and two for each class and ETS's own after it (carriers.hpp, ets.cpp).
bool is_own_handle(std::uint32_t handle) {
  const std::uint32_t major = handle >> 16;
  return major >= kOwnMajor && major <= kOwnMajor + 1 + 2 * queueing::kClassesMax;
}

bool is_own(const Qdisc& qdisc) {
  constexpr std::string_view kKinds[] = {"bfifo", "ets", "htb", "mqprio", "red", "tbf"};
  return is_own_handle(qdisc.handle) && std::ranges::find(kKinds, qdisc.kind) != std::end(kKinds);
}

namespace queueing {

std::optional<ClassEcn> whole(const EcnEntries& ecn) {
  if (!ecn.min || !ecn.max || !ecn.probability) return std::nullopt;
  return ClassEcn{*ecn.min, *ecn.max, *ecn.probability};
}

EcnEntries ecn_entries(const Qdisc* queue) {
  const auto ecn = queue != nullptr && queue->red ? ecn_of(*queue->red) : std::nullopt;
  return ecn ? EcnEntries{ecn->min, ecn->max, ecn->probability} : EcnEntries{};
}

bool covers_all(const PortScheduler& wanted) {
  std::size_t count = 0;
  for (const auto& [number, one] : wanted.classes) count += one.dscp.size();
  return count == kDscps;
}

std::set<std::uint8_t> all_dscps_but(const std::set<std::uint8_t>& dscps) {
  std::set<std::uint8_t> out;
  for (std::uint8_t dscp = 0; dscp < kDscps; ++dscp)
    if (!dscps.contains(dscp)) out.insert(dscp);
  return out;
}

// If all DSCPs are assigned, the class with most of them, so that few filters are needed; else the class of
// DSCP 0 (default forwarding, RFC 2474), else the lowest.
unsigned default_class(const PortScheduler& wanted) {
  auto best = wanted.classes.begin();
  for (auto at = best; at != wanted.classes.end(); ++at)
    if (covers_all(wanted) ? at->second.dscp.size() > best->second.dscp.size() : at->second.dscp.contains(0))
      best = at;
  return best->first;
}

}  // namespace queueing

PortScheduler scheduler_of(const PortQueueing& have) {
  if (queueing::own_ets(have) != nullptr) return queueing::read_ets(have);
  if (queueing::is_own_mqprio(have)) return queueing::read_mqprio(have);
  if (queueing::is_own_htb(have)) return queueing::read_htb(have);
  PortScheduler out;
  if (have.root && have.root->kind == "tbf") out.rate = queueing::bits_of_bytes(have.root->tbf_rate);
  return out;
}

Result<Done> check(const PortScheduler& wanted, const SchedulerPlace& place) {
  if (wanted.rate) TRY_DONE(check_rate(*wanted.rate, "a port's rate"));
  for (const auto& [number, one] : wanted.classes) {
    if (number >= queueing::kClassesMax) return invalid("traffic classes are numbered 0 to 7");
    TRY_DONE(check_class(one));
  }
  TRY_DONE(check_distinct(wanted, &SchedulerClass::dscp, queueing::kDscps, "DSCP"));
  TRY_DONE(check_distinct(wanted, &SchedulerClass::priority, queueing::kPriorities, "priority"));
  return check_for(wanted, place);
}

std::vector<netlink::Request> requests_for(const SchedulerPlace& place, const PortQueueing& have,
                                           const PortScheduler& wanted) {
  Requests out;
  if (wanted.classes.empty()) {
    remake_plain(place.index, have, wanted, out);
    return out;
  }
  switch (place.carrier) {
    case Carrier::htb:
      queueing::unclassify(have, out);
      queueing::remake_htb(place, have, wanted, out);
      break;
    case Carrier::ets: queueing::remake_ets(place.index, have, wanted, out); break;
    case Carrier::mqprio: queueing::remake_mqprio(place, have, wanted, out); break;
  }
  return out;
}

}  // namespace lockstep
