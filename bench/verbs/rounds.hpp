// The pairs of a benchmark over RDMA, in the same rounds as over TCP (bench/tcp/probe_plan.hpp): two probe
// processes per pair (run.hpp), each repeat with new queue pairs and so with a new hash; a gate's repeats use
// the same flow label before a change, after it and in the confirming rounds (TcpPlan::flows).
//
// Promises: as in bench/tcp/run.hpp: run_rounds() returns within the plan's own deadlines whatever the fabric
// does; each pair gives one measurement, even if it could not be taken; a stuck pair delays no other beyond
// its round; every probe is gone when it returns, and dies by itself when the calling thread does. A pair
// with an end without RDMA, or whose pre-check finds an obstacle, has `transport` trouble and the reason; a
// completion error is attributed to the fabric, as text. The measurement contains what the counters of both
// ends indicate besides traffic, over all repeats. Refuses: a plan with endpoints that do not exist, and
// workloads that RDMA does not support.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <vector>

#include "bench/verbs/rdma_end.hpp"

namespace lockstep::bench::verbs {

// The RDMA operations for a suite's workload: write-bandwidth, read-bandwidth and write-latency by these
// operations; stream and request-response, where both ends take part, by send. None: a collective.
std::optional<Workload> traffic_of(lockstep::Workload asked);

struct RoundsTiming {
  std::chrono::milliseconds window{500};  // per repeat
  // Both processes, devices, queue pairs and the path probe, whose attempts alone may take 4 s
  // (path_probe.cpp).
  std::chrono::milliseconds start{6000};
  std::chrono::milliseconds stall{6000};  // longer than the seven attempts of traffic_of()'s timeout, 3.8 s
  std::chrono::milliseconds slack{3000};  // for a probe to report it
};

struct VerbsPlan {
  std::string benchmark;
  lockstep::Workload workload = lockstep::Workload::write_bandwidth;
  std::vector<std::vector<Pair>> rounds;  // read-bandwidth: `from` reads from `to`
  std::uint32_t repeats = 3;
  std::optional<std::uint64_t> flows;  // see TcpPlan
  RoundsTiming timing;
  std::string config_hash;  // copied into each measurement
  std::string executable = "/proc/self/exe";
};
// The same pairs, rounds, repeats, flows and windows.
VerbsPlan plan_verbs(const TcpPlan& plan);

// `ends`: by endpoint.
Result<std::vector<Measurement>> run_rounds(const VerbsPlan& plan,
                                            const std::vector<ProbeEndpoint>& endpoints,
                                            const std::vector<RdmaEnd>& ends,
                                            const ProgressSink& progress = {}, std::stop_token stop = {});

}  // namespace lockstep::bench::verbs
