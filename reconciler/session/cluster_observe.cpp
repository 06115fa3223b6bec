#include "reconciler/session/cluster_observe.hpp"

#include <utility>

#include "reconciler/session/reach.hpp"

namespace lockstep {
namespace {

ObserveOptions options_for(std::vector<std::size_t> only) {
  ObserveOptions options;
  options.only = std::move(only);
  return options;
}

}  // namespace

ClusterObserve::ClusterObserve(AttachedFleet& attached, Executor& executor, std::vector<std::size_t> only)
    : attached_(attached), round_(attached.fleet, executor, options_for(std::move(only))) {}

void ClusterObserve::start(std::function<void(Answer)> done) {
  round_.start([this, done = std::move(done)](Answer states) {
    mark_unreached(attached_, states);
    done(std::move(states));
  });
}

}  // namespace lockstep
