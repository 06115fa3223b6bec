// The pairs of a benchmark over RDMA, in the rounds that TCP's would run in (bench/tcp/probe_plan.hpp): two
// probe processes a pair (run.hpp), each repeat with new queue pairs and so with a new hash; a gate's repeats
// with the same flow label before a change, after it and in the rounds that confirm (TcpPlan::flows).
//
// Promises: as bench/tcp/run.hpp: run_rounds() returns within the plan's own deadlines whatever the fabric
// does; each pair gives one measurement, one that could not be taken too; a stuck pair delays no other beyond
// its round; every probe is gone when it returns, and dies by itself when the calling thread does. A pair of
// which an end has no RDMA, or whose pre-check finds something in the way, has `transport` trouble and the
// reason; a completion error is the fabric's, in words. What the counters of both ends say beside traffic is
// in the measurement, over all repeats.
// Refuses: a plan that names endpoints which do not exist, and workloads that RDMA does not carry.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <vector>

#include "bench/verbs/rdma_end.hpp"

namespace lockstep::bench::verbs {

// What runs for a suite's workload: write-bandwidth, read-bandwidth and write-latency by these operations;
// stream and request-response, where both ends take part, by send. None: a collective.
std::optional<Workload> traffic_of(lockstep::Workload asked);

struct RoundsTiming {
  std::chrono::milliseconds window{500};  // a repeat
  // Both processes, devices, queue pairs and the path probe, whose tries alone may take 4 s (path_probe.cpp).
  std::chrono::milliseconds start{6000};
  std::chrono::milliseconds stall{6000};  // beyond the seven tries of traffic_of()'s timeout, 3.8 s
  std::chrono::milliseconds slack{3000};  // for a probe to say so
};

struct VerbsPlan {
  std::string benchmark;
  lockstep::Workload workload = lockstep::Workload::write_bandwidth;
  std::vector<std::vector<Pair>> rounds;  // read-bandwidth: `from` reads from `to`
  std::uint32_t repeats = 3;
  std::optional<std::uint64_t> flows;  // as TcpPlan has them
  RoundsTiming timing;
  std::string config_hash;  // copied into each measurement
  std::string executable = "/proc/self/exe";
};
// The same pairs, rounds, repeats, flows and windows.
VerbsPlan plan_verbs(const TcpPlan& plan);

// `ends`: of each endpoint.
Result<std::vector<Measurement>> run_rounds(const VerbsPlan& plan,
                                            const std::vector<ProbeEndpoint>& endpoints,
                                            const std::vector<RdmaEnd>& ends,
                                            const ProgressSink& progress = {}, std::stop_token stop = {});

}  // namespace lockstep::bench::verbs
