// The only place where a session runs the executor: it starts the engine's work and waits for it.
#include "drivers/runtime/pump.hpp"
#include "reconciler/engine/application.hpp"
#include "reconciler/session/cluster_session.hpp"

namespace lockstep {

std::vector<DeviceState> ClusterSession::observe_now(const ObserveOptions& options) {
  ObserveRound round(attached_.fleet, executor_, options);
  return pump(executor_, round, stop_);
}

ApplyReport ClusterSession::apply_now(Journal& journal, const Plan& plan, const ApplyOptions& options,
                                      const Progress& progress) {
  Application application(attached_.fleet, executor_, journal, plan, options, progress);
  return pump(executor_, application, stop_);
}

Result<Done> ClusterSession::watch(const WatchRequest& request) {
  ClusterWatch watch({attached_.fleet, executor_, origins(), sources(), policies(), directory_}, request);
  return pump(executor_, watch, request.stop.stop_possible() ? request.stop : stop_);
}

}  // namespace lockstep
