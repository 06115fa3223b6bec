// The only place where a session runs the executor: the blocking forms, which are the session's operations
// pumped until they answer, for callers that have nothing else to do meanwhile.
#include <optional>
#include <string>
#include <vector>

#include "drivers/runtime/command_queue.hpp"
#include "drivers/runtime/pump.hpp"
#include "reconciler/session/cluster_apply.hpp"
#include "reconciler/session/cluster_observe.hpp"
#include "reconciler/session/specs_follower.hpp"

namespace lockstep {
namespace {

// Files that the loaded specs name, which need not be in what load() was given.
std::vector<std::string> inventories_of(const Catalog& catalog) {
  std::vector<std::string> out;
  for (const DeviceSet& set : catalog.device_sets)
    if (set.from->csv.said) out.push_back(catalog.sources.files[set.names.at.file].name);
  return out;
}

}  // namespace

std::vector<DeviceState> ClusterSession::observe() {
  const std::unique_ptr<ClusterObserve> round = make_observe();
  return pump(executor_, *round, stop_);
}

Applied ClusterSession::apply(const Plan& plan, const std::vector<WrittenEntry>& left,
                              const ApplyRequest& request, const ApplyHooks& hooks) {
  const std::unique_ptr<ClusterApply> apply = make_apply(plan, left, request, hooks);
  return pump(executor_, *apply, stop_);
}

Result<ObservedDrift> ClusterSession::drift(bool unmanaged) { return drift_of(observe(), unmanaged); }

Result<Rest> ClusterSession::observe_rest() { return rest_of(observe()); }

Result<Done> ClusterSession::watch(const WatchRequest& request) {
  const std::unique_ptr<ClusterWatch> watch = make_watch(request);
  TRY(const std::unique_ptr<CommandQueue> commands, CommandQueue::open(executor_));
  // A stop comes from any thread, and wakes the loop.
  const std::stop_callback stopped(request.stop.stop_possible() ? request.stop : stop_,
                                   [&] { commands->post([&watch] { watch->stop(); }); });
  std::optional<SpecsFollower> follower;
  if (request.specs_changed)
    follower.emplace(executor_, request.specs, inventories_of(cluster_.catalog), request.specs_seen,
                     [&](const std::string& seen) {
                       if (watch->is_healing()) return false;
                       const EditedSpecs became = request.specs_changed(seen);
                       if (became == EditedSpecs::taken) watch->stop();
                       return became != EditedSpecs::postponed;
                     });
  return pump(executor_, *watch);
}

}  // namespace lockstep
