// The validation suites of an opened cluster as the engine's gate, and as the `bench` command runs them.
//
// Promises: baselines come from and go to the journal, so that a gate compares with the last accepted
// generation; only what a change can have touched is measured in a gate (onChange.scope: affected).
#pragma once

#include <mutex>
#include <vector>

#include "reconciler/cli/console.hpp"
#include "reconciler/cli/opened_cluster.hpp"
#include "reconciler/engine/apply.hpp"
#include "reconciler/engine/file_lock.hpp"
#include "reconciler/engine/journal.hpp"
#include "reconciler/measure/measure.hpp"

namespace lockstep {

MeasureInput measure_input(const OpenedCluster& cluster, const Journal& journal);

// Adds what was measured to the accepted baselines. Call only when all SLOs held.
Result<Done> accept_baselines(Journal& journal, const std::vector<SuiteOutcome>& outcomes);

// Waits for whoever measures this cluster now, and says so: two at once would take the traffic of the other
// for the fabric's fault.
Result<FileLock> turn_to_measure(const OpenedCluster& cluster, const std::string& command, const Call& call);

// The harshest of what the suites say should follow a violation.
OnFail on_violation(const Catalog& catalog);

// Must outlive the executor that it is asked on: a measurement that ran out of time ends after its answer.
class SuiteGate final : public Measurer {
 public:
  SuiteGate(const OpenedCluster& cluster, const Journal& journal, const Console& console)
      : cluster_(cluster), journal_(journal), console_(console) {}
  Result<GateResult> measure(const BlastRadius& affected, const BlastRadius& pending,
                             const Call& call) override;
  // Of each measure() that came to an end, in order.
  std::vector<std::vector<SuiteOutcome>> gates() const;

 private:
  const OpenedCluster& cluster_;
  const Journal& journal_;
  const Console& console_;
  mutable std::mutex mutex_;
  std::vector<std::vector<SuiteOutcome>> gates_;
};

}  // namespace lockstep
