// ClusterWatch: watches one cluster and heals automatically what its policies allow. An object that the
// executor drives: the owner of the loop starts and stops it.
//
// Promises: what is healed is observed again, planned and applied under the rules of an automatic apply
// (PlanChoice::person is false), with the cluster's lock held during a heal and not while watching; devices
// in maintenance are watched and not healed; each heal is reported once. A stop ends what is under way like a
// stop of an apply. Other threads read its state from its snapshot.
#pragma once

#include <chrono>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "reconciler/engine/application.hpp"
#include "reconciler/engine/watch.hpp"
#include "reconciler/session/machines.hpp"
#include "reconciler/session/snapshot.hpp"
#include "reconciler/session/watch_problems.hpp"
#include "reconciler/store/store.hpp"

namespace lockstep {

// The outcome for the devices that were to be healed.
struct Healing {
  std::optional<Error> no_plan{};
  std::optional<Error> locked{};  // another process changes the cluster now
  Plan plan{};
  ApplyReport report{};  // of the plan, if there is no error above
};

// The outcome for specs that were edited.
enum class EditedSpecs : std::uint8_t {
  taken,
  left,       // refused, or the same as before: until the next edit
  postponed,  // could not be opened, for a transient reason: to be tried again
};

struct WatchRequest {
  std::string command;
  std::string author;         // author of its heals
  bool converge = false;      // heals automatically; otherwise it only watches
  bool only_applied = false;  // stands back also where no apply has brought a device to any specs
  // Of devices that drift, those that may be healed now; the others are tried later. Null: all.
  // `only_effects`: those of them that are configured as desired, and lack effects.
  std::function<std::vector<std::size_t>(std::vector<std::size_t> devices,
                                         const std::set<std::size_t>& only_effects)>
      admits{};
  std::chrono::milliseconds poll_every{WatchSettings{}.poll_every};
  std::chrono::milliseconds confirm_after{WatchSettings{}.confirm_after};
  std::function<void(const WatchEvent&)> event;
  std::function<void()> looked{};  // after each read of some devices, which the snapshot then has
  std::function<void(const Healing&)> healed{};
  std::function<void(const DriftReport&)> problems{};  // of the current differences (watch_problems.hpp)
  // Of more differences no causes are sought: the time that takes grows with their square.
  std::size_t problems_most = std::numeric_limits<std::size_t>::max();
  // Devices that it does not heal (any more), as no apply brought them to its specs last.
  std::function<void(const std::vector<std::string>& devices)> stands_back{};
  Progress progress{};  // of the heal under way
  // Specs that it follows while ClusterSession::watch() runs (SpecsFollower), and their specs_seen() from
  // before they were loaded. `specs_changed` is called when they have changed and no heal is under way; if it
  // takes them, the watch ends.
  std::vector<std::string> specs{};
  std::string specs_seen{};
  std::function<EditedSpecs(const std::string& seen)> specs_changed{};
  std::stop_token stop{};  // ends the watch; never requested: the session's token does
};

// What it needs from its session. All of it outlives the watch.
struct WatchGround {
  Fleet& fleet;
  Executor& executor;
  const Origins& origins;
  const Sources& sources;
  std::function<const Policy*(const FleetDevice&)> policies;
  std::function<Result<Lead>(const std::string& command)> lead;
  std::function<Result<std::unique_ptr<Store>>()> read_store;
  std::function<Result<Done>()> before_writing;  // ApplyOptions
  CurrentEpoch& epoch;                           // taken by `lead`
};

class ClusterWatch {
 public:
  using Answer = Result<Done>;
  ClusterWatch(WatchGround ground, WatchRequest request);
  ClusterWatch(const ClusterWatch&) = delete;
  ClusterWatch& operator=(const ClusterWatch&) = delete;

  void start(std::function<void(Answer)> done);
  void stop();
  void look() { watch_.look(); }
  void retry_declined() { watch_.retry_declined(); }
  bool is_healing() const { return watch_.is_healing(); }
  // As of the last turn of the loop. May be called on any thread while the watch lives.
  std::shared_ptr<const Snapshot> snapshot() const { return board_.read(); }

 private:
  WatchSettings settings();
  void heal(const std::vector<std::size_t>& devices, std::function<void(const Tried&)> healed);
  void observed(const std::vector<DeviceState>& states);
  Result<Plan> plan_of(const std::vector<DeviceState>& states, const std::vector<OwedChange>& open,
                       const std::vector<RefusedWrite>& refused) const;
  Result<Done> lead();
  Result<Done> stand_back(Store& store);
  void admit();
  void choose();
  void no_plan(Error why);
  void not_begun();
  void healing_over();
  Tried tried() const;
  void raise_epoch();
  void release();
  Progress progress();
  void note_change();
  void report(const WatchEvent& event);

  const WatchGround ground_;
  const WatchRequest request_;
  SnapshotBoard board_;
  WatchProblems problems_;
  bool stopped_ = false;
  std::map<std::size_t, std::string> unread_;  // devices that did not answer at their last read: why
  std::set<std::size_t> stood_back_;           // devices for which that was reported
  std::set<std::size_t> misconfigured_;        // at their last read, as far as that shows
  PlanChoice choice_;                          // of the heal under way, like all below
  Healing healing_;
  std::vector<std::size_t> devices_;
  std::set<std::size_t> silent_;  // those of devices_ that did not answer when the heal began
  std::function<void(const Tried&)> go_on_;
  std::vector<FileLock> machine_locks_;
  std::shared_ptr<Store> store_;
  bool lasts_ = false;       // Lead::lasts
  bool has_raised_ = false;  // its epoch above those of other leaders: at most once
  std::optional<ObserveRound> round_;
  std::optional<Application> application_;
  DeviceNames step_devices_;  // of that
  Watch watch_;
};

}  // namespace lockstep
