// What the commands of the loop share: the fleet, an executor that Ctrl-C interrupts, and one look at
// everything.
#pragma once

#include <string>
#include <vector>

#include "drivers/runtime/real_executor.hpp"
#include "reconciler/cli/attached_fleet.hpp"
#include "reconciler/engine/journal.hpp"
#include "reconciler/engine/status.hpp"

namespace lockstep {

class LoopSession {
 public:
  // Prints what is wrong and answers nothing where there is no going on.
  static std::unique_ptr<LoopSession> open(const Aim& aim, const Console& console, const std::string& only);

  const OpenedCluster& cluster() const { return cluster_; }
  Fleet& fleet() { return attached_.fleet; }
  const Fleet& fleet() const { return attached_.fleet; }
  RealExecutor& executor() { return executor_; }
  const RealExecutor& executor() const { return executor_; }
  const std::vector<std::size_t>& only() const { return only_; }
  PlanChoice choice() const;  // a person's, of those
  const Sources& sources() const { return cluster_.catalog.sources; }
  const Origins& origins() const { return cluster_.compiled.origins; }

  std::vector<DeviceState> look();
  Result<Plan> plan(const std::vector<DeviceState>& states);
  // Of the chosen devices, with those items only that no step of the plan mends. Where it has steps, effects
  // may yet come with them.
  DriftReport unmended(const std::vector<DeviceState>& states, const Plan& plan) const;
  // What changes of ours wrote before this session (former_leaves.hpp).
  const std::vector<WrittenLeaf>& written() const { return written_; }
  std::function<const Policy*(const FleetDevice&)> policies() const;
  // The cluster's journal as it stands; nothing is written.
  Result<std::unique_ptr<Journal>> read_journal() const;

  // kExitIncomplete when something could not be read, and says what on standard error.
  int tell_unread(const std::vector<DeviceState>& states, const Console& console) const;

 private:
  LoopSession(OpenedCluster cluster, const Console& console);
  Result<Done> want_restored();

  OpenedCluster cluster_;
  AttachedFleet attached_;
  RealExecutor executor_;
  std::stop_token stop_;
  std::vector<std::size_t> only_;
  std::vector<WrittenLeaf> written_;
};

}  // namespace lockstep
