#include <linux/pkt_sched.h>

#include <algorithm>
#include <string_view>

#include "drivers/linux/queueing/carriers.hpp"

namespace lockstep::queueing {
namespace {

// 4c5c:, at the root or in the root's TBF, whose one class is 4c53:1.
constexpr std::uint32_t kEtsHandle = (kOwnMajor + 1 + kClassesMax) << 16;
constexpr std::uint32_t kInRate = kOwnHandle | 1;
// Bytes that a class sends per turn for each per mille of its share: enough for packets of any size, and with
// the minimum share (kLeastEtsShare) still more than a class without a share gets. That class gets the
// minimum quantum: Linux 6.1.192 raises smaller ones to 256.
constexpr std::uint32_t kQuantumOfPermille = 60;
constexpr std::uint32_t kLeastQuantum = 256;

// For a class whose rate is limited by TBF, the RED inside: 4c5d: for class 0 and so on.
std::uint32_t red_handle(unsigned number) { return kEtsHandle + ((1 + number) << 16); }

std::uint32_t band_handle(std::size_t band) { return kEtsHandle | static_cast<std::uint32_t>(band + 1); }

// The class of each band. Strict ones are the first bands (sch_ets.c), in descending order of class number,
// like 802.1Q's strict priority.
std::vector<unsigned> bands_for(const PortScheduler& wanted) {
  std::vector<unsigned> out;
  for (const bool strict : {true, false})
    for (auto one = wanted.classes.rbegin(); one != wanted.classes.rend(); ++one)
      if (one->second.strict == strict) out.push_back(one->first);
  return out;
}

EtsParameters parameters_for(const PortScheduler& wanted) {
  EtsParameters out;
  const std::vector<unsigned> bands = bands_for(wanted);
  const auto band_of = [&](unsigned number) {
    return static_cast<std::uint8_t>(std::ranges::find(bands, number) - bands.begin());
  };
  for (const unsigned number : bands) {
    const SchedulerClass& one = wanted.classes.at(number);
    if (one.strict)
      ++out.strict;
    else
      out.quanta.push_back(one.share ? static_cast<std::uint32_t>(*one.share) * kQuantumOfPermille
                                     : kLeastQuantum);
  }
  const auto by_priority = classes_of_priorities(wanted);
  out.bands.fill(band_of(by_priority[0]));
  for (std::size_t priority = 0; priority < by_priority.size(); ++priority)
    out.bands[priority] = band_of(by_priority[priority]);
  for (const unsigned number : bands) out.bands[class_priority(number)] = band_of(number);
  return out;
}

const Qdisc* find_queue(const PortQueueing& have, std::uint32_t parent, std::uint32_t handle) {
  for (const Qdisc& one : have.queues)
    if (one.parent == parent && one.handle == handle) return &one;
  return nullptr;
}

// The class of each existing band. None: a band whose queue is not Lockstep's.
std::vector<std::optional<unsigned>> bands_of(const PortQueueing& have, const EtsParameters& ets) {
  std::vector<std::optional<unsigned>> out(ets.strict + ets.quanta.size());
  for (std::size_t band = 0; band < out.size(); ++band)
    for (unsigned number = 0; number < kClassesMax; ++number)
      if (find_queue(have, band_handle(band), queue_handle(number)) != nullptr) out[band] = number;
  return out;
}

bool is_in_place(const PortQueueing& have, const PortScheduler& wanted) {
  const Qdisc* const ets = own_ets(have);
  if (ets == nullptr || (ets->parent == kInRate) != wanted.rate.has_value()) return false;
  return std::ranges::equal(bands_of(have, *ets->ets), bands_for(wanted)) &&
         ets->ets->strict == parameters_for(wanted).strict;
}

// Rebuilds the queue of one class if it does not match what the class needs.
void remake_queue(std::uint32_t index, const PortQueueing& have, unsigned number, std::uint32_t band,
                  const SchedulerClass& wanted, Requests& out) {
  const std::uint32_t handle = queue_handle(number);
  const std::uint32_t inside = handle | 1;
  const auto ecn = whole(wanted.ecn);
  const std::string_view kind = wanted.max_rate ? "tbf" : ecn ? "red" : "bfifo";
  const Qdisc* queue = find_queue(have, band, handle);
  const Qdisc* red = wanted.max_rate ? find_queue(have, inside, red_handle(number)) : queue;
  // A qdisc can't change its kind, and a TBF whose RED is deleted has no queue at all (sch_tbf.c).
  if (queue != nullptr && (queue->kind != kind || (wanted.max_rate && red != nullptr && !ecn))) {
    out.push_back(delete_qdisc_request(index, handle, band));
    queue = red = nullptr;
  }
  if (wanted.max_rate) {
    const std::uint64_t rate = bytes_of_bits(*wanted.max_rate);
    if (queue == nullptr || queue->tbf_rate != rate)
      out.push_back(tbf_request(index, handle, band, TbfShape{rate, kTbfBurst, kQueueLimit}));
  }
  if (ecn && (red == nullptr || red->red != red_for(*ecn)))
    out.push_back(red_request(index, wanted.max_rate ? red_handle(number) : handle,
                              wanted.max_rate ? inside : band, red_for(*ecn)));
  if (kind == "bfifo" && queue == nullptr) out.push_back(bfifo_request(index, handle, band, kQueueLimit));
}

}  // namespace

const Qdisc* own_ets(const PortQueueing& have) {
  if (have.root && have.root->handle == kEtsHandle && have.root->ets) return &*have.root;
  if (!have.root || have.root->kind != "tbf" || have.root->handle != kOwnHandle) return nullptr;
  const Qdisc* const inside = find_queue(have, kInRate, kEtsHandle);
  return inside != nullptr && inside->ets ? inside : nullptr;
}

PortScheduler read_ets(const PortQueueing& have) {
  PortScheduler out;
  const Qdisc* const qdisc = own_ets(have);
  if (qdisc->parent == kInRate) out.rate = bits_of_bytes(have.root->tbf_rate);
  const EtsParameters& ets = *qdisc->ets;
  const auto bands = bands_of(have, ets);
  for (std::size_t band = 0; band < bands.size(); ++band) {
    if (!bands[band]) continue;
    const auto entry = static_cast<std::uint8_t>(band);
    const Qdisc* queue = find_queue(have, band_handle(band), queue_handle(*bands[band]));
    SchedulerClass made;
    made.strict = band < ets.strict;
    if (!made.strict) {
      const std::uint64_t quantum = ets.quanta[band - ets.strict];
      const std::uint64_t share = (quantum + kQuantumOfPermille / 2) / kQuantumOfPermille;
      if (quantum > kLeastQuantum && share > 0) made.share = share;
    }
    if (queue->kind == "tbf") {
      made.max_rate = bits_of_bytes(queue->tbf_rate);
      queue = find_queue(have, queue->handle | 1, red_handle(*bands[band]));
    }
    made.ecn = ecn_entries(queue);
    made.dscp = dscps_of(have.priorities, ets.bands, entry);
    made.priority = priorities_of(ets.bands, entry);
    out.classes.emplace(*bands[band], std::move(made));
  }
  return out;
}

void remake_ets(std::uint32_t index, const PortQueueing& have, const PortScheduler& wanted, Requests& out) {
  const PortQueueing nothing;
  const bool in_place = is_in_place(have, wanted);
  const PortQueueing& left = in_place ? have : nothing;
  if (!in_place && have.root) out.push_back(delete_root_request(index));
  if (wanted.rate) {
    const std::uint64_t rate = bytes_of_bits(*wanted.rate);
    if (!in_place || have.root->tbf_rate != rate)
      out.push_back(tbf_request(index, kOwnHandle, TC_H_ROOT, TbfShape{rate, kTbfBurst, kQueueLimit}));
  }
  const EtsParameters ets = parameters_for(wanted);
  if (!in_place || own_ets(have)->ets != ets)
    out.push_back(ets_request(index, kEtsHandle, wanted.rate ? kInRate : TC_H_ROOT, ets));
  std::size_t band = 0;
  for (const unsigned number : bands_for(wanted))
    remake_queue(index, left, number, band_handle(band++), wanted.classes.at(number), out);
  reclassify(index, have, wanted, out);
}

}  // namespace lockstep::queueing
