// Effects: observes whether the desired effects are there, before, during and after an apply.
//
// Promises: an effect that was there before must be there again; one that could not be read does not count as
// there; one that was open before, and that no write or remedy brings about (Row::follows), is not awaited;
// nothing is changed. One question at a time; each is answered once, never from within its call.
// Single-threaded over the executor.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "drivers/runtime/callback_scope.hpp"
#include "reconciler/engine/apply.hpp"
#include "reconciler/engine/observe.hpp"

namespace lockstep {

class Effects {
 public:
  using OpenEffects = std::vector<OpenEffect>;
  using States = std::vector<DeviceState>;

  Effects(Fleet& fleet, Executor& executor, const ApplyOptions& options);
  ~Effects();
  Effects(const Effects&) = delete;
  Effects& operator=(const Effects&) = delete;

  // Observes what the steps can touch, before they begin. `done` gets the devices that could not be observed.
  void remember(const std::vector<Step>& steps, std::function<void(std::set<std::string> unseen)> done);

  // Waits for the effects of the devices of some steps and of their neighbours: all desired ones (at the
  // end), or those that were there before (in between, and after a rollback). Observes repeatedly until they
  // are there, or the settling time is over. The devices of the `remedies` that may follow are observed too.
  void settle(std::vector<Step> touched, const std::vector<Step>& remedies, bool all,
              std::function<void(OpenEffects)> done);
  // Of the last settling at the end: effects that were open before, are still open, and were not awaited.
  const OpenEffects& open_before() const { return open_before_; }
  // Of the last settling: all effects of a device that are not as desired, except those explained by
  // maintenance.
  const ChangeSet& open_of(const std::string& device) const;
  // Whether it was there before the change.
  bool held(std::size_t device, Path effect) const { return held_.contains({device, effect}); }

  // Whether an effect of a device goes away with steps that are rolled back: it came with new ends of theirs,
  // or it is a figure (a session's timer, a speed) that they may have changed, whose value the specs give
  // only for the state with them. The result must not outlive this object.
  using GoesWith = std::function<bool(const std::string& device, Path effect)>;
  GoesWith goes_with(std::vector<Step> undone) const;
  // Before a rollback of what an earlier run wrote: effects that go with it are not awaited.
  void forget_what_goes_with(const std::vector<Step>& undone);
  // The same for a rollback of an older change that the user requests, which may be all that made traffic
  // flow: if the change created objects, all effects that these may have brought about are forgotten too.
  void forget_what_came_with(const std::vector<Step>& undone);

  // Observes the devices of some steps and their neighbours, repeatedly while something that was written
  // can't be read or still has its old value, as reads may lag behind writes; returns the observation that
  // shows most of the writes.
  void observe_written(std::vector<Step> steps, std::function<void(States)> done);

  // Ends waits early; an observation under way is answered with what was read so far.
  void stop();
  // From now on nothing is cut short, so that a rollback is completed; until let_go().
  void hold_out() { must_stop_ = false, holds_out_ = true; }
  void let_go() { holds_out_ = false; }

 private:
  struct Settling {
    std::vector<Step> touched;
    bool all = false;
    std::vector<std::size_t> devices;  // those with open effects
    Time until{};
    std::chrono::milliseconds pause{0};
    std::function<void(OpenEffects)> done;
  };
  struct Reading {
    std::map<std::size_t, std::vector<const Step*>> steps_of;  // by device
    std::vector<Step> steps;
    States best;
    int observations = 0;
    std::chrono::milliseconds pause{0};
    std::function<void(States)> done;
  };

  std::vector<std::size_t> around(const std::vector<Step>& steps) const;
  void observe(std::vector<std::size_t> devices, std::function<void(States)> done);
  void wait(std::chrono::milliseconds how_long, std::function<void()> then);
  void wait_over();

  void observe_open();
  void observed_open(const States& states);
  void settled(OpenEffects open);
  void add_open(std::size_t device, const DeviceState& state, OpenEffects& open, OpenEffects& before) const;
  bool is_awaited(std::size_t device, Path effect) const;
  bool may_bring_about(const std::vector<Step>& steps, const std::string& device, Path effect) const;

  void read_again();
  void reading_over();

  Fleet& fleet_;
  Executor& executor_;
  const ApplyOptions& options_;
  bool must_stop_ = false;
  bool holds_out_ = false;
  std::set<std::pair<std::size_t, Path>> held_;
  std::set<std::pair<std::size_t, Path>> were_open_;  // before, as far as they were read
  OpenEffects open_before_;
  std::map<std::string, ChangeSet> open_of_;
  std::optional<ObserveRound> round_;
  std::optional<std::uint64_t> timer_;
  std::function<void()> after_wait_;
  std::optional<Settling> settling_;
  std::optional<Reading> reading_;
  CallbackScope callbacks_;
};

}  // namespace lockstep
