// World: a cluster of simulated devices, the program that converges it, and everything that goes wrong, from
// one seed; with checkers after every call and every step.
//
// The program is the real one: sessions with their journal in a directory of their own, what people run
// (apply) and what runs for good (watch --converge), each as a process that the World can kill where it
// stands (Killed, thrown through the executor's step). Only devices, time, network, and what the benchmarks
// measure are the World's.
//
// Promises: the same seed gives the same history (hash of every driver call). What is checked: no write
// without a fresh observation; after an unknown outcome the next act is an observation; no write without a
// ticket of its own that is in the journal and open; what no generation of the specs wanted is never touched;
// never two members of a redundancy group disturbed at once, nor more capacity gone than the policy allows;
// nothing is called in sync that was not seen to be; an older leader never writes, and no second one leads
// beside the first; nothing but an undo is written outside the policy's windows, where there are some;
// nothing but what says `mode: converge` is healed unasked; a run whose journal cannot be written says so,
// and ends with 1; what a suite only alerts of is not undone, and under --strict is what nobody could tell;
// what others have taken out of service, and an observation has shown for two minutes, counts in the budgets,
// where nobody has approved to exceed them; sessions that stay down are reset by remedies of the plan alone,
// where they were seen down, once a wave, and by a watch three times an hour at most; no change is undone for
// what its own benchmarks, or the controls beside them, show to be somebody else's doing, and it is judged
// again where nobody could tell; each path whose figure a write changes, in a model of the data plane that
// knows nothing of blast radii (data_plane.hpp), is among those that the gate asks about and that the report
// calls touched; what disturbs all ports by which the program reaches a device is written only where the
// device undoes by itself what is not confirmed; what is called done is there. Then faults stop, and the
// watch must bring everything back that it may; then a person must find all converged, or converge it: with
// every path judged by the benchmarks since it was last touched, or taken back, or with nothing left there of
// what touched it; and when the routing daemons start again, they have all that is wanted of them.
//
// Most histories begin with a cluster that has been in service, and was neglected; the others with one that
// nobody has configured yet. Generations of the specs edit anything (world_specs.cpp); some are bad: where a
// device or a port has their value, the benchmarks fail, the change must be undone, and the operator goes
// back to the generation before.
//
// Disturbed is a port that carried traffic when it was planned for and that a write names, or the whole
// device, where a write disturbs traffic and names no cabled port: from the write until its step is over and
// the sessions that it took down are back.
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
  bool others = false;  // also what simulate.cpp says of --others
  int rounds = 3;       // of the phase with faults
};

inline constexpr RowId kAddresses = row("interface[*]/address[*]");
// The address by which the first device of the topology is reached over the fabric; the next has the next.
inline constexpr std::uint32_t kFirstAddress = 10U << 24U;

// What a generation of the specs changes. Those before `address` can have a value that breaks the benchmarks.
enum class Edit : std::uint8_t { spread, mtu, lossless, sysctl, address, entry };
inline constexpr std::size_t kBreaking = 4;
inline constexpr std::size_t kEdits = 6;

// How often what is checked came about, so that a checker that never had anything to check is noticed.
struct WorldCounts {
  std::size_t calls = 0;
  std::size_t writes = 0;
  std::size_t killed = 0;                    // processes
  std::size_t refused = 0;                   // second leaders
  std::size_t took_over = 0;                 // second leaders, of a killed one
  std::size_t late = 0;                      // writes of a killed leader that arrived after its successor's
  std::size_t healed = 0;                    // changes that nobody asked for
  std::size_t moved = 0;                     // ways whose modelled figure a write changed
  std::size_t asked = 0;                     // of them: about which a gate asked
  std::array<std::size_t, kEdits> edited{};  // writes of what a generation of the specs edited, by kind
  std::size_t evened = 0;         // writes that took an end of a cable back, as the other did not follow
  std::size_t undone = 0;         // entries of changes that are called undone, and were compared
  std::size_t locked = 0;         // pools' routes, while MTUs of hosts change
  std::size_t unlocked = 0;       // by a run
  std::size_t chosen = 0;         // writes of runs that are limited to some devices
  std::size_t both_ended = 0;     // cables of which both ends took what must be alike
  std::size_t one_ended = 0;      // ends that are not begun, as the other may not be changed
  std::size_t away = 0;           // devices that were away while an apply observed all
  std::size_t out_meanwhile = 0;  // outages by others that began while an apply was under way
  std::size_t out_planned = 0;    // between its plan and its begin
  std::size_t out_measured = 0;   // while it was measured
  std::size_t out_counted = 0;    // writes beside outages by others that its budgets have to count
  std::size_t out_held = 0;       // steps that wait for these
  std::size_t spared = 0;         // changes that stay, although others had broken what was measured
  std::size_t alerted = 0;        // generations that break the benchmarks and stay, as the suite only alerts
  std::size_t not_cordoned = 0;   // undone, as nothing can be quarantined
  std::size_t strictly = 0;       // undone, as the benchmarks could not tell, under --strict
  std::size_t clock_jumps = 0;    // of the wall clock, while an apply was under way
  std::size_t unstored = 0;       // commits of the journal that its disk did not take
  std::size_t stopped_short = 0;  // applies that were cut short by that
  std::size_t gone_on = 0;        // and whose journal the next one found, and went on
  std::size_t cures = 0;          // remedies carried out
  std::size_t all_fell = 0;       // rounds in which the controls fell as well
  std::size_t far_away = 0;       // ends of cables whose other end was away, and that differed
  std::size_t half_read = 0;      // devices of which one driver alone was away while an apply observed all
  std::size_t saved = 0;          // configurations of routing daemons that a write saved
  std::size_t kept = 0;           // and that were as wanted after a restart, at the end
  std::size_t unheard = 0;        // calls that got no answer, as no way led to the device
  std::size_t armed = 0;          // writes that cut the last way to a device that undoes by itself
  std::size_t told_to_undo = 0;   // of them: undone by the device, as it was told to
  std::size_t undid = 0;          // of them: undone by it, as nobody got through
  WorldCounts& operator+=(const WorldCounts& other);
};

struct WorldResult {
  std::uint64_t history = 0;  // hash
  WorldCounts counts;
  std::vector<std::string> violations;
};

// What is thrown through the engine to kill it where it stands.
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
    bool is_split = false;                   // it has two drivers: devices.hpp
    std::array<bool, kParts> is_observed{};  // by driver, since the last write
    std::set<std::string> ports;
    Disturbance in_hand;          // written by a step that is not over
    Disturbance down;             // sessions that are down because of us
    bool shown_up = false;        // all of those, by an observation that was older than the device called it
    std::set<std::string> stuck;  // sessions that stay down until they are reset
    std::map<std::string, Time> seen_down;  // sessions; when last
    // When last planned for:
    bool live = false;  // carried traffic
    std::set<std::string> live_ports;
    // Of all of it: the last that was answered whole, and those that were cut short since. The engine may
    // plan with any of them. One written before is replaced by whatever comes next. By driver.
    std::array<std::vector<Observation>, kParts> observed;
    std::array<bool, kParts> written_since{};
    bool shown_in_sync = false;  // by one of them since a snapshot last told of it
    std::size_t moved = 0;       // the turn in which another hand last did
    std::uint64_t writer = 0;    // the epoch that last wrote
    DeviceIndex index = 0;
    Tree before_write;  // the truth as the write under way arrived
    std::uint64_t boots_before = 0;
    Tree want_before;                  // by the generation of the specs before this one
    std::map<Path, Edit> edited;       // by this one
    std::set<Path> ours;               // written while the specs wanted it
    std::set<std::string> rails;       // of the program's own machine: by which it sends here
    std::set<std::string> entered_by;  // ports by which that comes in
    bool is_cut = false;               // from the program, until it undoes by itself what cut it
    std::map<Path, Value> armed;       // what it undoes by itself, unless that is confirmed
    bool shows_armed = false;          // since the last of that was written
    bool is_host() const { return role == DeviceRole::host; }
    std::size_t part(RowId row) const { return is_split ? part_of(row) : 0; }
    const std::vector<Observation>& seen_of(RowId row) const { return observed[part(row)]; }
    bool is_whole(const Scope& scope) const;  // all that a driver carries
  };
  // The way of a flow between two leaves over one spine, or of one host to its leaf.
  struct FlowPath {
    std::string subject;
    std::vector<std::string> devices;
    std::vector<std::uint32_t> cables;
    std::set<std::uint64_t> unjudged;   // the changes that touched it since the benchmarks saw it
    std::set<std::uint64_t> doubted{};  // of the last gate, that found it broken
  };
  GateFigure figure_of(const FlowPath& path) const;
  // A cable that carries nothing: pulled, or shut at one end.
  struct Dead {
    Time until{};
    std::string shut_at{};  // a device, until it opens the port again; empty: it is pulled
    // By end, and by what shows it: since when each whole observation does.
    std::array<std::array<std::optional<Time>, 2>, 2> shown{};
  };
  struct Off {
    Time since{};
    Time until{};
  };
  // What the benchmarks of the apply under way found.
  struct Rounds {
    std::map<std::string, double> before{};    // by subject
    std::map<std::string, double> controls{};  // before
    std::set<std::string> broken{};            // subjects that were so in a round
    std::set<std::string> worse{};             // that are so in each round, beside controls that hold
    bool controls_fell = false;                // in the last round
    bool hidden = false;                       // others had broken something that was measured
    bool of_undo = false;
    bool owed = false;  // earlier changes were judged as well
  };
  struct KnownChange {
    std::optional<std::uint64_t> undoes;  // a change
    bool evens = false;  // undoes it at some cables, whose other ends did not take their part
    bool healing = false;
    bool begun_in_window = false;
    std::size_t clock_jumps = 0;                      // until it began
    std::map<std::string, std::size_t> first_ticket;  // by device: the turn of the first
    std::map<std::string, std::uint64_t> boots;       // by device: how many there had been at the first
  };
  // A value that breaks the benchmarks of each path with a device, or the end of a cable, that has it.
  struct Bad {
    Path path;  // of a device's entry; of a port's: of any port
    Value value;
    bool at_ports = false;
    bool was_hidden = false;  // what others had broken hid it when some of it was kept
  };
  struct Write {
    std::string device;
    ChangeSet changes;
    Guard guard;
  };
  // One run of the program: kill -9 ends all of it at once.
  struct Process {
    std::unique_ptr<ClusterSession> session;  // ends after the executor
    std::unique_ptr<SimulatedExecutor> executor;
    std::set<std::string> unattached;  // devices that were away as it began, and to which it has no driver
    std::vector<std::string> only;     // devices that it may write, in order; empty: all
    bool may_write(const std::string& device) const {
      return only.empty() || std::ranges::binary_search(only, device);
    }
  };
  // What must be alike at the ends of a cable, as the plan under way was made.
  struct Ends {
    Value was[2];
    bool differs[2]{};             // from what is wanted there, by all that was observed
    bool is_shown_as_wanted[2]{};  // since
    bool is_left_alone[2]{};
    bool is_away[2]{};
  };

  // world.cpp: what happens when
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

  // world_devices.cpp: devices, and what goes wrong with them
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

  // world_journal.cpp: a journal whose disk is full
  bool refuses_commit();
  bool is_unstored() const { return unstored_ > 0; }
  void check_unstored(const ApplyReport& report, bool accepted);

  // world_reach.cpp: where the program runs, and what it reaches from there
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

  // world_outages.cpp: what others take away
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
  static bool shows_sessions(const Place& place, const Observation& observed);  // that are down
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

  // world_ends.cpp: what must be alike at both ends of a cable
  Value wanted_at(const PortName& port, RowId row) const;
  Value truth_at(const PortName& port, RowId row) const;
  void note_ends(const Process& process);
  void note_shown(const Place& place, const Observation& observed);
  void check_other_end(const Place& place, const Change& change);
  void check_ends(const ApplyReport& report);

  // world_gate.cpp: benchmarks, undoes, windows
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

  // world_radius.cpp: what changes touch, by the model of the data plane
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
  OpenedCluster cluster_;  // the specs of today: each process has its own copy
  DriverTable drivers_;
  std::map<std::string, Place> places_;
  Wiring wiring_;
  std::vector<PolicyWindow> windows_;
  WallTime wall_epoch_{};
  Time clock_{};                  // when no process runs
  Process* process_ = nullptr;    // that runs
  Process* standby_ = nullptr;    // that waits for the first to die
  std::weak_ptr<Events> events_;  // of the process that watches
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
  std::size_t unstored_before_ = 0;     // the apply under way
  std::size_t unstored_ = 0;            // of the process that runs
  bool was_unstored_ = false;           // of the one before
  std::string self_;                    // the device that the program runs on; empty: none of them
  double cut_chance_ = 0;               // of what may cut the last way
  std::map<std::string, Time> silent_;  // routing daemons, until when
  std::map<std::string, Time> away_;    // devices, until when
  std::map<std::string, Off> off_;      // devices without power
  std::map<std::uint32_t, Dead> dead_;  // cables
  std::set<std::uint32_t> reopened_;    // cables, by the apply or healing under way
  Time full_until_{};                   // another tenant takes most of the fabric
  std::set<std::string> unread_;  // devices that were away all through the observation of the plan under way
  std::set<std::string> half_read_;                           // and whose routing daemons alone were
  OnViolation on_violation_ = OnViolation::rollback;          // of the suite
  bool strict_ = false;                                       // the apply under way
  bool exceeds_budgets_ = true;                               // a person approves that
  const Plan* plan_ = nullptr;                                // of the apply under way
  std::map<std::string, std::size_t> cured_{};                // by device: how often, in the run under way
  std::map<std::string, std::vector<WallTime>> healed_at_{};  // by device: by remedies, unasked
  std::set<std::string> over_budget_;  // devices whose budget holds of the plan under way are approved
  std::set<std::string> unattached_;   // of the process that is begun
  Time::duration waited_{};            // for windows
  std::size_t turn_ = 0;               // counts tickets and other hands

  std::uint64_t epoch_ = 0;  // the highest in the journal
  std::uint64_t ended_ = 0;  // changes, in the journal
  std::uint64_t last_ticket_ = 0;
  std::map<std::uint64_t, KnownChange> changes_;
  std::map<std::string, NotedTicket> tickets_;
  std::set<std::string> sent_;  // tickets that came with a write
  std::optional<Write> last_write_;
  std::optional<Write> late_;                 // of a killed leader, still on the wire
  ClusterWatch* watch_ = nullptr;             // under way
  std::shared_ptr<const Snapshot> snapshot_;  // the last of it that was checked
  bool arriving_late_ = false;
  bool leads_ = false;              // the process that runs, for a person
  bool healing_ = false;            // a watch runs, and nobody else
  bool runs_again_ = false;         // the specs were read before another changed what is to be restored
  bool waits_ = false;              // for a window
  bool asks_ = false;               // for a person's word, in the last apply
  bool windows_too_short_ = false;  // for the worst case of what is to be done, as a person was told

  std::vector<Ends> ends_;     // cable by cable; empty: no apply is under way
  std::size_t ends_turn_ = 0;  // the turn of that plan

  std::optional<DataPlane> data_plane_;
  std::vector<const Tree*> truths_;                            // by device of the topology
  std::uint64_t before_process_ = 0;                           // the last change of an earlier process
  std::map<std::uint64_t, std::set<std::size_t>> moved_;       // by change: ways
  std::map<std::uint64_t, std::set<std::size_t>> unmeasured_;  // of them: since a gate asked

  std::vector<FlowPath> paths_;
  std::map<std::string, std::size_t> path_of_;  // by subject
  Rounds rounds_;
  bool broken_before_ = false;  // some path, as the plan under way was made
  std::optional<Bad> bad_;      // of a generation that breaks the benchmarks; none: the specs are good
  WorldResult result_;
};

}  // namespace lockstep::simulation
