// World: a service that is started, stopped, killed and upgraded over a few virtual hours, with everything
// around it from one seed: commits, people, devices, benchmarks, the store and the clock; with checks after
// each step and each write.
//
// The service is the real one (ServiceLoop over sessions, its store on disk, the real feed of specs). The
// World owns the repository, the devices, what the benchmarks measure, and time.
//
// Promises: the same seed gives the same history. Checked, by facts of the World alone (facts.hpp), the true
// state of devices, and the journal's file:
// - Nothing is written two minutes after a suspend() or a cordon() of that device returned (a step that runs
//   may end), by anybody but the newest leader, outside the windows of a device, or beside another change.
//   Rollbacks alone are free of windows, cordons and approvals.
// - What is written for a revision is what it wants. It is one that loads, and is not refused or rejected. A
//   step that its policy holds, a value that a gate refused, the intents of an upgrade, and anything where
//   too much is deleted are written only if that revision's content was approved.
// - After a gate that could not judge, nothing more of that revision is written before one can, or somebody
//   approves it; unless the change was interrupted meanwhile (the next gate judges all of it).
// - Drift is healed towards revisions that were begun, on no more devices within ten minutes than the circuit
//   breaker admits.
// - An error of approve(), reject(), suspend(), cordon() changes nothing; what returned success holds after
//   any kill.
// - The suite is measured by the clock no more often than its specs say, not while the service is suspended
//   and at no device that is cordoned, and what is told of it is what the traffic found.
// - status() says that it leads only while nobody else can, and that a revision is kept, or a device in sync,
//   only if the devices have its values.
//
// Then faults stop: all is reachable, the branch stays where it is, nobody approves anything, the service is
// not suspended, no device is cordoned, and windows open. Within an hour and a half:
// - the goal is the newest revision that was fetched and that no gate refused and nobody rejected;
// - each setting has the goal's value, unless that needs an approval that nobody gave, or all steps of the
//   first wave that is left do;
// - at most kQuietChanges changes are begun, and none in the last half hour;
// - the suite was measured in the last hour.
// Then, in some worlds, all devices lose their effects for a quarter of an hour: none is shown in sync, no
// change is begun for it, the circuit breaker stays closed, and drift of one device is healed meanwhile.
// Then one more good revision is committed and all that waits is approved: within an hour all devices have
// it, and status(), record and journal say so.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/sim/simulated_device.hpp"
#include "drivers/sim/simulated_executor.hpp"
#include "facts.hpp"
#include "personal_apply.hpp"
#include "reconciler/service/service_loop.hpp"
#include "tests/sim/journal_reader.hpp"
#include "tests/sim/state_directory.hpp"

namespace lockstep::service_simulation {

struct WorldOptions {
  std::uint64_t seed = 1;
  bool steps = false;  // print the history
};

using Counts = std::map<std::string_view, std::size_t>;  // of events, to detect a check that checks nothing

struct WorldResult {
  std::uint64_t history = 0;  // hash
  Counts counts;
  std::vector<std::string> violations;
};

struct Killed {};  // thrown through the executor's step: kill -9

class World final : public Measurer {
 public:
  explicit World(const WorldOptions& options);
  WorldResult run();

  Result<GateMeasurement> measure(const GateQuestion& question, const Call& call) override;
  bool crosses(const std::string& subject, const BlastRadius& changed) const override;

 private:
  static constexpr std::size_t kQuietChanges = 12;

  struct Place {
    std::unique_ptr<SimulatedDevice> device;
    Time moved{Time::min()};  // by others, or away until
    Time healed{Time::min()};
    Tree before;  // the write that arrives now
    bool flaps = false;
    std::vector<Entry> effects;  // that it has if nothing is out
    bool is_dark = false;        // it has none of them
    std::shared_ptr<const DeviceStatus> shown{};
  };
  struct Version {
    std::string name;
    Kind kind;
  };
  // Destroyed from the last to the first.
  struct Process {
    RetiredSessions retired;
    std::unique_ptr<SpecsFeed> feed;
    std::unique_ptr<SimulatedExecutor> executor;
    std::unique_ptr<ServiceLoop> service;
    std::unique_ptr<PersonalApply> person;
    bool person_is_done = false;
    bool ended = false;
    bool led = false;
  };
  // What the suite's traffic found by the clock.
  struct Measured {
    Time traffic{};  // the last time
    bool is_broken = false;
    bool is_under_way = false;   // nothing of it was told yet
    std::optional<Time> judged;  // when the last run began of which the verdict was told
    // What they were then: whatever moves one of them may move the next run.
    std::size_t clock_jumps = 0;
    std::size_t unstored = 0;
    std::size_t starts = 0;
  };
  struct Shown {
    Key key;
    std::set<Content> contents;
    std::size_t refusals = 0;  // that were before its last plan
  };

  // world.cpp: the course of events
  Time now() const { return process_ ? process_->executor->now() : clock_; }
  void arm_faults();
  void stop_faults();
  void live_until(Time end, const std::function<void()>& act);
  void run_until(Time when);
  void after_step();
  void begin_process();
  void end_process();
  void killed();
  void restart();
  void may_be_killed(double chance);
  void check_quiet();
  void check_outage(const Key& goal);
  void check_knows_head();
  void converge();
  bool refuses_commit();

  // world_people.cpp
  void act();
  void commit_something();
  Commit draw_commit();
  void people_act();
  void approve_something();
  void approve_all();
  void approve(const Key& key, const std::string& source, const std::vector<std::string>& steps,
               const std::set<std::string>& waits);
  void reject_something();
  void interrupt();
  void suspend_or_resume();
  void resume();
  void cordon_or_uncordon();
  void person_applies();
  bool said(const char* what, const Result<Done>& answer);

  // world_devices.cpp
  void build();
  Result<std::optional<Attached>> attach(const DriverTarget& target);
  SessionSeams seams_of(Executor& executor);
  void device_acts();
  void drift(Place& place);
  void set_dark(Place& place, bool is_dark);
  void outage();
  Place& draw_place();
  bool is_broken(const std::string& host) const;
  GateFigure figure_of(const std::string& host) const;

  // world_bench.cpp
  Result<std::vector<bench::Measurement>> traffic(const bench::TcpPlan& plan,
                                                  const std::vector<bench::ProbeEndpoint>& ends);
  void measurement_told(ServiceEvent::Kind kind);
  void check_measured();

  // world_checks.cpp
  void follow_journal();
  void follow_status();
  void follow_revision(const RevisionStatus& one);
  void remember_plan(const PlanStatus& plan);
  void check_begun(std::uint64_t id, const ChangeFact& change);
  void check_write(Place& place, const SimulatedCall& call);
  void check_heal(const std::string& device);
  void confirm_rollback();
  void note_refusals();
  void check_window(const Setting& setting, const ChangeFact& change);
  void check_has(const Key& key, const std::string& as);
  void check_shown(const ServiceStatus& status);
  void check_leads(const ServiceStatus& status);
  bool is_excused(const Setting& setting) const;
  bool has_value(const Setting& setting, const std::string& value) const;
  bool shows_all() const;
  std::set<Content> step_of(const std::string& device, const Key& key) const;
  std::string truth(const Setting& setting) const;
  std::vector<std::string> not_as(const Key& key, const std::set<std::string>& but = {}) const;
  std::set<std::string> behind_the_first_wave(const Key& key) const;
  static std::set<std::string> shown_to_differ(const ServiceStatus& status);
  std::optional<Key> goal();
  void violation(const std::string& what);
  void record(const std::string& what);
  void count(std::string_view what) { ++result_.counts[what]; }

  const WorldOptions options_;
  Random random_;
  Random outages_;  // its own, so that a history without them is what it would be
  const bool has_outages_;
  WorldResult result_;
  simulation::StateDirectory directory_;
  const bool has_window_;
  Repository repository_;
  Facts facts_;
  std::map<std::string, Place> places_;
  std::map<Setting, std::set<std::string>> found_;  // before lockstep wrote it
  std::set<std::string> harmful_;                   // values with which a host's benchmarks fail
  DriverTable drivers_;
  std::unique_ptr<Process> process_;
  Version version_{"1", Kind::plain};
  Time clock_{};
  WallTime wall_epoch_;
  std::size_t clock_jumps_ = 0;
  Time clock_jumped_{Time::min()};
  int commits_ = 0;

  // Faults: chances.
  SimulatedDelays delays_;
  Time lossy_until_{Time::min()};  // calls get lost, or are answered with less than there is
  SimulatedFaults faults_;         // of devices
  double kill_chance_ = 0;
  double full_chance_ = 0;
  double unknown_chance_ = 0;
  double approves_ = 0;          // of people who are there
  bool interrupts_ = false;      // people act while a change is measured
  bool quiet_ = false;           // faults have stopped
  std::optional<Time> stops_{};  // since when the process is to end in order
  bool dies_ = false;            // killed: nothing of it counts any more
  std::size_t full_for_ = 0;     // commits

  Measured measured_;
  Time process_begun_{};
  simulation::JournalReader journal_;
  std::uint64_t last_change_ = 0;
  std::uint64_t last_ticket_ = 0;
  std::map<std::uint64_t, ChangeFact> changes_;
  std::map<std::string, std::uint64_t> tickets_;  // of which change
  std::vector<std::pair<Time, std::string>> heals_;
  Time resumed_{Time::min()};   // the breaker was closed
  std::set<std::string> seen_;  // devices that were shown to differ then
  std::uint64_t status_seen_ = 0;
  bool told_late_ = false;  // by a service that could not store its record, or did not lead, until now
  std::map<std::string, Shown> shown_;  // steps by digest, as plans have shown them
  std::map<std::string, Key> deletions_;
  std::map<RevisionId, RevisionState> states_;
  std::optional<RevisionId> good_;
  std::map<std::uint64_t, std::set<std::pair<Setting, std::string>>> rolled_back_;  // by change
  std::set<std::uint64_t> measured_again_;
  std::set<std::uint64_t> failed_;  // changes whose benchmarks failed
  bool gate_fails_ = false;         // the last one after a change
  std::optional<Key> unjudged_;     // of what the last gate could not judge, and nothing interrupted
  std::uint64_t last_begun_ = 0;    // change, no rollback
  std::uint64_t last_undone_ = 0;
  std::size_t unstored_ = 0;  // commits that a full disk refused
  std::size_t unstored_before_ = 0;
  std::shared_ptr<const GoalPlan> plan_shown_;
  Key personal_key_;          // that somebody applies
  std::set<Key> rejections_;  // that were tried
};

}  // namespace lockstep::service_simulation
