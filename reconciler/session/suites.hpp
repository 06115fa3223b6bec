// The validation suites of an opened cluster as the engine's gate, and as benchmarks on their own.
//
// Promises: a gate compares with the baselines of the store (baselines.hpp); only what a change can have
// touched is measured in a gate (onChange.scope: affected), and nothing of devices in maintenance.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "reconciler/engine/apply.hpp"
#include "reconciler/measure/measure.hpp"
#include "reconciler/session/opened_cluster.hpp"
#include "reconciler/session/subjects.hpp"
#include "reconciler/store/blobs.hpp"
#include "reconciler/store/file_lock.hpp"

namespace lockstep {

// Progress of a measurement, called on the thread that measures (for a gate: a worker thread). All may be
// null.
struct MeasureHooks {
  std::function<void(const Error& taken)>
      waiting{};  // called once; the error names the process that measures now
  std::function<void(const MeasureProgress&)> progress{};
  std::function<void()> ended{};  // whatever the outcome
};

MeasureInput measure_input(const OpenedCluster& cluster, const Blobs& blobs);

// Devices of which nothing is measured.
std::set<DeviceIndex> in_maintenance(const OpenedCluster& cluster);

// What a gate compares: a figure for each SLO over each pair; higher is better for every bound.
GateMeasurement gate_measurement(const std::vector<SuiteOutcome>& outcomes);

// Waits until no other process measures the cluster of this state directory: each of two measurements would
// take the other's traffic for a fault of the fabric.
Result<FileLock> turn_to_measure(const std::string& directory, const std::string& command, const Call& call,
                                 const std::function<void(const Error& taken)>& waiting);

// The time limit of a gate: what the suites' budgets allow, and as much again for controls, for pairs that
// fail late, and to wait for its turn.
std::chrono::milliseconds time_to_measure(const Catalog& catalog);

// The strictest of the suites' settings for a violation.
OnFail on_violation(const Catalog& catalog);

// TcpPlan::flows of a cluster's gates: the same all day. With new flows in each measurement, a pair whose
// flow took the broken one of several equal links would take a good one in the confirming round, and the
// change would pass; and a flow that took a good link before would count against the change, through an
// earlier run's figures as well. Another day uses other flows.
std::uint64_t flows_of_today(const OpenedCluster& cluster);

// Must outlive the executor that it is used on: a measurement that exceeded its time ends after its answer.
// Measures on a worker thread: the baselines are in `input`, read by the thread that creates the gate,
// because a store is for one thread.
class SuiteGate final : public Measurer {
 public:
  // Called for each measure() that completed, on the measuring thread, while it holds the turn to measure.
  using Taken = std::function<void(const GateQuestion& question, const std::vector<SuiteOutcome>& outcomes,
                                   const std::vector<SuiteOutcome>& beside, const FileLock& turn)>;
  // `directory`: where the cluster's state is.
  SuiteGate(const OpenedCluster& cluster, MeasureInput input, std::string directory, MeasureHooks hooks,
            Taken taken = {})
      : cluster_(cluster),
        input_(std::move(input)),
        directory_(std::move(directory)),
        hooks_(std::move(hooks)),
        taken_(std::move(taken)),
        flows_(flows_of_today(cluster)) {}
  Result<GateMeasurement> measure(const GateQuestion& question, const Call& call) override;
  bool crosses(const std::string& subject, const BlastRadius& changed) const override;
  // The outcomes of each completed measure() after a change or its rollback, in order.
  std::vector<std::vector<SuiteOutcome>> gates() const;

 private:
  std::set<DeviceIndex> ran_jobs();

  const OpenedCluster& cluster_;
  const MeasureInput input_;
  std::string directory_;
  MeasureHooks hooks_;
  Taken taken_;
  const std::uint64_t flows_;
  mutable SubjectPaths paths_{input_};  // used on the engine's thread only
  mutable std::mutex mutex_;
  std::vector<std::vector<SuiteOutcome>> gates_;
  std::optional<std::set<DeviceIndex>> ran_jobs_;  // when it first measured
};

}  // namespace lockstep
