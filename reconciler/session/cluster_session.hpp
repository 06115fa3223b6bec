// ClusterSession: the workflow of one cluster without a console: attaches its devices, observes, plans and
// changes them, has benchmarks judge the change, and stores what was accepted.
//
// Promises: prints nothing and prompts for nothing: what a caller shows is returned, or passed to a callback
// while it happens. Only apply() and, under `mode: converge`, watch() write to devices, and both hold the
// cluster's lock while they do. apply() starts only after the changes of interrupted runs are settled or
// taken over.
// What takes time is an object that the executor drives (make_observe, make_apply, make_watch): whoever owns
// the loop starts and pumps it. A command, which has nothing else to do, calls the blocking forms, which are
// those objects pumped until they answer (blocking.cpp has all of them).
// Refuses: specs with errors or without devices; a twin that is not up.
//
// Destroy those objects first, then the executor, then the session: until the executor's destructor returns,
// a call that missed its deadline may still use the session's drivers, store and gate.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "reconciler/engine/status.hpp"
#include "reconciler/session/attached_fleet.hpp"
#include "reconciler/session/baselines.hpp"
#include "reconciler/session/cluster_watch.hpp"
#include "reconciler/session/machines.hpp"
#include "reconciler/session/owed.hpp"
#include "reconciler/session/reach.hpp"
#include "reconciler/session/recorded_runs.hpp"
#include "reconciler/session/suites.hpp"
#include "reconciler/store/store.hpp"

namespace lockstep {

// What the program, a simulation or a test passes to a session.
struct SessionSeams {
  const DriverTable& drivers;  // used by open() only
  Executor& executor;
  std::string directory{};  // of the store and the locks; empty: the current state_directory()
  std::stop_token stop{};   // once requested, nothing new begins
  Measurer* measurer =
      nullptr;  // replaces the suites' own traffic as the gate's judge; null: it is not replaced
  MachineFolders machines{machine_folders()};
  std::string version{};                      // of the program, recorded with each measurement
  decltype(MeasureInput::traffic) traffic{};  // replaces the suites' traffic, not their judge
  FirstHops first_hops{};                     // used by open() only; null: the own path is not known
  bool by_itself = false;                     // no user runs it: PlanChoice::person is false
  // The store of whoever leads the cluster for longer than one change, with leadership; null: the session
  // takes leadership for each change.
  std::function<Result<std::shared_ptr<Store>>()> leads{};
  // Of whoever leads so, for all of its sessions: to devices they are one leader. Null: the session's own.
  std::shared_ptr<CurrentEpoch> epoch{};
};

// A plan that was made earlier, compared with the plan that is made now (engine/earlier_plan.hpp).
struct CheckedPlan {
  std::map<std::uint32_t, std::string> refused;  // by id of the earlier plan's step, with the reason
  // Of those refused: the device at the other end of the cable because of which they are.
  std::map<std::uint32_t, std::string> other_ends;
  std::vector<Step> unapproved;  // of the plan made now: those that the earlier one lacks
  Result<Plan> plan;             // of the plan made now: what may run; conflict: nothing may
  bool whole() const { return refused.empty() && unapproved.empty(); }
  // Whether all refusals are due to missing observations.
  bool only_unobserved() const;
  // From both plans; `earlier`: the plan whose steps are refused.
  std::set<std::string> devices_left_out(const Plan& earlier) const;
};

// What a plan and its specs remove.
struct Deletion {
  std::string why;                   // why the user must confirm it; empty: no confirmation is needed
  std::vector<std::string> devices;  // removed from the specs since a change was last accepted
  std::vector<std::string> objects;  // "HostProfile/training"
};

struct ObservedDrift {
  std::vector<DeviceState> states;
  DriftReport report;
};

struct ApplyRequest {
  std::string command;  // "lockstep apply": in the ledger, and shown to others who find the cluster locked
  std::string author;
  std::string approved_by{};  // who signed the plan file; recorded in the ledger after the command
  std::string revision{};     // of the specs, recorded too; empty: specs_commit()
  bool measures = true;       // where the specs have suites, there is a gate
  bool strict = false;        // an unknown verdict fails the gate
  Approved approved{};        // by the user
  bool deletion_confirmed = false;
  std::set<std::string> left_out{};  // devices that a plan file leaves out, in whole or in part
  std::vector<Step> takes_back{};    // the steps of the change that the plan rolls back (undo_plan.hpp)
  std::vector<std::string> not_put_back{};  // entries of that change that stay, and why
};

// Changes that earlier runs did not end or validate, and what this run does about them.
struct EarlierRuns {
  std::vector<InFlight> in_flight;
  std::vector<OwedDecision> owed;
  bool to_judge() const;     // this run's gate validates some of them
  bool leaves_owed() const;  // and leaves some of them that a gate could (OwedDecision::is_left)
};

// Called on the thread that owns the executor, except `measure` (suites.hpp).
struct ApplyHooks {
  Progress progress{};
  MeasureHooks measure{};
  std::function<Result<Done>()> before_writing{};  // ApplyOptions
};

struct Applied {
  ApplyReport report;
  std::vector<std::vector<SuiteOutcome>> gates;  // what was measured, gate by gate
  Result<Done> accepted;                         // an error: the outcome could not be stored
  DriftReport open{};                            // the effects that did not appear (report.effects)
  DriftReport open_before{};                     // those that were open before (report.open_before)
};

// What could not be observed before an apply and was observed after it.
struct Rest {
  std::vector<NotObserved> not_observed;
  bool differs = false;
};

struct BenchRequest {
  std::string command;
  std::string suite{};      // empty: all
  std::string benchmark{};  // empty: all
  bool accept = false;      // the result becomes the baseline (accept_baselines)
  std::string author{};     // in the record of the run
  std::string compare{};    // a run that it is compared with (find_run); empty: none
};

struct BenchRun {
  std::vector<SuiteOutcome> outcomes;
  std::string config_hash;
  bool stopped = false;                                          // before everything was measured
  std::optional<Result<BaselineTaken>> accepted = std::nullopt;  // none: not requested, or stopped
  // Its number; an error: why it is not recorded. None: it was stopped, or there was nothing to measure.
  std::optional<Result<std::uint64_t>> recorded = std::nullopt;
  std::optional<RunComparison> compared = std::nullopt;  // none: not requested, or stopped
};

class ClusterObserve;
class ClusterApply;
class ClusterBench;
struct ScheduledBench;

class ClusterSession {
 public:
  static Result<std::unique_ptr<ClusterSession>> open(OpenedCluster cluster, const SessionSeams& seams);
  ClusterSession(const ClusterSession&) = delete;
  ClusterSession& operator=(const ClusterSession&) = delete;

  const OpenedCluster& cluster() const { return cluster_; }
  const Fleet& fleet() const { return attached_.fleet; }
  const Executor& executor() const { return executor_; }
  const Sources& sources() const { return cluster_.catalog.sources; }
  const Origins& origins() const { return cluster_.compiled.origins; }
  std::function<const Policy*(const FleetDevice&)> policies() const;
  // What changes of ours wrote before this session (former_entries.hpp).
  const std::vector<WrittenEntry>& written() const { return written_; }
  // Devices that watch() does not heal.
  std::vector<std::string> not_converging() const;

  // Limits the calls below to these devices; empty: all.
  Result<Done> choose(const std::vector<std::string>& names);
  const std::vector<std::size_t>& only() const { return only_; }
  PlanChoice choice() const;  // of an apply that a user runs on them

  // Observes the chosen devices and those at the far ends of their cables: what must be alike at both ends is
  // not changed at one end alone (cluster_observe.hpp).
  std::unique_ptr<ClusterObserve> make_observe();
  std::vector<DeviceState> observe();
  // Of the chosen devices.
  std::vector<NotObserved> not_observed(const std::vector<DeviceState>& states) const;
  // Why an apply that is not marked as partial is refused: devices of which nothing could be read;
  // empty: it is not refused.
  std::string why_partial(const std::vector<DeviceState>& states) const;
  std::vector<InMaintenance> in_maintenance() const;
  // Whether the plan has a step for a device that is not in maintenance.
  bool changes_any_in_service(const Plan& plan) const;
  Result<Plan> plan(const std::vector<DeviceState>& states) const;
  // For the devices chosen as when the plan was made.
  CheckedPlan still_valid(const Plan& earlier, const std::vector<DeviceState>& states) const;
  // The differences on the chosen devices, corrected by a plan or not.
  DriftReport differences(const std::vector<DeviceState>& states) const;
  // Of the chosen devices, only items that no step of the plan corrects. If the plan has steps, open effects
  // are left out: they may follow from the steps.
  static DriftReport unmended(DriftReport differences, const Plan& plan);
  Result<ObservedDrift> drift_of(std::vector<DeviceState> states, bool unmanaged) const;
  Result<ObservedDrift> drift(bool unmanaged);

  // (accepted.hpp)
  Result<Deletion> deletion_by(const Plan& plan) const;
  // Why an apply that removes this is refused; empty: it is not. `confirmed`: by the user.
  std::string why_refused(const Deletion& deletion, bool confirmed) const;
  // Changes that are not validated yet, and what an apply would do about them.
  Result<Unjudged> unjudged() const;
  // Why an apply would be refused, whatever its plan is (Machines::why_refused); empty: it would not.
  std::string why_apply_refused() const;
  // The cluster's store, for reading.
  Result<std::unique_ptr<Store>> read_store() const;
  const std::string& directory() const { return directory_; }
  SaidBy said_by(const std::string& device, Path path) const;  // StoreOptions

  // Takes the locks of the cluster (which has a UUID from then on: identity.hpp) and of the machines until
  // the session ends, settles the changes of interrupted runs, and takes over those to validate. Conflict:
  // another process holds a lock, or changed what is to be restored since open(). Refused: a machine belongs
  // to another cluster (machines.hpp).
  Result<EarlierRuns> prepare_apply(const ApplyRequest& request);
  // Gives up what prepare_apply() took, for whoever changes the cluster next; nothing is under way.
  void leave();
  // Why this process leads under a higher epoch than prepare_apply() took: devices had accepted a higher one.
  // Empty: it does not.
  const std::string& raised() const { return raised_; }
  // These need prepare_apply(). Settles what failed and interrupted changes may have written, by the current
  // observation (former_entries.hpp); returns all entries that lockstep's changes wrote.
  Result<std::vector<WrittenEntry>> settle_written(const std::vector<DeviceState>& states);
  // Why the deletion can't be confirmed here; empty: the user can confirm it.
  std::string why_not_confirm_deletion() const;
  // Applies the plan and stores what was accepted (cluster_apply.hpp). `left`: the result of left_behind()
  // before anything is written. The hooks' callbacks must outlive the executor.
  std::unique_ptr<ClusterApply> make_apply(Plan plan, std::vector<WrittenEntry> left,
                                           const ApplyRequest& request, const ApplyHooks& hooks);
  Applied apply(const Plan& plan, const std::vector<WrittenEntry>& left, const ApplyRequest& request,
                const ApplyHooks& hooks);
  // Instead of apply(), when there is nothing to do.
  Result<Done> leave_as_is(const std::vector<WrittenEntry>& left);
  Result<Rest> rest_of(const std::vector<DeviceState>& states) const;
  Result<Rest> observe_rest();

  // Observes the chosen devices to record the conditions of the run, waits until no other process measures
  // the cluster, then measures on the calling thread and records the run. Refused, before anything is
  // measured: an unknown run to compare with.
  Result<BenchRun> bench(const BenchRequest& request, const MeasureHooks& hooks, const Call& call);
  // A run by the clock (cluster_bench.hpp).
  std::unique_ptr<ClusterBench> make_bench(ScheduledBench request);

  // Runs until it is stopped.
  std::unique_ptr<ClusterWatch> make_watch(WatchRequest request);
  Result<Done> watch(const WatchRequest& request);

 private:
  ClusterSession(OpenedCluster cluster, const SessionSeams& seams);
  Result<Done> want_restored();
  Result<Done> settle_identity(const std::string& command);
  Result<Done> may_have_uuid() const;
  Result<Lead> lead(const std::string& command);
  Result<std::shared_ptr<Store>> take_leadership(const std::string& command) const;
  bool prove_leadership();
  MachineUser user() const;
  Store& store() const;
  StoreOptions store_options() const;
  MeasureInput input_for(const Blobs& blobs) const;
  MeasuredUnder measured_under(const std::string& command, const std::string& author,
                               const std::string& config_hash) const;
  Result<std::uint64_t> record(Store& store, MeasuredRun& run, const FileLock& turn) const;
  std::shared_ptr<GateRecorder> make_recorder(const Plan& plan, const std::vector<OwedChange>& owed,
                                              const ApplyRequest& request,
                                              const std::string& config_hash) const;
  // Takes over the changes of earlier runs that are not validated yet.
  ApplyOptions options_of(const ApplyRequest& request);
  Result<Done> accept(const Plan& plan, const std::vector<WrittenEntry>& left, const Applied& applied);

  OpenedCluster cluster_;
  AttachedFleet attached_;
  Executor& executor_;
  std::string directory_;
  bool follows_identity_;  // directory_ is derived from the identity
  std::stop_token stop_;
  Measurer* measurer_;
  std::string version_;
  decltype(MeasureInput::traffic) traffic_;
  const bool by_itself_;
  const std::function<Result<std::shared_ptr<Store>>()> leads_;
  RunDevices devices_;              // as last observed
  std::set<std::string> not_read_;  // at that observation, in whole or in part
  std::vector<std::size_t> only_;
  std::vector<WrittenEntry> written_;
  std::vector<OwedChange> owed_;  // taken over by prepare_apply
  std::vector<OwedChange> open_;  // not validated yet, and not taken over
  bool leaves_owed_ = false;      // EarlierRuns::leaves_owed() of those
  bool reads_all_ = false;        // a gate needs the boot IDs of all devices to know what is comparable
  Machines machines_;
  std::vector<FileLock> machine_locks_;  // since prepare_apply()
  std::shared_ptr<Store> store_;         // leads the cluster; null before prepare_apply()
  bool is_unproved_ = false;             // no device was read since
  std::string raised_;
  std::vector<std::unique_ptr<SuiteGate>> gates_;  // one per apply: a measurement may outlive its deadline
};

}  // namespace lockstep
