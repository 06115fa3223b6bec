// Effects: whether what is wanted of a cluster also happens, before, while and after an apply writes to it.
//
// Promises: what held before must hold again; what could not be read does not count as there; what was open
// before, and nothing that was written or cured brings about (Row::follows), is not waited for; nothing is
// changed. One question at a time; each is answered once, never from within its call. Single-threaded over
// the executor.
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

  // Observes what the steps can touch, before they are begun. `done`: the devices that could not be.
  void remember(const std::vector<Step>& steps, std::function<void(std::set<std::string> unseen)> done);

  // Effects that must be there, of the devices of some steps and their neighbours: all that are wanted (at
  // the end), or those that were there before (in between, and after an undo). Observes again and again until
  // they are, or the settling time is over. The devices of `remedies` that may follow are observed too.
  void settle(std::vector<Step> touched, const std::vector<Step>& remedies, bool all,
              std::function<void(OpenEffects)> done);
  // Of the last settling at the end: what was open before, is so still, and was not waited for.
  const OpenEffects& open_before() const { return open_before_; }
  // Of the last settling: all effects of a device that are not as desired, and that no maintenance explains.
  const ChangeSet& open_of(const std::string& device) const;
  // Whether it was there before the change.
  bool held(std::size_t device, Path effect) const { return held_.contains({device, effect}); }

  // The devices of some steps and their neighbours: again where something that was written could not be read,
  // or is found as it was before, as reads may lag behind writes; of those observations the one that shows
  // most.
  void observe_written(std::vector<Step> steps, std::function<void(States)> done);

  // Waits end early, and what is being read is answered for as far as it went.
  void stop();
  // From now on nothing is cut short: an undo is carried through; until let_go().
  void hold_out() { must_stop_ = false, holds_out_ = true; }
  void let_go() { holds_out_ = false; }

 private:
  struct Settling {
    std::vector<Step> touched;
    bool all = false;
    std::vector<std::size_t> devices;  // of which something is open
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

  void read_again();
  void reading_over();

  Fleet& fleet_;
  Executor& executor_;
  const ApplyOptions& options_;
  bool must_stop_ = false;
  bool holds_out_ = false;
  std::set<std::pair<std::size_t, Path>> held_;
  std::set<std::pair<std::size_t, Path>> were_open_;  // before, as it was read
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
