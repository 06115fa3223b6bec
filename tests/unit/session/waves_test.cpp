// Waves for changes of a whole pod's specs: the actual state comes from one spec, the desired state from
// another.
#include "reconciler/engine/waves.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "reconciler/engine/plan.hpp"
#include "reconciler/engine/step_order.hpp"
#include "specs/compile/compile.hpp"
#include "specs/language/load.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/plan_lines.hpp"

namespace lockstep {
namespace {

// 16 hosts with two rails, two leaf switches, two spine switches.
constexpr const char* kPod = R"yaml(apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: hosts}
spec:
  names: gpu[1-16]
  role: host
  drivers: [linux]
  interfaces: [{name: "rail[0-1]", platform: connectx-7, rdma: true, speed: 400Gbps}]
---
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: leaves}
spec: {names: "leaf[0-1]", role: leaf, platform: spectrum-4, drivers: [linux, frr]}
---
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: spines}
spec: {names: "spine[0-1]", role: spine, platform: spectrum-4, drivers: [linux, frr]}
---
apiVersion: lockstep.dev/v1alpha1
kind: Fabric
metadata: {name: backend}
spec:
  role: backend
  topology: rail-optimized
  mtu: {host: 9000, fabric: 9216}
  cabling:
    - {from: "gpu[1-16]:rail[0-1]", to: "leaf[0-1]:swp[1-16]", by: rail, cableLength: 5m}
    - {from: "leaf[0-1]:up[0-1]", to: "spine[0-1]:down[0-1]", by: mesh, speed: 400Gbps, cableLength: 40m}
  addressing: {hosts: 10.64.0.0/16, hostLink: p2p, loopbacks: 10.255.0.0/24}
  routing:
    protocol: bgp-unnumbered
    asn: {leaf: 4200000000-4200009999, spine: 4200100000}
    timers: {keepalive: 3s, hold: 9s}
    ecmp: {maxPaths: 64}
  roceProfile: lossless
---
apiVersion: lockstep.dev/v1alpha1
kind: RoceProfile
metadata: {name: lossless}
spec:
  trust: dscp
  classes:
    - {name: rdma, dscp: [26], priority: 3, tc: 3, bandwidth: 60%, lossless: true, ecn: auto}
    - {name: cnp, dscp: [48], priority: 6, tc: 6, scheduling: strict, maxRate: 5%}
    - {name: default, dscp: [0], priority: 0, tc: 0, bandwidth: 40%}
  congestionControl: dcqcn
)yaml";

std::string with(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  if (at == std::string::npos) throw std::invalid_argument("the spec has no " + what);
  return text.replace(at, what.size(), by);
}

// The plan from the state of `before` to that of `after`.
class Respecified {
 public:
  Respecified(const std::string& before, const std::string& after)
      : old_(load_text("old.yaml", before)),
        now_(load_text("pod.yaml", after)),
        was_(compile(old_.catalog, {})),
        compiled_(compile(now_.catalog, {})),
        wiring(wiring_of(compiled_.topology)) {
    policy.by_group = true;
    policy.waves = {{false, 1}, {true, 0.25}, {true, 1}};
  }
  Plan plan() {
    observations_.clear();
    observations_.resize(compiled_.intents.size());
    PlanInput input;
    input.wiring = &wiring;
    input.origins = &compiled_.origins;
    input.sources = &now_.catalog.sources;
    for (std::size_t i = 0; i < compiled_.intents.size(); ++i) {
      Observation& seen = observations_[i];
      seen.device = compiled_.intents[i].device;
      seen.boot_id = "1";
      seen.have = was_.intents[i].want;
      Difference difference = diff(compiled_.intents[i], seen);
      DeviceInput& device = input.devices.emplace_back();
      device.name = seen.device;
      device.role = std::string(to_string(compiled_.topology.devices[i].role));
      roles[device.name] = device.role;
      device.intent = &compiled_.intents[i];
      device.observation = &seen;
      device.changes = std::move(difference.changes);
      device.carrier = [](RowId row) {
        return std::string(schema_row(row).pattern.starts_with("bgp") ? "frr" : "linux");
      };
      device.policy = &policy;
    }
    Result<Plan> made = make_plan(input);
    if (!made) throw std::invalid_argument(made.error().text());
    return *std::move(made);
  }
  // By wave, then role.
  std::map<std::uint32_t, std::map<std::string, std::set<std::string>>> waves(const Plan& plan) const {
    std::map<std::uint32_t, std::map<std::string, std::set<std::string>>> out;
    for (const Step& step : plan.steps) out[step.wave][roles.at(step.device)].insert(step.device);
    return out;
  }

 private:
  Loaded old_;
  Loaded now_;
  Compiled was_;
  Compiled compiled_;
  std::vector<Observation> observations_;

 public:
  Wiring wiring;
  Policy policy;
  std::map<std::string, std::string> roles;
};

std::string told(const std::map<std::uint32_t, std::map<std::string, std::set<std::string>>>& waves) {
  std::string out;
  for (const auto& [wave, roles] : waves) {
    out += std::to_string(wave) + ":";
    for (const auto& [role, devices] : roles) out += " " + std::to_string(devices.size()) + " " + role;
    out += "\n";
  }
  return out;
}

std::vector<std::string> notes(const Plan& plan, const std::string& with) {
  std::vector<std::string> out;
  for (const Step& step : plan.steps)
    for (const std::string& note : step.notes)
      if (note.find(with) != note.npos) out.push_back(note);
  return out;
}

// All ports of a leaf switch are in the one block that it announces.
TEST(Waves, PoolChangeTiesAllHostsUnderOneAggregate) {
  Respecified pod(kPod, with(kPod, "hosts: 10.64.0.0/16", "hosts: 10.80.0.0/16"));
  const Plan plan = pod.plan();
  EXPECT_EQ(told(pod.waves(plan)), "1: 16 host 2 leaf\n");
  const auto why = notes(plan, "canary");
  ASSERT_EQ(why.size(), 1U);
  EXPECT_TRUE(why[0].starts_with("no canary: bgp/aggregate[10.64.0.0/25] of leaf0 (pod.yaml:")) << why[0];
  for (const Step& step : plan.steps)
    EXPECT_TRUE(step.live) << step.device << " carries traffic of the old pool";
}

TEST(Waves, AreSharesOfEachRole) {
  Respecified pod(kPod, with(kPod, "maxPaths: 64", "maxPaths: 32"));
  EXPECT_EQ(told(pod.waves(pod.plan())), "1: 1 leaf 1 spine\n2: 1 leaf 1 spine\n");
}

TEST(Waves, LosslessClassMovesOnSwitchesNoLaterThanOnHosts) {
  for (const auto& [what, by] : {std::pair{"priority: 3, tc: 3", "priority: 4, tc: 4"},
                                 {"dscp: [26]", "dscp: [27]"},
                                 {"dscp: [26], priority: 3, tc: 3", "dscp: [27], priority: 4, tc: 4"}}) {
    Respecified pod(kPod, with(kPod, what, by));
    const Plan plan = pod.plan();
    std::uint32_t last_switch = 0;
    std::uint32_t first_host = plan.waves() + 1;
    std::set<std::uint32_t> of_hosts;                                    // steps that add to the PFC of hosts
    std::vector<std::set<std::uint32_t>> before(plan.steps.size() + 1);  // by step: all predecessors
    for (const Step& step : plan.steps) {
      for (const std::uint32_t one : steps_before(plan, step)) {
        before[step.id].insert(one);
        before[step.id].insert(before[one].begin(), before[one].end());
      }
      const bool has_class = std::ranges::any_of(step.changes, [](const PlannedChange& one) {
        return schema_row(one.path.row()).crosses(Ladder::lossless);
      });
      const bool has_pfc = std::ranges::any_of(
          step.changes, [](const PlannedChange& one) { return one.path.row() == row("interface[*]/pfc"); });
      if (step.removes_replaced) {
        EXPECT_TRUE(!has_pfc || std::ranges::includes(before[step.id], of_hosts))
            << step.device << " is too early";
      } else if (pod.roles[step.device] == "host") {
        first_host = std::min(first_host, step.wave);
        if (has_pfc) of_hosts.insert(step.id);
      } else if (has_class) {
        last_switch = std::max(last_switch, step.wave);
      }
    }
    EXPECT_LE(last_switch, first_host) << told(pod.waves(plan));
    const auto why = notes(plan, "canary");
    ASSERT_EQ(why.size(), 1U);
    EXPECT_NE(why[0].find("lossless priorities and classes must be the same"), std::string::npos) << why[0];
    EXPECT_NE(why[0].find("(pod.yaml:"), std::string::npos) << why[0];
    EXPECT_TRUE(notes(plan, "given up").empty());
  }
}

}  // namespace
}  // namespace lockstep
