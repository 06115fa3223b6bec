// TCP workloads with real traffic: one probe process per endpoint, inside the endpoint's network namespace.
//
// Promises: run() returns within the plan's own deadlines whatever the fabric does; each pair of the plan
// gives one measurement (each group and size one for busbw and one for stepSkew), even if it could not be
// taken, then with the stage at which it stopped; a stuck pair delays no other pair beyond the round's
// deadline; every probe is gone when run() returns, also after an error, and dies by itself when the caller
// dies (the thread that calls run() must live as long as the call: PR_SET_PDEATHSIG follows threads,
// prctl(2)). Refuses: a plan with endpoints that do not exist, workloads other than stream (and its aliases
// write-bandwidth and read-bandwidth), request-response and ring-allreduce: those give `transport` trouble.
//
// Linux; entering a namespace needs CAP_SYS_ADMIN. The executable must dispatch `probe` to probe_main().
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "bench/measurement.hpp"
#include "bench/pairs.hpp"
#include "specs/model/result.hpp"

namespace lockstep::bench {

struct ProbeEndpoint {
  Endpoint endpoint;
  std::string netns;               // "/run/netns/lab-gpu1"; empty: the caller's
  std::uint64_t link_rate = 0;     // bit/s; 0: unknown, there is no nominal figure
  std::uint32_t mtu = 1500;        // IP MTU of its port
  std::uint32_t frame_bytes = 14;  // counted by the link's rate besides the IP packet (ideal.hpp, Framing)
  std::string unreachable;         // why no probe can be started there; empty: it can
};

struct Timing {
  std::chrono::milliseconds connect{2000};  // connect and hand-shake
  // Slow start and BBR's start-up: well above 10 round trips of the loaded lab (at most 10 ms, lab facts 4b).
  std::chrono::milliseconds warm_up{200};
  std::chrono::milliseconds window{500};  // steady time per repeat
  std::chrono::milliseconds stall{1000};  // connected, but no data moves: 5 times TCP's minimum RTO of 200 ms
  std::chrono::milliseconds slack{3000};  // beyond the time that a repeat needs, before it is given up
};

struct TcpPlan {
  std::string benchmark;
  Workload workload = Workload::stream;
  std::vector<std::vector<Pair>> rounds;         // pair workloads; read-bandwidth: `from` reads from `to`
  std::vector<std::vector<Group>> group_rounds;  // collectives
  std::vector<std::uint64_t> sizes;              // bytes per rank
  std::uint32_t repeats = 3;                     // each with a new connection and so a new hash
  // Plans with the same number use the same connections, port by port, so that a hash of the five-tuple
  // selects the same path (if a port is in use by then, the kernel chooses another); none: the kernel chooses
  // all.
  std::optional<std::uint64_t> flows;
  std::uint32_t warm_up_iterations = 3;                 // collectives; round trips: 100 times as many
  std::uint32_t iterations = 60;                        // collectives, maximum; what p5 needs
  std::chrono::milliseconds collective_budget{10'000};  // per group and size: fewer iterations if time is up
  std::uint32_t message_bytes = 8;                      // request-response
  Timing timing;
  std::string congestion;   // TCP congestion control; empty: the namespace's
  std::string config_hash;  // copied into each measurement
  std::string
      not_to_be_had;  // if set, nothing runs: each measurement has `transport` trouble and this reason
  std::string executable = "/proc/self/exe";

  // Faults for tests, by name; never set in production.
  enum class Fault : std::uint8_t { none, corrupt_one_element } fault = Fault::none;
};

// For flow number `which` from `own` to `peer`: the same in every process and run of this program, and not 0.
std::uint64_t flow_number(std::uint64_t flows, const std::string& benchmark, const Endpoint& own,
                          const Endpoint& peer, std::uint64_t which);

struct Progress {
  enum class What : std::uint8_t { probe_started, round_started, pair_done, round_done } what;
  std::size_t round = 0;  // from 0
  std::size_t rounds = 0;
  std::size_t done = 0;  // pairs (or groups and sizes) done, in the whole plan
  std::size_t total = 0;
  std::size_t endpoint = 0;                  // probe_started
  int pid = -1;                              // probe_started
  const Measurement* measurement = nullptr;  // pair_done
};
using ProgressSink = std::function<void(const Progress&)>;

Result<std::vector<Measurement>> run(const TcpPlan& plan, const std::vector<ProbeEndpoint>& endpoints,
                                     const ProgressSink& progress = {}, std::stop_token stop = {});

// The probe's side: `lockstep probe --control-fd N [--netns PATH]`. Returns the exit status.
int probe_main(int argc, char** argv);

}  // namespace lockstep::bench
