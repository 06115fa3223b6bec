#include "reconciler/engine/step_observation.hpp"

#include <iterator>
#include <utility>

namespace lockstep {

StepObservation::StepObservation(const Fleet& fleet, std::size_t device, const Attached* own, Scope scope)
    : device_(device), own_(own), scope_(std::move(scope)) {
  const std::vector<Attached*>& drivers = fleet[device].drivers;
  for (std::size_t d = 0; d < drivers.size(); ++d) {
    const bool is_known = fleet.carriers(device).traits(d) != nullptr;
    if (scope_.rows.empty() || drivers[d] == own || !is_known)
      reads_.push_back({.index = d, .attached = drivers[d], .is_known = is_known});
  }
}

void StepObservation::observe(const Call& call) {
  for (DriverRead& one : reads_) {
    one.reply.observe(*one.attached->driver, one.is_known, scope_, call);
    if (one.attached == own_ && !one.reply.seen) return;
  }
}

void StepObservation::teach(Fleet& fleet) {
  for (DriverRead& one : reads_)
    if (one.reply.traits) fleet.learn(device_, one.index, *std::move(one.reply.traits));
}

StepSeen StepObservation::merged(const Fleet& fleet, const Attached* own) {
  StepSeen seen;
  const Carriers& carriers = fleet.carriers(device_);
  TreeBuilder builder;
  for (DriverRead& one : reads_) {
    const bool is_own = one.attached == own;
    Result<Observation>& part = one.reply.seen;
    if (part && carriers.traits(one.index) == nullptr) part = carriers.why_unknown(one.index);
    if (!part && is_own) {
      seen.error = std::move(part.error());
      return seen;
    }
    if (!part) {
      carriers.add_unread(one.index, scope_, part.error(), seen.unread);
      continue;
    }
    for (const Entry& entry : part->have.entries()) builder.add(entry.path, entry.value);
    if (is_own) seen.revision = std::move(part->revision);
    if (is_own) seen.armed = std::move(part->armed);
    std::move(part->unread.begin(), part->unread.end(), std::back_inserter(seen.unread));
  }
  seen.have = builder.build();
  return seen;
}

}  // namespace lockstep
