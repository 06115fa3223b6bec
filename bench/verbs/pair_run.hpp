// PairRun: runs the two probes of one pair of a round through its repeats, and produces one measurement.
//
// Promises: a pair ends at its deadline at the latest, which each repeat sets anew. look() waits for nothing
// but the exit of a probe that has closed its output, half a second at most (probe_process.hpp).
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "bench/verbs/payload.hpp"
#include "bench/verbs/probe_process.hpp"
#include "bench/verbs/rounds.hpp"

namespace lockstep::bench::verbs {

// Shared by the pairs of a run.
struct RoundsGround {
  const VerbsPlan& plan;
  Workload traffic;
  const std::vector<ProbeEndpoint>& endpoints;
  const std::vector<RdmaEnd>& ends;
  std::function<void(std::size_t endpoint, int pid)> started;  // a probe
};

class PairRun {
 public:
  PairRun(const RoundsGround& ground, const Pair& pair);

  void begin();  // the next repeat
  void check(std::uint64_t now);
  void stop();
  bool done() const { return done_; }
  std::uint64_t wake_at() const { return std::min(deadline_, answer_by_); }
  std::vector<int> descriptors() const;  // that may be readable
  Measurement& measurement() { return made_; }

 private:
  struct End {
    std::size_t endpoint = 0;
    std::optional<ProbeProcess> probe;
    Json says;  // its result; null: none yet
  };
  Json order(Role role) const;
  bool start(End& end, const Json& order);
  void hear_server();
  void hear_client();
  void finish_repeat();
  void take_result();
  void take_counters(const End& end, const char* role);
  void take_notes();
  void conclude();
  void mark_cpu();
  void fail(const std::string& why, Trouble trouble);
  std::string name(const End& end) const { return ground_.endpoints[end.endpoint].endpoint.name(); }
  bool latency() const { return ground_.traffic.measure == Measure::latency; }

  const RoundsGround& ground_;
  Measurement made_;
  End client_;
  End server_;
  std::uint32_t repeat_ = 0;
  std::uint64_t deadline_ = 0;
  std::uint64_t answer_by_ = ~std::uint64_t{0};  // the client has finished: how long to wait for the server
  Histogram merged_;
  double waited_ = 0;  // for a CPU: the largest share of a repeat's time
  std::size_t waited_at_ = 0;
  bool done_ = false;
};

}  // namespace lockstep::bench::verbs
