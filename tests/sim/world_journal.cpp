// A full disk under the journal of a World: for one commit, for some, or until the program ends.
#include <algorithm>
#include <limits>
#include <utility>

#include "world.hpp"

namespace lockstep::simulation {

bool World::refuses_commit() {
  if (process_ == nullptr) return false;
  if (full_for_ == 0 && full_disk_chance_ > 0 && random_.chance(full_disk_chance_)) {
    const std::uint64_t drawn = random_.below(3);
    full_for_ = drawn == 0 ? 1 : drawn == 1 ? 1 + random_.below(8) : std::numeric_limits<std::size_t>::max();
  }
  if (full_for_ == 0) return false;
  --full_for_;
  ++unstored_;
  ++result_.counts.unstored;
  record("not stored");
  return true;
}

// The usual checks still apply: no write without a ticket, and no unjudged change is forgotten.
void World::check_unstored(const ApplyReport& report, bool accepted) {
  if (std::exchange(unstored_before_, unstored_) == unstored_) return;
  ++result_.counts.stopped_short;
  if (!accepted || report.exit_code() == 1) return;
  // Steps that fail for this reason are reported, and remain to be done or were rolled back with the rest.
  const bool said = std::ranges::any_of(report.steps, [this](const StepResult& one) {
    return one.state == StepState::failed && one.why.find(directory_.path()) != std::string::npos;
  });
  const ApplyVerdict verdict = report.verdict;
  const bool is_told_by_it = verdict == ApplyVerdict::undone || verdict == ApplyVerdict::undone_in_part ||
                             verdict == ApplyVerdict::waits || verdict == ApplyVerdict::asks ||
                             verdict == ApplyVerdict::effects_open;  // only the effects after remedies
  if (!said || !is_told_by_it || report.exit_code() == 0)
    violation("the journal did not take all of it, and the run ends with " +
              std::to_string(report.exit_code()));
}

}  // namespace lockstep::simulation
