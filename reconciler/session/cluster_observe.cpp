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
                               std::function<void(const Answer&)> seen, std::function<bool()> prove)
    : fleet_(fleet),
      executor_(executor),
      options_(options_for(std::move(only), leads)),
      seen_(std::move(seen)),
      prove_(std::move(prove)) {}

void ClusterObserve::start(std::function<void(Answer)> done) {
  done_ = std::move(done);
  observe();
}

void ClusterObserve::stop() {
  stopped_ = true;
  if (round_) round_->stop();
}

void ClusterObserve::observe() {
  round_.emplace(fleet_, executor_, options_);
  round_->start([this](Answer states) { observed(std::move(states)); });
}

void ClusterObserve::observed(Answer states) {
  const std::function<bool()> prove = std::exchange(prove_, nullptr);
  if (prove && !stopped_ && prove()) return observe();
  mark_armed(states);
  if (seen_) seen_(states);
  const auto done = std::move(done_);  // which may end this
  done(std::move(states));
}

}  // namespace lockstep
