// ClusterWatch: a watch of one cluster that heals what may heal by itself. An object that the executor
// drives: whoever owns the loop starts it, and stops it.
//
// Promises: what is healed is observed again, planned for and applied under the rules of an apply that nobody
// asked for (PlanChoice::person is false), with the cluster's lock held while it heals and not while it
// watches; devices in maintenance are watched and not healed; each healing is reported once. A stop ends what
// is under way as a stop of an apply does. What any thread wants to know of it is in its snapshot.
#pragma once

#include <functional>
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
#include "reconciler/store/store.hpp"

namespace lockstep {

// What came of devices that were to be healed.
struct Healing {
  std::optional<Error> no_plan{};
  std::optional<Error> locked{};  // somebody else changes the cluster now
  Plan plan{};
  ApplyReport report{};  // of the plan, where there are neither
};

// What became of specs that were edited.
enum class EditedSpecs : std::uint8_t {
  taken,
  left,       // refused, or the same as before: until the next edit
  postponed,  // could not be opened, for a reason that may pass: to be asked again
};

struct WatchRequest {
  std::string command;
  std::string author;     // of what it heals
  bool converge = false;  // heals what may heal by itself; else it only watches
  std::function<void(const WatchEvent&)> event;
  std::function<void(const Healing&)> healed{};
  // Devices that it does not heal from now on, as their specs are not the ones that were applied last.
  std::function<void(const std::vector<std::string>& devices)> stands_back{};
  Progress progress{};  // of the healing under way
  // Specs that it follows while ClusterSession::watch() runs (SpecsFollower), and specs_seen() of them before
  // they were loaded. Called while nothing is healed, where they have changed; where they are taken, the
  // watch ends.
  std::vector<std::string> specs{};
  std::string specs_seen{};
  std::function<EditedSpecs(const std::string& seen)> specs_changed{};
  std::stop_token stop{};  // ends the watch in place of the session's; never requested: the session's does
};

// What it needs of the session that it belongs to. All outlive it.
struct WatchGround {
  Fleet& fleet;
  Executor& executor;
  const Origins& origins;
  const Sources& sources;
  std::function<const Policy*(const FleetDevice&)> policies;
  std::function<Result<Lead>(const std::string& command)> lead;
  std::function<Result<std::unique_ptr<Store>>()> read_store;
  std::function<Result<Done>()> before_writing;  // ApplyOptions
};

class ClusterWatch {
 public:
  using Answer = Result<Done>;
  ClusterWatch(WatchGround ground, WatchRequest request);
  ClusterWatch(const ClusterWatch&) = delete;
  ClusterWatch& operator=(const ClusterWatch&) = delete;

  void start(std::function<void(Answer)> done);
  void stop();
  bool is_healing() const { return watch_.is_healing(); }
  // As of the last turn of the loop. On any thread, while the watch lives.
  std::shared_ptr<const Snapshot> snapshot() const { return board_.read(); }

 private:
  WatchSettings settings();
  void heal(const std::vector<std::size_t>& devices, std::function<void(const Tried&)> healed);
  void observed(const std::vector<DeviceState>& states);
  Result<Plan> plan_of(const std::vector<DeviceState>& states, const std::vector<OwedChange>& open,
                       const std::vector<RefusedWrite>& refused) const;
  Result<Done> lead();
  Result<Done> stand_back(Store& store);
  void no_plan(Error why);
  void not_begun();
  void healing_over();
  Tried tried() const;
  void release();
  Progress progress();
  void note_change();
  void report(const WatchEvent& event);

  const WatchGround ground_;
  const WatchRequest request_;
  SnapshotBoard board_;
  bool stopped_ = false;
  std::map<std::size_t, std::string> unread_;  // devices that did not answer when they were last read: why
  std::set<std::size_t> stood_back_;           // devices that it was reported for
  PlanChoice choice_;                          // of the healing under way, as all below
  Healing healing_;
  std::vector<std::size_t> devices_;
  std::set<std::size_t> silent_;  // of them: that did not answer as it began
  std::function<void(const Tried&)> go_on_;
  std::vector<FileLock> machine_locks_;
  std::unique_ptr<Store> store_;
  std::optional<ObserveRound> round_;
  std::optional<Application> application_;
  Watch watch_;
};

}  // namespace lockstep
