#include "reconciler/measure/transport.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/verbs/rounds.hpp"

namespace lockstep {
namespace {

// The first endpoint without RDMA, and how many more there are; empty: every one supports it.
std::string who_lacks(const std::vector<bench::verbs::RdmaEnd>& ends) {
  std::size_t count = 0;
  std::string first;
  for (const bench::verbs::RdmaEnd& end : ends)
    if (end.device.empty() && count++ == 0) first = end.why_not;
  if (ends.empty()) return "the fabric has no endpoint";
  return count > 1 ? fmt::format("{} (and {} more endpoints without)", first, count - 1) : first;
}

}  // namespace

Transport asked_transport(const Benchmark& benchmark, Transport suite) {
  return benchmark.transport.or_else(suite);
}

TransportChoice choose_transport(const Benchmark& benchmark, Transport suite,
                                 const std::vector<bench::verbs::RdmaEnd>& ends) {
  const Transport asked = asked_transport(benchmark, suite);
  const Workload workload = *benchmark.workload;
  if (asked == Transport::tcp) return {};
  const bool carried = bench::verbs::traffic_of(workload).has_value();
  const std::string lacks = who_lacks(ends);
  if (asked == Transport::rdma) {
    TransportChoice out{Transport::rdma, "", ""};
    const bool none =
        std::all_of(ends.begin(), ends.end(), [](const auto& end) { return end.device.empty(); });
    if (!carried)
      out.not_to_be_had = fmt::format("{} does not run over RDMA", to_string(workload));
    else if (none)
      out.not_to_be_had = lacks;
    return out;
  }
  if (!carried) return {Transport::tcp, fmt::format("{} does not run over RDMA", to_string(workload)), ""};
  if (lacks.empty()) return {Transport::rdma, "every endpoint has an RDMA device", ""};
  // TCP has no such workload: what RDMA would need is the more useful reason.
  if (workload == Workload::write_latency)
    return {Transport::tcp, "", fmt::format("{} needs RDMA: {}", to_string(workload), lacks)};
  return {Transport::tcp, lacks, ""};
}

}  // namespace lockstep
