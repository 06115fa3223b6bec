// What the two controllers (pairs, rings) share: the plan, the fleet, and where the measurements go.
#pragma once

#include <map>
#include <optional>

#include "bench/tcp/cpu.hpp"
#include "bench/tcp/probe_fleet.hpp"

namespace lockstep::bench {

struct RunState {
  const TcpPlan& plan;
  const std::vector<ProbeEndpoint>& endpoints;
  const ProgressSink& progress;
  ProbeFleet fleet;
  std::vector<Measurement> made{};
  std::size_t total = 0;
  std::size_t done = 0;
  std::size_t round = 0;
  std::size_t rounds = 0;
  std::uint64_t next_job = 1;

  void report(Progress::What what, const Measurement* measurement = nullptr);
  void start_probes(const std::vector<std::size_t>& wanted);
  // An order with what every role needs: job, token, time limits, congestion control, own and peer address.
  Json order(const char* op, std::uint64_t job, std::size_t own, std::size_t peer) const;
  // The own port of an end of connection number `which` between the two; 0: the kernel chooses.
  enum class Side : std::uint8_t { listens, connects };
  std::uint16_t flow_port(Side side, std::size_t own, std::size_t peer, std::uint64_t which) const;
  Measurement blank(Metric metric) const;
};

// Decides by the busier of the two ends and the machine; sets cpu_limited and its reason, with the figures.
// `reached` is the measured share of nominal (0: unknown): what the link limited was not limited by a CPU.
void mark_cpu(Measurement& measurement, double busiest, const std::string& endpoint, double machine_idle,
              double reached);

void run_pair_round(RunState& state, const std::vector<Pair>& pairs);
void run_group_round(RunState& state, const std::vector<Group>& groups, std::uint64_t bytes);

}  // namespace lockstep::bench
