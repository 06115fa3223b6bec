// Transition oracle: the state of a fabric while a plan changes it, and what must hold in every state on the
// way. Written only from the definitions of MTU, PFC, RED and DSCP, independently of the planner's order.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "reconciler/engine/plan.hpp"
#include "reconciler/engine/wiring.hpp"
#include "specs/model/tree.hpp"

namespace lockstep {

// The settings of the whole fabric, in bytes.
struct FabricSettings {
  std::int64_t host_mtu = 1500;    // of hosts and of the leaf switch ports to them
  std::int64_t fabric_mtu = 9216;  // between switches; not below host_mtu
  struct Lossless {
    std::int64_t size = 0;
    std::int64_t xoff = 0;  // at least kPacketsOfHeadroom packets of the port's MTU
    std::int64_t kmin = 0;  // of class `priority`; with `ecn` only
    std::int64_t kmax = 0;
    bool operator==(const Lossless&) const = default;
  };
  std::map<int, Lossless> lossless;  // by priority; class number and DSCP / 8 are equal to it
  int sends = -1;                    // the priority that RoCE is sent in; -1: none
  bool ecn = false;
  bool operator==(const FabricSettings&) const = default;
};

struct OracleDevice {
  std::string name;
  std::string role;                   // host, leaf, spine
  std::map<std::string, bool> ports;  // true: its cable leads to a host, or the device is one
  bool is_host() const { return role == "host"; }
};

// `tiers`: 2 (a leaf switch and hosts, and another leaf switch cabled to it) or 3 (leaf switches under spine
// switches).
std::vector<OracleDevice> oracle_devices(int tiers, int hosts, int leaves, std::vector<Cable>& cables);
Tree tree_of(const OracleDevice& device, const FabricSettings& settings);

// The pool of the hosts' addresses.
inline constexpr const char* kOraclePool = "10.64.0.0/16";

using World = std::map<std::string, Tree>;

class TransitionOracle {
 public:
  TransitionOracle(const std::vector<OracleDevice>& devices, const World& before, const World& after);
  // Each starts with the transition whose order is violated: "mtu: ", "lossless: ", "ecn: ", "threshold: ",
  // "buffer: ", "shares: ".
  std::vector<std::string> faults(const World& world) const;

 private:
  void check_mtu(const World& world, std::vector<std::string>& out) const;
  void check_shares(const World& world, std::vector<std::string>& out) const;
  void check_buffers(const World& world, std::vector<std::string>& out) const;
  void check_marking(const World& world, std::vector<std::string>& out) const;
  void check_paths(const World& world, std::vector<std::string>& out) const;

  const std::vector<OracleDevice>& devices_;
  std::map<std::pair<std::string, std::string>, std::int64_t> pools_;  // by device and port
  std::set<int> stays_;  // priorities that are lossless before and after
};

// One random order in which the writes of a plan can happen: waves in turn, steps by their `after` and
// otherwise concurrently, each commit unit at once.
class PlanWalk {
 public:
  explicit PlanWalk(const Plan& plan) : plan_(plan), next_(plan.steps.size(), 0) {}
  // Returns false when all is done. `choose(n)` returns a number below n.
  template <class Choose>
  bool step(World& world, const Choose& choose) {
    const std::vector<std::size_t> can = begun_or_ready();
    if (can.empty()) return false;
    write(can[choose(can.size())], world);
    return true;
  }

 private:
  std::vector<std::size_t> begun_or_ready() const;
  bool is_done(std::size_t step) const { return next_[step] == plan_.steps[step].changes.size(); }
  void write(std::size_t step, World& world);

  const Plan& plan_;
  std::vector<std::size_t> next_;
};

}  // namespace lockstep
