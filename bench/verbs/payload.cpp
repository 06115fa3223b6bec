#include "bench/verbs/payload.hpp"

#include "bench/verbs/pattern.hpp"

namespace lockstep::bench::verbs {
namespace {

bool ping_pong(const Workload& w) { return w.measure == Measure::latency && w.operation != Operation::read; }
bool sends(const Workload& w, Role role) {
  return (role == Role::server) == (w.operation == Operation::read);
}

std::string differs(const Difference& one, std::size_t queue_pair, std::uint64_t slot) {
  return "byte " + std::to_string(one.at) + " of slot " + std::to_string(slot) + ", queue pair " +
         std::to_string(queue_pair) + ", is " + std::to_string(one.found) + " and should be " +
         std::to_string(one.expected);
}

}  // namespace

void prepare(std::span<std::uint8_t> region, const Workload& workload, Role role) {
  const Layout layout = layout_of(workload);
  if (ping_pong(workload)) {
    const std::uint64_t second = layout.offset(0, 1);
    fill(region.first(second), workload.seed, 0);
    fill_complement(region.subspan(second), workload.seed, 0);
    region[second + workload.bytes - 1] = 0;  // no mark: the first one is 1
  } else if (sends(workload, role)) {
    fill(region, workload.seed, 0);
  } else {
    fill_complement(region, workload.seed, 0);
  }
  if (workload.fault == Fault::corrupt_one_byte && (ping_pong(workload) || sends(workload, role)))
    region[0] = static_cast<std::uint8_t>(~region[0]);
}

Integrity verify(std::span<const std::uint8_t> region, const Workload& workload, Role role,
                 std::span<const std::uint64_t> sent) {
  const Layout layout = layout_of(workload);
  Integrity out;
  const auto compare = [&](std::size_t queue_pair, std::uint64_t slot, std::uint64_t from, std::uint64_t size,
                           std::uint64_t pattern_at) {
    out.checked += size;
    const auto difference = first_difference(region.subspan(from, size), workload.seed, pattern_at);
    if (difference && out.wrong.empty()) out.wrong = differs(*difference, queue_pair, slot);
  };
  if (ping_pong(workload)) {
    const std::uint64_t size = workload.bytes - (workload.operation == Operation::write ? 1 : 0);
    if (!sent.empty() && sent.front() != 0) compare(0, 1, layout.offset(0, 1) + layout.header, size, 0);
    return out;
  }
  if (sends(workload, role)) return out;
  for (std::size_t i = 0; i < sent.size() && i < layout.queue_pairs; ++i) {
    const std::uint64_t used = workload.measure == Measure::latency ? 1 : layout.slots;
    for (std::uint64_t slot = 0; slot < std::min(used, sent[i]); ++slot)
      compare(i, slot, layout.offset(i, slot), workload.bytes, layout.offset(i, slot));
  }
  return out;
}

}  // namespace lockstep::bench::verbs
