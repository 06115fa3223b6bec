// World: a cluster of simulated devices, a controller that converges it, and everything that goes wrong, from
// one seed; with checkers after every call and every step.
//
// Promises: the same seed gives the same history (hash of every driver call). What is checked: no write
// without a fresh observation; after an unknown outcome the next act is an observation; entries that nobody
// wants are never touched; never two members of a redundancy group disturbed at once, nor more capacity gone
// than the policy allows; nothing is called in sync that was not seen to be; an older leader never writes;
// nothing but an undo is written outside the policy's windows, where there are some. Then faults stop, and
// all must converge: with every path judged by the benchmarks since it was last touched, or taken back.
//
// Some generations of the specs are bad: where a switch has their value, the benchmarks fail, the change must
// be undone, and the operator goes back to the generation before.
//
// Disturbed is a port that carried traffic when it was planned for and that a write names, or the whole
// device, where a write disturbs traffic and names no cabled port: from the write until its step is over and
// the sessions that it took down are back.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "drivers/runtime/pump.hpp"
#include "drivers/sim/simulated_device.hpp"
#include "drivers/sim/simulated_executor.hpp"
#include "reconciler/engine/application.hpp"
#include "reconciler/engine/ledger.hpp"
#include "reconciler/engine/plan.hpp"

namespace lockstep::simulation {

struct WorldOptions {
  std::uint64_t seed = 1;
  std::size_t devices = 200;
  bool steps = false;  // print the history
  int rounds = 4;      // of the phase with faults
};

struct WorldResult {
  std::uint64_t history = 0;  // hash
  std::size_t calls = 0;
  std::size_t writes = 0;
  std::vector<std::string> violations;
  bool converged = false;
};

// What is thrown through the engine to kill it where it stands.
struct Killed {};

class World final : public Ledger, public Measurer {
 public:
  explicit World(const WorldOptions& options);
  WorldResult run();

  // The ledger survives the controller.
  std::uint64_t epoch() const override { return epoch_; }
  Result<std::uint64_t> begin(const Plan& plan, const std::string& author,
                              const std::string& reason) override;
  Result<Done> ticket(std::uint64_t change, const LedgerTicket& ticket) override;
  Result<Done> receipt(const std::string& ticket, TicketState state, const std::string& note) override;
  Result<Done> gate(std::uint64_t change, GateState state) override;
  Result<Done> end(std::uint64_t change, const std::string& outcome) override;
  // No device here has a remedy.
  Result<Done> cure(const std::string&, const std::string&, WallTime) override { return Done{}; }
  Result<std::size_t> cures(const std::string&, const std::string&, WallTime) const override { return 0U; }

  Result<GateResult> measure(const BlastRadius& affected, const BlastRadius& pending,
                             const Call& call) override;

 private:
  struct Disturbance {
    bool whole = false;
    std::set<std::string> ports;
    bool any() const { return whole || !ports.empty(); }
  };
  struct Place {
    std::string name;
    std::string role;
    std::string group;
    SimulatedDevice* device = nullptr;
    Intent* intent = nullptr;
    bool is_observed = false;  // since the last write
    std::set<std::string> ports;
    Disturbance in_hand;  // written by a step that is not over
    Disturbance down;     // sessions that are down because of us
    // When last planned for:
    bool live = false;  // carried traffic
    std::set<std::string> live_ports;
    Observation last_observed;  // at all of it, that was answered
    std::size_t moved = 0;      // the turn in which another hand last did
  };
  // The way of a flow between two leaves over one spine, or of one host to its leaf.
  struct FlowPath {
    std::vector<std::string> devices;
    std::vector<std::uint32_t> cables;
    std::set<std::uint64_t> unjudged;  // the changes that touched it since the benchmarks saw it
  };
  struct OpenChange {
    bool undo = false;
    GateState state = GateState::none;
    std::vector<LedgerTicket> tickets;
    std::map<std::string, std::size_t> first_ticket;  // by device: the turn of the first
  };
  void build();
  void build_paths();
  void set_windows();
  bool may_write(const std::string& ticket) const;
  void add(const std::string& name, const std::string& role, const std::string& group);
  void join(const std::string& a, const std::string& a_port, const std::string& b, const std::string& b_port);
  void arm_faults();
  void stop_faults();
  void misbehave();
  void drift();
  void change_spec(int generation);
  void want_paths_max(std::int64_t value);
  void touch_paths(const std::string& device, const ChangeSet& changes, const std::string& ticket);
  void check_taken_back(const std::set<std::uint64_t>& changes);
  std::vector<OwedChange> owed() const;
  void settle_specs(const ApplyReport& report, const std::vector<OwedChange>& owed);
  void round(bool with_faults);
  void wait_an_hour();
  bool converge_quietly();
  void seen(const SimulatedCall& call);
  void check_write(Place& place, const SimulatedCall& call);
  void check_budget(const Place& place);
  void check_states(const std::vector<DeviceState>& states);
  Disturbance disturbed_by(const Place& place, const ChangeSet& changes) const;
  void flap(Place& place, const Disturbance& disturbed);
  void lift(Place& place);
  void note_traffic();
  std::vector<DeviceState> observe(std::chrono::milliseconds timeout);
  Result<Plan> plan(const std::vector<DeviceState>& states);
  void restart();
  void violation(const std::string& what);
  void record(const std::string& what);
  double capacity_left(const Outage& outage) const;
  bool was_seen_in_sync(const Place& place) const;

  WorldOptions options_;
  Random random_;
  std::unique_ptr<SimulatedExecutor> executor_;
  std::chrono::hours waited_{0};  // for windows
  std::deque<Intent> intents_;
  std::deque<Attached> attached_;
  std::map<std::string, Place> places_;
  std::vector<FleetDevice> list_;
  Wiring wiring_;
  std::unique_ptr<Fleet> fleet_;
  Policy policy_;
  Origins origins_;
  Sources sources_;
  std::uint64_t epoch_ = 1;
  std::map<std::uint64_t, OpenChange> changes_;
  std::vector<FlowPath> paths_;
  std::int64_t paths_max_ = 64;     // the last generation that held
  std::int64_t paths_max_bad_ = 0;  // of a generation that breaks the benchmarks; 0: the specs are good
  bool measuring_may_be_killed_ = false;
  std::size_t turn_ = 0;  // counts tickets and other hands
  std::set<std::string> tickets_open_;
  std::map<std::string, std::uint64_t> tickets_known_;  // the change of each
  double kill_chance_ = 0;
  double drift_chance_ = 0;
  WorldResult result_;
};

}  // namespace lockstep::simulation
