// Effects: whether what is wanted of a cluster also happens, before, while and after an apply writes to it,
// and the cures of what does not.
//
// Promises: what held before must hold again; what could not be read does not count as there; each open
// effect that some driver offers a remedy for is cured kCureRounds times at most in a run, no more often by
// itself than its driver allows, and only where a change may go: a device that the run may touch, a
// disruption that needs no person's word or has it.
#pragma once

#include <set>
#include <stop_token>
#include <utility>
#include <vector>

#include "reconciler/engine/apply.hpp"

namespace lockstep {

// One cure can be what another waits for: a daemon that has to run again, then a next hop that it lost.
inline constexpr int kCureRounds = 2;

class Effects {
 public:
  Effects(Fleet& fleet, Executor& executor, Ledger& ledger, const ApplyOptions& options,
          std::stop_token stop);

  // Looks at what the steps can touch, before they are begun.
  void remember(const std::vector<Step>& steps);

  // Effects that must be there, of the devices of some steps and their neighbours: all that are wanted (at
  // the end), or those that were there before (in between, and after an undo). Looks again and again until
  // they are, or the settling time is over; then, at the end, remedies.
  std::vector<OpenEffect> settle(const std::vector<Step>& touched, bool all);
  // The cures that were tried and can have changed how traffic goes, as steps; and what there is to say.
  const std::vector<Step>& cures() const { return cures_; }
  std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }

  // The devices of some steps and their neighbours: again where something that was written could not be read,
  // or is found as it was before, as reads may lag behind writes; of those looks the one that shows most.
  std::vector<DeviceState> look_well(const std::vector<Step>& steps);

  // From now on nothing is cut short: an undo is carried through.
  void hold_out() { stop_ = {}; }
  bool must_stop() const { return stop_.stop_requested(); }

 private:
  std::vector<std::size_t> around(const std::vector<Step>& steps) const;
  std::vector<DeviceState> look_at(std::vector<std::size_t> devices);
  void wait(std::chrono::milliseconds how_long);
  std::vector<OpenEffect> wait_for(const std::vector<Step>& touched, bool all);
  void add_open(std::size_t device, const DeviceState& state, bool all, const std::vector<Step>& touched,
                std::vector<OpenEffect>& open) const;
  bool may_cure(const OpenEffect& open) const;
  bool is_approved(std::size_t device, const Remedy::Offer& offer) const;
  bool cure(const std::vector<OpenEffect>& open);

  Fleet& fleet_;
  Executor& executor_;
  Ledger& ledger_;
  const ApplyOptions& options_;
  std::stop_token stop_;
  std::set<std::pair<std::size_t, Path>> held_;
  std::vector<Step> cures_;
  std::vector<std::string> notes_;
};

}  // namespace lockstep
