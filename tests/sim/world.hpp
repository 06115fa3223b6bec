// World: a cluster of simulated devices, the program that converges it, and all faults, from one seed, with
// checkers after every call and every step.
//
// The program is the real one: sessions with their own journal directory, commands of operators (apply) and
// the permanent process (watch --converge), each a process that the World can kill at any point (Killed,
// thrown through the executor's step). Only devices, time, network and the results of the benchmarks belong
// to the World.
//
// Promises: the same seed gives the same history (hash of every driver call). The checks: a write follows a
// fresh observation; after an unknown outcome the next action is an observation; every write has its own open
// ticket in the journal; entries that no generation of the specs wanted are never touched; two members of a
// redundancy group are never disturbed at once, and capacity stays above the policy's minimum; nothing is
// reported in sync that was not observed so; an older leader never writes, and there is never a second
// leader; outside the policy's windows only rollbacks write; only devices in `mode: converge` are healed
// automatically; a run that cannot write its journal reports that and exits with 1; a change is not rolled
// back when its suite only alerts, and an unknown verdict is rolled back under --strict; outages by others
// that observations have shown for two minutes count in the budgets unless exceeding them is approved;
// sessions that stay down are reset only by planned remedies, where they were observed down, once per wave,
// and at most three times an hour by a watch; a change is not rolled back for a failure that its own
// benchmarks or the controls show to be unrelated, and is judged again when the verdict was unknown; each
// path whose figure a write changes, by a model of the data plane that is independent of blast radii
// (data_plane.hpp), is among those that the gate asks about and the report lists as touched; a write that
// disturbs all ports by which the program reaches a device is made only with automatic rollback; a done step
// has its values. Then faults stop. The watch must heal everything that it may, and an operator must find the
// rest converged or converge it: every path was judged since it was last touched, or the change was rolled
// back or is no longer present, and the routing daemons keep their configuration when they restart.
//
// Most histories start with a cluster that has been in service and has drifted, the others with an
// unconfigured one. Generations of the specs edit anything (world_specs.cpp). Some are bad: where a device or
// a port has their value, the benchmarks fail, the change must be rolled back, and the operator returns to
// the earlier generation.
//
// A port is disturbed if it carried traffic when the plan was made and a disruptive write names it. The whole
// device is disturbed if a disruptive write names no cabled port. Both last from the write until its step is
// over and the sessions that it took down are back.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster.hpp"
#include "data_plane.hpp"
#include "devices.hpp"
#include "drivers/runtime/pump.hpp"
#include "drivers/sim/simulated_executor.hpp"
#include "journal_reader.hpp"
#include "reconciler/session/cluster_session.hpp"
#include "state_directory.hpp"

namespace lockstep::simulation {

struct WorldOptions {
  std::uint64_t seed = 1;
  std::size_t devices = 200;
  bool steps = false;   // print the history
  bool others = false;  // also the faults of --others (simulate.cpp)
  int rounds = 3;       // in the phase with faults
};

inline constexpr RowId kAddresses = row("interface[*]/address[*]");
// The fabric address of the first device of the topology. The next devices have the following ones.
inline constexpr std::uint32_t kFirstAddress = 10U << 24U;

// The kinds of edits of a generation of the specs. Those before `address` can have a value that breaks the
// benchmarks.
enum class Edit : std::uint8_t { spread, mtu, lossless, sysctl, address, entry };
inline constexpr std::size_t kBreaking = 4;
inline constexpr std::size_t kEdits = 6;

// Counts the events that the checkers check, to detect a checker that never had anything to check.
struct WorldCounts {
  std::size_t calls = 0;
  std::size_t writes = 0;
  std::size_t killed = 0;     // processes
  std::size_t refused = 0;    // second leaders
  std::size_t took_over = 0;  // second leaders, after the first was killed
  std::size_t late = 0;       // writes of a killed leader that arrived after its successor's
  std::size_t healed = 0;     // automatic changes
  std::size_t moved = 0;      // paths whose modelled figure a write changed
  std::size_t asked = 0;      // of these: those that a gate asked about
  // writes of entries that a generation of the specs edited, by kind
  std::array<std::size_t, kEdits> edited{};
  std::size_t evened = 0;         // writes that rolled back one end of a cable because the other failed
  std::size_t undone = 0;         // entries of changes reported as rolled back, which were compared
  std::size_t locked = 0;         // locks of a pool's routes, while MTUs of hosts change
  std::size_t unlocked = 0;       // locks removed by a run
  std::size_t chosen = 0;         // writes of runs that are limited to some devices
  std::size_t both_ended = 0;     // cables of which both ends took an entry that must match
  std::size_t one_ended = 0;      // ends that are not started because the other may not be changed
  std::size_t away = 0;           // devices that were away while an apply observed everything
  std::size_t out_meanwhile = 0;  // outages by others that started during an apply
  std::size_t out_planned = 0;    // between its plan and its start
  std::size_t out_measured = 0;   // while it was measured
  std::size_t out_counted = 0;    // writes beside outages by others that its budgets must count
  std::size_t out_held = 0;       // steps that wait for such outages
  std::size_t spared = 0;         // changes that stay although others had broken measured paths
  std::size_t alerted = 0;        // bad generations that stay because the suite only alerts
  std::size_t not_cordoned = 0;   // changes rolled back because quarantine is not supported
  std::size_t strictly = 0;       // changes rolled back under --strict for an unknown verdict
  std::size_t clock_jumps = 0;    // jumps of the wall clock during an apply
  std::size_t unstored = 0;       // commits of the journal that failed on a full disk
  std::size_t stopped_short = 0;  // applies that stopped early for that reason
  std::size_t gone_on = 0;        // applies that continued from the journal of such a run
  std::size_t cures = 0;          // remedies that ran
  std::size_t all_fell = 0;       // rounds in which the controls fell as well
  std::size_t far_away = 0;       // ends of cables that differed and whose other end was away
  std::size_t half_read = 0;  // devices of which only one driver was away while an apply observed everything
  std::size_t saved = 0;      // configurations of routing daemons that a write saved
  std::size_t kept = 0;       // of these: as desired after a restart at the end
  std::size_t unheard = 0;    // calls without an answer, as no path led to the device
  std::size_t armed = 0;      // writes that cut the last path to a device with automatic rollback
  std::size_t told_to_undo = 0;  // of these: rolled back by the device on request
  std::size_t undid = 0;         // of these: rolled back by the device because no call reached it
  WorldCounts& operator+=(const WorldCounts& other);
};

struct WorldResult {
  std::uint64_t history = 0;  // hash
  WorldCounts counts;
  std::vector<std::string> violations;
};

// Thrown through the engine to kill the process at that point.
struct Killed {};

class World final : public Measurer {
 public:
  explicit World(const WorldOptions& options);
  WorldResult run();

  Result<GateMeasurement> measure(const GateQuestion& question, const Call& call) override;
  bool crosses(const std::string& subject, const BlastRadius& changed) const override;

 private:
  struct Disturbance {
    bool whole = false;
    std::set<std::string> ports;
    bool any() const { return whole || !ports.empty(); }
  };
  struct Place {
    std::string name;
    DeviceRole role = DeviceRole::host;
    std::string group;
    Intent* intent = nullptr;
    std::unique_ptr<SimulatedDevice> device;
    bool is_split = false;                   // it has two drivers (devices.hpp)
    std::array<bool, kParts> is_observed{};  // by driver, since the last write
    std::set<std::string> ports;
    Disturbance in_hand;                    // written by a step that is not over
    Disturbance down;                       // sessions that are down because of the program
    bool shown_up = false;                  // all of those were observed up, possibly by an older observation
    std::set<std::string> stuck;            // sessions that stay down until they are reset
    std::map<std::string, Time> seen_down;  // sessions; when last
    // As of the last plan:
    bool live = false;  // carried traffic
    std::set<std::string> live_ports;
    // Observations of everything: the last complete one, and the incomplete ones since. The engine may plan
    // with any of them. Observations from before a write are replaced by the next. By driver.
    std::array<std::vector<Observation>, kParts> observed;
    std::array<bool, kParts> written_since{};
    bool shown_in_sync = false;  // by one of them since a snapshot last reported the device
    std::size_t moved = 0;       // the turn of the last change by another writer
    std::uint64_t writer = 0;    // the epoch of the last write
    DeviceIndex index = 0;
    Tree before_write;  // the actual state when the current write arrived
    std::uint64_t boots_before = 0;
    Tree want_before;                  // by the previous generation of the specs
    std::map<Path, Edit> edited;       // by this generation
    std::set<Path> ours;               // written while the specs wanted them
    std::set<std::string> rails;       // rails of the program's own machine by which it reaches this device
    std::set<std::string> entered_by;  // ports by which that traffic enters
    bool is_cut = false;               // from the program, until it rolls back the change that cut it off
    std::map<Path, Value> armed;       // the changes that it rolls back unless they are confirmed
    bool shows_armed = false;          // observed since the last armed write
    bool is_host() const { return role == DeviceRole::host; }
    std::size_t part(RowId row) const { return is_split ? part_of(row) : 0; }
    const std::vector<Observation>& seen_of(RowId row) const { return observed[part(row)]; }
    bool is_whole(const Scope& scope) const;  // everything that a driver supports
  };
  // The path of a flow between two leaf switches over one spine switch, or of one host to its leaf switch.
  struct FlowPath {
    std::string subject;
    std::vector<std::string> devices;
    std::vector<std::uint32_t> cables;
    std::set<std::uint64_t> unjudged;   // the changes that touched it since the benchmarks last measured it
    std::set<std::uint64_t> doubted{};  // of the last gate that found it broken
  };
  GateFigure figure_of(const FlowPath& path) const;
  // A cable that carries no traffic: unplugged, or shut at one end.
  struct Dead {
    Time until{};
    std::string shut_at{};  // the device that must reopen the port; empty: unplugged
    // By end and by the entry that shows it: the time since which every complete observation shows it.
    std::array<std::array<std::optional<Time>, 2>, 2> shown{};
  };
  struct Off {
    Time since{};
    Time until{};
  };
  // The results of the benchmarks of the current apply.
  struct Rounds {
    std::map<std::string, double> before{};    // by subject
    std::map<std::string, double> controls{};  // before
    std::set<std::string> broken{};            // subjects that were broken in a round
    std::set<std::string> worse{};  // subjects that got worse in each round while the controls held
    bool controls_fell = false;     // in the last round
    bool hidden = false;            // others had broken a measured path
    bool of_undo = false;
    bool owed = false;  // earlier changes were judged as well
  };
  struct KnownChange {
    std::optional<std::uint64_t> undoes;  // the change that it rolls back
    bool evens = false;                   // rolls back one end of some cables whose other end failed
    bool healing = false;
    bool begun_in_window = false;
    std::size_t clock_jumps = 0;                      // before it started
    std::map<std::string, std::size_t> first_ticket;  // by device: the turn of the first ticket
    std::map<std::string, std::uint64_t> boots;       // by device: the number of boots at the first ticket
  };
  // A value that breaks the benchmarks of each path with a device or cable end that has it.
  struct Bad {
    Path path;  // of an entry of a device, or of any port
    Value value;
    bool at_ports = false;
    bool was_hidden = false;  // an outage by others hid it when some of it was kept
  };
  struct Write {
    std::string device;
    ChangeSet changes;
    Guard guard;
  };
  // One run of the program. kill -9 ends all of it at once.
  struct Process {
    std::unique_ptr<ClusterSession> session;  // ends after the executor
    std::unique_ptr<SimulatedExecutor> executor;
    std::set<std::string> unattached;  // devices that were away at its start, so it has no driver for them
    std::vector<std::string> only;     // devices that it may write, sorted; empty: all
    bool may_write(const std::string& device) const {
      return only.empty() || std::ranges::binary_search(only, device);
    }
  };
  // An entry that must match at the ends of a cable, as of the current plan.
  struct Ends {
    Value was[2];
    bool differs[2]{};             // from the desired value, by every observation
    bool is_shown_as_wanted[2]{};  // since then
    bool is_left_alone[2]{};
    bool is_away[2]{};
  };

  // world.cpp: the course of events
  std::unique_ptr<Process> begin_process(std::vector<std::string> only = {});
  std::vector<std::string> draw_only();
  bool runs(std::unique_ptr<Process> process, const std::function<void(Process&)>& work);
  void after_step();
  void contested_apply();
  void contend();
  ApplyRequest request() const;
  bool person_applies(Process& process);
  void carry_out(Process& process, const Plan& plan, const std::vector<WrittenEntry>& left);
  void watch(bool with_faults);
  void healed(const Healing& healing, std::set<std::string>& held);
  void run_until(Time when);
  bool converge_quietly();
  Progress progress();

  // world_devices.cpp: devices and their faults
  void build();
  void add(const TopologyDevice& device, Intent& intent);
  Result<std::optional<Attached>> attach(const DriverTarget& target, std::size_t part);
  void put_in_service();
  void arm_faults();
  void stop_faults();
  Place& draw_place();
  void drift();
  void may_be_killed(double chance);
  void flap(Place& place, const Disturbance& disturbed);
  void lift(Place& place);
  Result<Done> cure(Place& place, const ChangeSet& effects);
  void changed(const Place& place);
  void arrive_late();

  // world_journal.cpp: a full disk under the journal
  bool refuses_commit();
  bool is_unstored() const { return unstored_ > 0; }
  void check_unstored(const ApplyReport& report, bool accepted);

  // world_reach.cpp: where the program runs, and which devices it reaches from there
  void draw_reach();
  void run_on(const std::string& device);
  std::set<std::string> ports_entered(const Place& place) const;
  Result<std::vector<std::set<std::string>>> first_hops(const std::vector<IpAddress>& addresses) const;
  std::optional<Error> why_silent(Place& place, std::size_t part);
  bool is_reached(const Place& place) const;
  bool is_reached_by(const Place& place, const std::string& rail) const;
  bool is_up(std::uint32_t cable) const;
  std::optional<std::uint32_t> cable_between(const std::string& one, const std::string& other) const;
  std::vector<std::string> leaves_of(const Place& host) const;
  void check_last_way(Place& place, const SimulatedCall& call);
  static void note_armed(Place& place, const SimulatedCall& call);
  void note_settled(Place& place);
  static bool waits_armed(const Place& place);
  static bool is_disturbed(const Place& place);
  void check_done(const Step& step);
  void check_saved();
  void check_saved(const ApplyReport& report);

  // world_outages.cpp: outages by others
  Time draw_end();
  void leave();
  void come_back(Time when);
  void settle_reach(const std::string& device);
  void break_something();
  void pull_or_shut(bool shut);
  void switch_off();
  void refresh(const std::string& device);
  void refresh_ends(std::uint32_t cable);
  void reopen(const Place& place, const Tree& tree);
  bool is_any_out() const { return !dead_.empty() || !off_.empty(); }
  bool carries(std::uint32_t cable) const;
  bool is_blocked(const FlowPath& path) const;
  void note_outages(const Place& place, const Observation& observed, std::size_t part);
  void add_outages(std::set<std::string>& devices, std::set<std::uint32_t>& cables) const;
  std::set<std::string> all_away(const Process& process) const;
  std::set<std::string> all_half_away() const;

  // world_checks.cpp
  void seen(const SimulatedCall& call);
  void check_write(Place& place, const SimulatedCall& call);
  void check_ticket(Place& place, const SimulatedCall& call);
  void check_cure(const Place& place, const ChangeSet& effects);
  void count_cure(const Place& place);
  void check_budget(const Place& place, bool undoes);
  void check_beside_others(const Place& place);
  Outage disturbed_now(const Place* but) const;
  void check_states(const std::vector<DeviceState>& states);
  void check_leads();
  void check_healed(const std::set<std::string>& held);
  void check_healed_by_remedies(const Healing& healing);
  bool all_healed(const std::set<std::string>& held) const;
  Disturbance disturbed_by(const Place& place, const ChangeSet& changes) const;
  double capacity_left(const Outage& outage) const;
  bool was_seen_in_sync(const Place& place) const;
  void note_sessions(Place& place, const SimulatedCall& call);
  static bool shows_sessions(const Place& place, const Observation& observed);  // sessions that are down
  bool is_as_wanted(const Place& place) const;
  void follow_journal();
  void follow_snapshots();
  void note_traffic();

  // world_specs.cpp: generations of the specs
  void change_spec(int generation);
  void take_spec_back();
  void edit_specs(Edit kind, int generation, bool bad);
  void edit_spread(int generation, bool bad);
  void edit_mtu(int generation, bool bad);
  void edit_lossless(int generation, bool bad);
  void edit_sysctl(int generation, bool bad);
  void edit_addresses(int generation);
  void edit_entry();
  static void edit(Place& place, Edit kind, Path path, Value value);
  std::vector<std::uint32_t> draw_cables();
  std::vector<Place*> draw_devices(bool hosts);
  bool is_broken(const FlowPath& path) const;

  // world_ends.cpp: entries that must match at both ends of a cable
  Value wanted_at(const PortName& port, RowId row) const;
  Value truth_at(const PortName& port, RowId row) const;
  void note_ends(const Process& process);
  void note_shown(const Place& place, const Observation& observed);
  void check_other_end(const Place& place, const Change& change);
  void check_ends(const ApplyReport& report);

  // world_gate.cpp: benchmarks, rollbacks, windows
  void build_paths();
  std::optional<Window> draw_window();
  Time::duration wait_for_window();
  void lift_windows();
  bool is_window_open() const;
  void jump_clock();
  OnViolation draw_on_violation();
  void check_strict(const ApplyReport& report);
  void check_on_violation(const ApplyReport& report);
  bool may_write(const KnownChange& change) const;
  void touch_paths(const std::string& device, const ChangeSet& changes, std::uint64_t change);
  void forget_what_is_gone();
  void forget_what_is_gone(const Place& moved);
  void note_round(const GateQuestion& question, const GateMeasurement& measured);
  void judge_path(FlowPath& path, const GateQuestion& question, bool broken);
  bool brings_broken_paths(std::uint64_t change);
  void check_cause(const ApplyReport& report);
  void check_all_judged();
  void check_taken_back(const std::set<std::uint64_t>& changes, const std::set<std::uint64_t>& in_part);
  void settle_specs(const ApplyReport& report);
  void check_kept(const ApplyReport& report);
  bool writes_bad(std::uint64_t change);

  // world_radius.cpp: the paths that changes touch, by the model of the data plane
  void build_data_plane();
  void note_moved(const Place& place, std::uint64_t change);
  bool is_within(const DataPlane::Way& way, const BlastRadius& blast) const;
  void check_radius(std::uint64_t change, const BlastRadius& blast, const char* of);
  void check_question(const GateQuestion& question);

  void violation(const std::string& what);
  void record(const std::string& what);
  Time now() const { return process_ ? process_->executor->now() : clock_; }
  WallTime wall_time() const { return wall_epoch_ + now().time_since_epoch(); }

  const WorldOptions options_;
  Random random_;
  StateDirectory directory_;
  JournalReader journal_;
  OpenedCluster cluster_;  // the current specs: each process has its own copy
  DriverTable drivers_;
  std::map<std::string, Place> places_;
  Wiring wiring_;
  std::vector<PolicyWindow> windows_;
  WallTime wall_epoch_{};
  Time clock_{};                  // the time while no process runs
  Process* process_ = nullptr;    // the running process
  Process* standby_ = nullptr;    // waits for the first to end
  std::weak_ptr<Events> events_;  // of the watching process
  SimulatedDelays delays_;
  double kill_chance_ = 0;
  double drift_chance_ = 0;
  double away_chance_ = 0;
  double outage_chance_ = 0;
  double full_disk_chance_ = 0;
  double clock_chance_ = 0;
  double stuck_chance_ = 0;
  std::size_t clock_jumps_ = 0;
  std::size_t full_for_ = 0;            // commits
  std::size_t unstored_before_ = 0;     // before the current apply
  std::size_t unstored_ = 0;            // of the running process
  bool was_unstored_ = false;           // of the previous process
  std::string self_;                    // the device that the program runs on; empty: none
  double cut_chance_ = 0;               // of a write that may cut the last path
  std::map<std::string, Time> silent_;  // routing daemons, until when
  std::map<std::string, Time> away_;    // devices, until when
  std::map<std::string, Off> off_;      // devices without power
  std::map<std::uint32_t, Dead> dead_;  // cables
  std::set<std::uint32_t> reopened_;    // cables reopened by the current apply or healing
  Time full_until_{};                   // until then another tenant uses most of the fabric
  std::set<std::string> unread_;  // devices that were away during the whole observation for the current plan
  std::set<std::string> half_read_;                   // devices whose routing daemon alone was away
  OnViolation on_violation_ = OnViolation::rollback;  // of the suite
  bool strict_ = false;                               // of the current apply
  bool exceeds_budgets_ = true;                       // exceeding them is approved
  const Plan* plan_ = nullptr;                        // of the current apply
  std::map<std::string, std::size_t> cured_{};        // by device: the number of remedies in the current run
  std::map<std::string, std::vector<WallTime>> healed_at_{};  // by device: automatic remedies
  std::set<std::string> over_budget_;  // devices whose budget holds in the current plan are approved
  std::set<std::string> unattached_;   // of the process that is starting
  Time::duration waited_{};            // for windows
  std::size_t turn_ = 0;               // counts tickets and changes by others

  std::uint64_t epoch_ = 0;  // the highest in the journal
  std::uint64_t ended_ = 0;  // changes, in the journal
  std::uint64_t last_ticket_ = 0;
  std::map<std::uint64_t, KnownChange> changes_;
  std::map<std::string, NotedTicket> tickets_;
  std::set<std::string> sent_;  // tickets that arrived with a write
  std::optional<Write> last_write_;
  std::optional<Write> late_;                 // of a killed leader, still on the wire
  ClusterWatch* watch_ = nullptr;             // the running watch
  std::shared_ptr<const Snapshot> snapshot_;  // its last snapshot that was checked
  bool arriving_late_ = false;
  bool leads_ = false;       // the running process, for an operator
  bool healing_ = false;     // only a watch runs
  bool runs_again_ = false;  // the specs were read before another process changed the entries to restore
  bool waits_ = false;       // for a window
  bool asks_ = false;        // for approval, in the last apply
  bool windows_too_short_ = false;  // for the worst case of the pending changes, as reported to the operator

  std::vector<Ends> ends_;     // by cable; empty: no apply is running
  std::size_t ends_turn_ = 0;  // the turn of that plan

  std::optional<DataPlane> data_plane_;
  std::vector<const Tree*> truths_;                            // by device of the topology
  std::uint64_t before_process_ = 0;                           // the last change of an earlier process
  std::map<std::uint64_t, std::set<std::size_t>> moved_;       // by change: paths
  std::map<std::uint64_t, std::set<std::size_t>> unmeasured_;  // of these: not measured since

  std::vector<FlowPath> paths_;
  std::map<std::string, std::size_t> path_of_;  // by subject
  Rounds rounds_;
  bool broken_before_ = false;  // some path was broken when the current plan was made
  std::optional<Bad> bad_;      // of a bad generation; none: the specs are good
  WorldResult result_;
};

}  // namespace lockstep::simulation
