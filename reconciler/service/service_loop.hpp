// ServiceLoop: the service of one cluster, for good: fetches the specs, goes for their newest good revision,
// watches the cluster and heals drift towards the last one that was kept. An object that the executor drives.
//
// Promises: one change at a time, and nothing is written while the service does not lead the cluster, is
// suspended, or can't store what it decides. What to go for, to keep and to refuse is Revisions' decision,
// and is stored before the first write of a change and right after its end. While a revision waits (for an
// approval, a window, a device), the cluster is healed towards the one that was begun last and not refused,
// else the last good one, and each device only towards specs that it was brought to; a heal ends before a
// change begins. What is to be measured by the clock (suite_clock.hpp) is that of the specs that are
// watched, and is not measured beside a change or a heal: those go first, and the measurement ends. The files
// of the last three good revisions stay for a restart, kept before the first write. Specs that can't be
// fetched or are invalid change nothing. A change that fails for a reason that may pass is tried again, at
// growing intervals. Level-triggered: a call that says "look again" twice is one look. stop() begins nothing
// new, lets running steps finish or be undone, and gives up leadership; the next start goes on from there.
// Single-threaded over the executor; only status() is for any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "drivers/runtime/callback_scope.hpp"
#include "drivers/runtime/current_epoch.hpp"
#include "drivers/runtime/random.hpp"
#include "reconciler/service/circuit_breaker.hpp"
#include "reconciler/service/goal_plan.hpp"
#include "reconciler/service/retired_sessions.hpp"
#include "reconciler/service/service_event.hpp"
#include "reconciler/service/service_record.hpp"
#include "reconciler/service/service_status.hpp"
#include "reconciler/service/specs_feed.hpp"
#include "reconciler/session/cluster_apply.hpp"
#include "reconciler/session/cluster_bench.hpp"
#include "reconciler/session/cluster_observe.hpp"
#include "reconciler/session/cluster_session.hpp"

namespace lockstep {

// Intervals are choices, but for the resync (service.md §4).
struct ServiceSettings {
  std::string command = "lockstep serve";  // in the ledger, and to others who find the cluster led
  std::string version;                     // of the program
  bool measures = true;                    // where the specs have suites, there is a gate
  bool strict = false;                     // an unknown verdict fails the gate
  std::chrono::seconds fetch_every{60};
  std::chrono::seconds fetch_timeout{120};
  std::chrono::seconds resync_every{600};
  std::chrono::seconds confirm_after{
      2};                               // after a device changed: conditions take two looks (conditions.hpp)
  std::chrono::seconds retry_min{5};    // of a fetch or change that failed, or leadership; doubled up to ...
  std::chrono::seconds retry_max{600};  // ... this
  std::chrono::seconds lead_retry_max{60};  // of leadership alone: to ask for it is to try a lock
  CircuitBreaker::Limits breaker{};
};

// All of it outlives the loop; `retired`, `specs` and `measurer` outlive the executor.
struct ServiceSeams {
  const DriverTable& drivers;
  Executor& executor;
  SpecsFeed& specs;
  RetiredSessions& retired;
  std::string directory{};  // of the store; empty: the cluster's state_directory()
  Measurer* measurer = nullptr;
  MachineFolders machines{machine_folders()};
  FirstHops first_hops{};
  decltype(MeasureInput::traffic) traffic{};  // as SessionSeams
  std::function<void(const ServiceEvent&)> event{};
  std::uint64_t seed = 0;  // of the jitter of intervals
};

class ServiceLoop {
 public:
  using Answer = Result<Done>;
  ServiceLoop(ServiceSeams seams, ServiceSettings settings);
  ~ServiceLoop();
  ServiceLoop(const ServiceLoop&) = delete;
  ServiceLoop& operator=(const ServiceLoop&) = delete;

  // `done`: after stop(), when nothing is under way.
  void start(std::function<void(Answer)> done);
  void stop();
  std::shared_ptr<const ServiceStatus> status() const { return board_.read(); }

  // What people and programs say. An error means that nothing has changed; success, that it is stored.
  void fetch_now();      // a webhook
  void reconcile_now();  // fetches, and looks at the whole cluster again
  // `revision`: the start of its source's id, of at least 4 characters; empty: the goal. `steps`: the starts
  // of digests; empty: all that wait. Conflict: no such revision or step waits.
  Result<Done> approve(const std::string& revision, const std::vector<std::string>& steps, SpokenBy by);
  Result<Done> reject(const std::string& revision, SpokenBy by);
  Result<Done> suspend(SpokenBy by);
  Result<Done> resume(SpokenBy by);  // also closes the circuit breaker
  // Not found: no such device in the cluster.
  Result<Done> cordon(const std::string& device, SpokenBy by);
  Result<Done> uncordon(const std::string& device, SpokenBy by);

 private:
  using Opened = Result<std::shared_ptr<ServedSession>>;
  enum class RunEnd : std::uint8_t { kept, refused, refused_in_part, failed };
  // What is under way of the goal, one at a time.
  enum class Doing : std::uint8_t {
    nothing,
    opening,
    planning,
    keeping_specs,
    stopping_watch,
    preparing,
    applying
  };
  struct Specs {
    Revision revision;
    std::optional<OpenedCluster> cluster{};  // until a session is opened with it
    std::shared_ptr<const SpecObjects> objects{};
  };
  struct Goal {
    RevisionId id;
    std::shared_ptr<ServedSession> served;
    std::shared_ptr<const GoalPlan> plan{};
    std::set<std::string> may_run{};  // of `plan`
    WallTime planned{};
    Time look_at{};  // when it is to be planned next
  };
  // The change under way, from before its first observation.
  struct Run {
    Run();
    RevisionId id;
    ApplyRequest request;
    bool to_judge = false;     // changes of earlier runs
    bool leaves_owed = false;  // changes of earlier runs that nothing can judge
    std::string left_alone{};  // why_left_alone()
    bool is_decided = false;   // its gate has passed, and no wave has begun since
    bool superseded = false;
    RunStatus status{};
  };
  // Of a suite that is measured by the clock.
  struct Bench {
    SuiteSchedule schedule;
    Time began;  // the wall clock may jump meanwhile
    std::unique_ptr<ClusterBench> run;
    std::string why_stopped{};
  };
  struct Cluster {
    std::string identity;  // its name and UUID
    std::string name;
    std::string state_name;  // OpenedCluster::state_name
    bool twin = false;
  };

  // service_loop.cpp
  WallTime now() const { return seams_.executor.wall_time(); }
  void turn_soon();
  void turn();
  void act();
  void end_if_at_rest();
  void publish();
  std::vector<RevisionStatus> revisions_shown() const;
  void happened(ServiceEvent::Kind kind, std::string object, std::string message);
  void happened(ServiceEvent::Kind kind, std::string object, std::string message, const ApplyReport& report);
  std::string cluster_object() const;  // "Cluster/pod1"
  void at(std::uint64_t& timer, std::chrono::milliseconds wait, void (ServiceLoop::*then)());
  void cancel(std::uint64_t& timer);
  std::chrono::milliseconds with_jitter(std::chrono::milliseconds wait);
  std::chrono::milliseconds longer(std::chrono::milliseconds& wait, std::chrono::milliseconds most);
  std::chrono::milliseconds longer(std::chrono::milliseconds& wait) {
    return longer(wait, settings_.retry_max);
  }
  bool save();
  void resign_if_suspended();
  std::set<std::string> devices_that_differ() const;
  void look_now();
  void cordons_changed();
  static std::string said_by(const SpokenBy& by);
  Result<Done> say(const std::function<Result<Done>(ServiceRecord&)>& change);

  // service_specs.cpp
  void begin_with_kept();
  void no_kept_specs(const std::string& why);
  void fetch();
  void fetch_newest();
  void fetched(FetchedSpecs specs);
  void know(ValidSpecs specs);
  void took(ValidSpecs specs);
  void note_newest();
  void note_authors();
  void invalid(const std::string& source, const std::string& why);
  void forget_specs();
  std::vector<RevisionId> specs_in_use() const;
  void keep_specs(std::function<void()> then);
  template <class T>
  void with_feed(std::function<T(SpecsFeed&, const Call&)> run,
                 std::function<void(std::optional<T>, const std::string& why)> then);
  void lead_again();
  Result<Done> take_leadership();
  Result<Done> read_record(Store& store);
  Result<std::shared_ptr<Store>> led_store() const;
  void open(const RevisionId& id, std::function<void(Opened)> then);
  Opened open_session(OpenedCluster cluster);

  // service_goal.cpp
  bool may_write() const;
  void go_for(const RevisionId& id);
  Result<Done> choose();
  void observe(std::function<void(const std::vector<DeviceState>&)> then);
  void plan();
  Result<GoalPlan> plan_of(const std::vector<DeviceState>& states) const;
  void adopt(GoalPlan plan);
  void ask_for_approval(const Revisions::Shown& shown);
  bool has_something_to_do() const;
  std::set<std::string> steps_on(const std::set<std::string>& devices) const;
  Revisions::Shown shown_of(const RevisionId& id) const;
  std::string why_not_begin();
  std::chrono::milliseconds until_window(const std::set<std::string>& devices) const;
  void begin();
  void prepare();
  Result<Done> carry_out(const std::vector<DeviceState>& states);
  ApplyHooks hooks();
  void gate_decided();
  void applied(const Applied& applied);
  RunEnd end_of(const Applied& applied) const;
  std::set<std::string> refused_steps() const;
  bool was_for(const RevisionId& id, std::uint64_t change) const;
  void keep_as_is(const Result<Done>& accepted);
  void run_over(const std::string& why);
  void drop_goal();
  void go_later(const std::string& why);

  // service_watch.cpp
  std::vector<RevisionId> in_force() const;
  Result<Done> put_in_force(bool writes);
  std::optional<RevisionId> to_watch() const;
  void keep_watch();
  void watch(std::shared_ptr<ServedSession> served, const RevisionId& id);
  void stop_watch(std::function<void()> then);
  void watch_over();
  bool is_in_force() const;
  std::vector<std::size_t> admit(std::vector<std::size_t> devices, const std::set<std::size_t>& only_effects);
  void keep_breaker();
  void saw(const WatchEvent& event);
  void heal_failed(const std::string& why, const ApplyReport& report);
  void healed(const Healing& healing);
  void note_not_healed(const Healing& healing);
  void not_at_it(std::vector<std::string> devices);

  // service_bench.cpp
  void keep_measuring();
  bool may_measure() const;
  void measure(const SuiteSchedule& schedule);
  void measured(const Result<ScheduledRun>& run);
  void note_measured(const Bench& bench, const Result<ScheduledRun>& run);
  void stop_measuring(const std::string& why);
  std::vector<ScheduleStatus> schedules_shown() const;

  const ServiceSeams seams_;
  const ServiceSettings settings_;
  StatusBoard board_;
  Random random_;
  std::function<void(Answer)> done_;
  bool stopping_ = false;
  bool publishes_ = false;  // a publication is deferred
  bool turns_ = false;      // a turn is deferred
  Doing doing_ = Doing::nothing;

  SourceStatus source_;
  bool knows_kept_ = false;   // the specs that were kept for this start
  std::string kept_trouble_;  // why it does not
  bool fetching_ = false;
  bool fetch_again_ = false;
  bool fetch_lost_ = false;   // the answer of the last fetch came too late
  bool looks_again_ = false;  // once it has fetched
  std::uint64_t job_ = 0;     // of the feed; 0: none is under way
  std::uint64_t fetch_timer_ = 0;
  std::chrono::milliseconds fetch_wait_{0};  // after trouble; zero: none
  std::map<RevisionId, Specs> specs_;
  std::optional<RevisionId> newest_;    // valid one that was fetched
  std::vector<RevisionId> kept_specs_;  // for a restart

  std::optional<Cluster> cluster_;  // of the first valid specs: the only one that it serves
  std::shared_ptr<Store> store_;    // with the record read; null: it never led
  std::string directory_;           // of the store
  const std::shared_ptr<CurrentEpoch> epoch_ = std::make_shared<CurrentEpoch>();
  bool leads_ = false;
  std::string why_not_leads_ = "no valid revision of the specs yet";
  std::uint64_t lead_timer_ = 0;
  std::chrono::milliseconds lead_wait_{0};

  ServiceRecord record_;
  bool unsaved_ = false;
  std::string record_trouble_;
  std::shared_ptr<const DriftReport> problems_;  // that a watch found last
  CircuitBreaker breaker_;
  ServiceCounts counts_;

  std::uint64_t cordons_ = 0;  // how often they have changed

  std::optional<Goal> goal_;
  std::optional<Run> run_;
  std::optional<PlanStatus> refused_;  // ServiceStatus::refused
  std::string why_not_run_;
  Time goal_at_{};  // nothing is done about it before
  std::chrono::milliseconds goal_wait_{0};
  std::chrono::milliseconds again_wait_{0};  // of one that was kept
  std::uint64_t goal_timer_ = 0;

  std::shared_ptr<ServedSession> watched_;
  std::optional<RevisionId> watched_id_;
  std::string why_not_watched_;
  std::chrono::milliseconds watch_wait_{0};
  std::uint64_t watch_timer_ = 0;
  std::string last_heal_;                        // that failed, as it was told
  std::map<std::string, NotHealed> not_healed_;  // ServiceStatus::not_healed
  bool watch_opens_ = false;
  bool watch_stops_ = false;
  std::function<void()> after_watch_;

  std::optional<Bench> bench_;  // on watched_
  std::uint64_t bench_timer_ = 0;

  std::unique_ptr<ClusterWatch> watch_;
  std::unique_ptr<ClusterObserve> observe_;
  std::unique_ptr<ClusterApply> apply_;
  CallbackScope callbacks_;
};

}  // namespace lockstep
