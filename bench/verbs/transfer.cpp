#include "bench/verbs/transfer.hpp"

namespace lockstep::bench::verbs {
namespace {

// Size of an end's message memory: fits a core's second-level cache, so that the path is measured and not the
// memory, and the amount that any process may lock (MLOCK_LIMIT of Linux before 5.16); a larger message has
// one slot.
constexpr std::uint64_t region_most = std::uint64_t{64} << 10U;
constexpr std::uint32_t cache_line = 64;
constexpr std::uint32_t grh_bytes = 40;

}  // namespace

Layout layout_of(const Workload& workload) {
  Layout out;
  out.queue_pairs = workload.queue_pairs;
  out.header = workload.service == Service::datagram ? grh_bytes : 0;
  out.stride = (workload.bytes + out.header + cache_line - 1) / cache_line * cache_line;
  const std::uint64_t fit = region_most / workload.queue_pairs / out.stride;
  out.slots = workload.measure == Measure::latency
                  ? 2
                  : static_cast<std::uint32_t>(std::clamp<std::uint64_t>(fit, 1, workload.depth));
  return out;
}

}  // namespace lockstep::bench::verbs
