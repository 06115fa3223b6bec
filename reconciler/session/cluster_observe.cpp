#include "reconciler/session/cluster_observe.hpp"

#include <utility>

namespace lockstep {
namespace {

ObserveOptions options_for(std::vector<std::size_t> only, bool leads) {
  ObserveOptions options;
  options.only = std::move(only);
  options.undoes_armed = leads;
  return options;
}

// An armed device will not stay as observed.
void mark_armed(std::vector<DeviceState>& states) {
  for (DeviceState& state : states)
    for (const std::string& transaction : state.armed)
      state.errors.push_back(Error{
          ErrorKind::conflict, state.device + ": change " + transaction +
                                   " is armed: the device undoes it unless the run that made it keeps it"});
}

}  // namespace

ClusterObserve::ClusterObserve(Fleet& fleet, Executor& executor, std::vector<std::size_t> only, bool leads,
                               std::function<void(const Answer&)> seen)
    : round_(fleet, executor, options_for(std::move(only), leads)), seen_(std::move(seen)) {}

void ClusterObserve::start(std::function<void(Answer)> done) {
  round_.start([this, done = std::move(done)](Answer states) {
    mark_armed(states);
    if (seen_) seen_(states);
    done(std::move(states));
  });
}

}  // namespace lockstep
