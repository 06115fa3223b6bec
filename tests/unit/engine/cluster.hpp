// Cluster: simulated devices, with intents and wiring set by the test, for tests of the engine.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "drivers/runtime/pump.hpp"
#include "drivers/sim/simulated_device.hpp"
#include "drivers/sim/simulated_executor.hpp"
#include "reconciler/engine/application.hpp"
#include "reconciler/engine/fleet.hpp"
#include "reconciler/engine/ledger.hpp"
#include "reconciler/engine/plan.hpp"
#include "reconciler/engine/refused_writes.hpp"
#include "reconciler/engine/status.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {

// An in-memory ledger that records everything in order.
class MemoryLedger final : public Ledger {
 public:
  std::uint64_t epoch() const override { return epoch_now; }
  Result<std::uint64_t> begin(const Plan&, const std::string&, const std::string&) override {
    if (no_begin) return Error{ErrorKind::refused, "the disk is full"};
    return ++begun;
  }
  Result<Done> ticket(std::uint64_t change, const LedgerTicket& one) override {
    if (broken) return Error{ErrorKind::refused, "the disk is full"};
    if (lost) return Error{ErrorKind::denied, "epoch 1 is over: another process leads"};
    tickets.push_back(one);
    tickets_of.emplace_back(change, one);
    return Done{};
  }
  Result<Done> receipt(const std::string& ticket, TicketState state, const std::string&) override {
    if (no_receipts) return Error{ErrorKind::refused, "the disk is full"};
    states[ticket] = state;
    return Done{};
  }
  Result<Done> gate(std::uint64_t change, GateState state) override {
    gates[change] = state;
    subjects.erase(change);
    if (state == GateState::settled) befores.erase(change);
    return Done{};
  }
  Result<Done> keep_before(std::uint64_t change, const GateMeasurement& measured) override {
    befores[change] = measured;
    return Done{};
  }
  Result<Done> owe(std::uint64_t change, const std::set<std::string>& which) override {
    gates[change] = GateState::owed;
    subjects[change] = which;
    return Done{};
  }
  Result<Done> refuse(const std::vector<RefusedWrite>& steps) override {
    for (const RefusedWrite& one : steps) {
      const auto known = refused_writes.find(one.digest);
      const std::uint64_t times = known != refused_writes.end() ? known->second.times + 1 : 1;
      refused_writes[one.digest] = one;
      refused_writes[one.digest].times = times;
    }
    return Done{};
  }
  Result<Done> accept(const std::vector<std::string>& digests) override {
    for (const std::string& one : digests) refused_writes.erase(one);
    return Done{};
  }
  Result<std::vector<RefusedWrite>> refused() const override {
    std::vector<RefusedWrite> all;
    for (const auto& [digest, one] : refused_writes) all.push_back(one);
    return all;
  }
  Result<Done> end(std::uint64_t, const std::string& outcome) override {
    if (no_end) return Error{ErrorKind::refused, "the disk is full"};
    outcomes.push_back(outcome);
    return Done{};
  }
  Result<Done> cure(const std::string& device, const std::string& remedy, WallTime at) override {
    cured.push_back({device + " " + remedy, at});
    return Done{};
  }
  Result<std::size_t> cures(const std::string& device, const std::string& remedy,
                            WallTime since) const override {
    return static_cast<std::size_t>(std::count_if(cured.begin(), cured.end(), [&](const auto& one) {
      return one.first == device + " " + remedy && one.second > since;
    }));
  }
  // In the form in which the journal on disk returns them.
  std::vector<OwedChange> owed() const {
    std::vector<OwedChange> all;
    for (const auto& [change, state] : gates) {
      if (state != GateState::owed) continue;
      OwedChange one{change, "", "", {}, {}};
      if (const auto which = subjects.find(change); which != subjects.end()) one.subjects = which->second;
      for (const auto& [of, ticket] : tickets_of)
        if (of == change) one.tickets.push_back(ticket);
      if (const auto kept = befores.find(change); kept != befores.end()) one.before = kept->second;
      if (!one.tickets.empty()) all.push_back(std::move(one));
    }
    return all;
  }

  std::uint64_t epoch_now = 1;
  std::uint64_t begun = 0;
  bool no_begin = false;
  bool broken = false;
  bool lost = false;
  bool no_receipts = false;
  bool no_end = false;
  std::vector<LedgerTicket> tickets;
  std::vector<std::pair<std::uint64_t, LedgerTicket>> tickets_of;  // by change
  std::map<std::string, TicketState> states;
  std::map<std::uint64_t, GateState> gates;
  std::map<std::uint64_t, std::set<std::string>> subjects;  // pairs whose verdict is pending; none: all
  std::map<std::uint64_t, GateMeasurement> befores;
  std::map<std::string, RefusedWrite> refused_writes;
  std::vector<std::string> outcomes;
  std::vector<std::pair<std::string, WallTime>> cured;
};

inline Path entry(std::string_view text) {
  auto path = Path::parse(text);
  if (!path) throw std::invalid_argument(path.error().what);
  return *path;
}
inline Value number(std::int64_t value) { return Value::integer(value); }
inline Value yes() { return Value::boolean(true); }
inline Value no() { return Value::boolean(false); }
inline Value there() { return Value::present(); }

class Cluster {
 public:
  explicit Cluster(std::uint64_t seed = 1, SimulatedDelays delays = {})
      : executor(seed, delays), seed_(seed) {}

  SimulatedDevice& add(const std::string& name, const std::string& role = "host") {
    intents_.push_back(Intent{});
    intents_.back().device = name;
    intents_.back().conduct = Conduct::converge;
    auto device = std::make_unique<SimulatedDevice>(name, seed_ * 1000 + intents_.size());
    SimulatedDevice* const raw = device.get();
    raw->clock = [this] { return executor.now(); };
    attached_.push_back(Attached{});
    attached_.back().driver = std::move(device);
    list_.push_back({name, role, &intents_.back(), {&attached_.back()}});
    devices[name] = raw;
    intents[name] = &intents_.back();
    return *raw;
  }
  void want(const std::string& name, std::string_view path, Value value) {
    intents.at(name)->want.set(entry(path), value);
  }
  void claim(const std::string& name, RowId row, std::vector<std::string> keys = {}) {
    intents.at(name)->claims.push_back({row, std::move(keys), 0});
  }
  void cable(const std::string& a, const std::string& a_port, const std::string& b,
             const std::string& b_port) {
    wiring.cables.push_back({{a, a_port}, {b, b_port}});
  }
  Fleet& fleet() {
    if (!fleet_) {
      auto made = Fleet::make(list_, wiring);
      if (!made) throw std::invalid_argument(made.error().what);
      fleet_ = std::make_unique<Fleet>(std::move(*made));
    }
    return *fleet_;
  }
  std::vector<FleetDevice>& list() { return list_; }
  void maintain(const std::string& name, const std::string& until) {
    std::ranges::find(list_, name, &FleetDevice::name)->maintenance = until;
    fleet_.reset();
  }
  Attached& attached(std::size_t index) { return attached_[index]; }

  DriftReport report() { return drift_report(fleet(), observe(), origins, sources); }
  std::vector<DeviceState> observe() {
    ObserveRound round(fleet(), executor);
    return pump(executor, round);
  }
  Plan plan() {
    states_ = observe();
    PlanInput input = input_of(fleet(), states_, origins, sources, policies(), options.choice);
    input.undone_before = undone_before(*ledger.refused(), options.choice.person);
    auto made = make_plan(input);
    if (!made) throw std::invalid_argument(made.error().what);
    return std::move(*made);
  }
  std::function<const Policy*(const FleetDevice&)> policies() const {
    return [this](const FleetDevice& device) -> const Policy* {
      const auto own = policy_of.find(device.name);
      if (own != policy_of.end()) return &own->second;
      return policy ? &*policy : nullptr;
    };
  }
  ApplyReport apply_plan(const Plan& what, const Progress& progress = {}, std::stop_token stop = {}) {
    options.policy_for = policies();
    Application application(fleet(), executor, ledger, what, options, progress);
    const std::stop_callback at_once(std::move(stop), [&application] { application.stop(); });
    return pump(executor, application);
  }
  ApplyReport converge() { return apply_plan(plan()); }

  SimulatedExecutor executor;
  Wiring wiring;
  MemoryLedger ledger;
  ApplyOptions options;
  std::optional<Policy> policy;
  std::map<std::string, Policy> policy_of;  // by device; overrides `policy`
  Origins origins;
  Sources sources;
  std::map<std::string, SimulatedDevice*> devices;
  std::map<std::string, Intent*> intents;

 private:
  std::uint64_t seed_;
  std::deque<Intent> intents_;
  std::deque<Attached> attached_;
  std::vector<FleetDevice> list_;
  std::unique_ptr<Fleet> fleet_;
  std::vector<DeviceState> states_;
};

// Spine switches that carry traffic and get a different number of paths.
inline void add_live_spines(Cluster& cluster, int count) {
  for (int s = 0; s < count; ++s) {
    const std::string name = "spine" + std::to_string(s);
    cluster.add(name, "spine");
    cluster.devices[name]->set(entry("bgp/neighbor[down0]"), there());
    cluster.devices[name]->set(entry("bgp/max-paths"), number(8));
    cluster.want(name, "bgp/neighbor[down0]", there());
    cluster.want(name, "bgp/max-paths", number(64));
  }
}

}  // namespace lockstep
