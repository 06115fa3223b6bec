// ClusterBench: one run of a suite by the clock (`onSchedule`), as an object that the executor drives.
//
// Promises: it measures over the links of the suite's fabric as a gate does that may have changed all of
// them (gate_pairs.hpp), and nothing at hosts that run jobs, unless it is to, nor at devices in maintenance
// or those it leaves out. It takes no longer than its budget, with the wait for other measurements: the
// rounds are planned to take half of it, and what breaks an SLO is measured once more and judged by the
// second figure. A run that is not over by then, or is stopped, is neither judged nor recorded. It is
// destroyed before the executor and the session.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "drivers/runtime/callback_scope.hpp"
#include "reconciler/session/cluster_observe.hpp"
#include "reconciler/session/suites.hpp"

namespace lockstep {

struct ScheduledBench {
  std::string command;  // in the record, and shown to others who wait to measure
  std::string author;
  std::string suite;
  std::chrono::milliseconds budget{};
  bool at_busy_hosts = false;
  std::set<std::string> left_out{};  // devices
};

struct ScheduledRun {
  std::string why_not{};  // why nothing is judged; empty: the suite is
  bool out_of_time = false;
  std::vector<SuiteOutcome> outcomes{};
  std::optional<Result<std::uint64_t>> recorded{};  // its number; none: nothing is judged
};

// What it needs from its session. All of it outlives the run.
struct BenchGround {
  const OpenedCluster& cluster;
  Executor& executor;
  const std::string& directory;
  std::function<std::unique_ptr<ClusterObserve>()> observe;
  std::function<Result<MeasureInput>()> input;  // as of now
  std::function<Result<std::uint64_t>(const std::vector<SuiteOutcome>& outcomes,
                                      const std::string& config_hash, const FileLock& turn)>
      record;
};

class ClusterBench {
 public:
  using Answer = Result<ScheduledRun>;
  ClusterBench(BenchGround ground, ScheduledBench request);
  ~ClusterBench();
  ClusterBench(const ClusterBench&) = delete;
  ClusterBench& operator=(const ClusterBench&) = delete;

  void start(std::function<void(Answer)> done);
  void stop();

 private:
  struct Taken;
  void measure();
  GateChoice choice() const;
  void measured(const Outcome& ended);
  Answer judged();
  void answer(Answer answer);

  const BenchGround ground_;
  const ScheduledBench request_;
  std::function<void(Answer)> done_;
  std::unique_ptr<ClusterObserve> observe_;
  std::shared_ptr<Taken> taken_;
  std::uint64_t job_ = 0;
  std::uint64_t timer_ = 0;
  bool stopped_ = false;
  bool out_of_time_ = false;
  CallbackScope callbacks_;
};

}  // namespace lockstep
