// Devices on the own path change last, and the last path to a device is not cut.
#include "cluster.hpp"
#include "reconciler/engine/step_order.hpp"
#include "tests/plan_lines.hpp"

namespace lockstep {
namespace {

// Hosts, three leaf switches and two spine switches. All carry traffic and get a new sysctl value.
class Served : public Cluster {
 public:
  explicit Served(int hosts) {
    for (int h = 0; h < hosts; ++h) add_one("gpu" + std::to_string(h), "host");
    for (const char* const name : {"leaf0", "leaf1", "leaf2"}) add_one(name, "leaf");
    for (const char* const name : {"spine0", "spine1"}) add_one(name, "spine");
    policy.emplace();
    policy->waves = {{false, 1}, {true, 0.5}, {true, 1.0}};
  }
  void on_path(const std::string& name, OwnRank rank, const std::string& to) {
    wiring.own_path.places[name] = {rank, to};
  }
  std::uint32_t wave(const Plan& plan, const std::string& device) {
    for (const Step& step : plan.steps)
      if (step.device == device) return step.wave;
    ADD_FAILURE() << device << " has no step";
    return 0;
  }

 private:
  void add_one(const std::string& name, const std::string& role) {
    add(name, role);
    devices[name]->set(entry("interface[p0]/address[10.0.0.1/31]"), there());
    want(name, "interface[p0]/address[10.0.0.1/31]", there());
    devices[name]->set(entry("sysctl[net.ipv4.tcp_mtu_probing]"), Value::text("0"));
    want(name, "sysctl[net.ipv4.tcp_mtu_probing]", Value::text("1"));
  }
};

TEST(OwnPath, ChangesLateAndThisMachineWithItsLeafLast) {
  Served pod(4);
  pod.on_path("gpu0", OwnRank::nearest, "");
  pod.on_path("leaf0", OwnRank::nearest, "gpu3");
  pod.on_path("leaf1", OwnRank::on_path, "gpu3");
  pod.on_path("spine0", OwnRank::on_path, "gpu3");
  const Plan plan = pod.plan();
  SCOPED_TRACE(plan_lines(plan));
  std::uint32_t last_off = 0;
  for (const char* const off : {"gpu1", "gpu2", "gpu3", "leaf2", "spine1"})
    last_off = std::max(last_off, pod.wave(plan, off));
  EXPECT_EQ(pod.wave(plan, "leaf2"), 1U) << "the canary of the leaves";
  EXPECT_EQ(pod.wave(plan, "spine1"), 1U);
  std::uint32_t last_on = 0;
  for (const char* const on : {"leaf1", "spine0"}) {
    EXPECT_GT(pod.wave(plan, on), last_off) << on;
    last_on = std::max(last_on, pod.wave(plan, on));
  }
  EXPECT_GT(pod.wave(plan, "leaf0"), last_on);
  EXPECT_GT(pod.wave(plan, "gpu0"), last_on);
  EXPECT_EQ(plan.waves(), std::max(pod.wave(plan, "leaf0"), pod.wave(plan, "gpu0")));
  for (const Step& step : plan.steps) {
    const bool off = !pod.wiring.own_path.places.contains(step.device);
    EXPECT_EQ(step.notes.empty(), off) << step.device;
    if (step.device == "gpu0") {
      EXPECT_EQ(step.notes.at(0), "this machine: last, as far as its order allows");
    } else if (step.device == "leaf0") {
      EXPECT_EQ(step.notes.at(0), "on the own path to gpu3: last, as far as its order allows");
    } else if (!off) {
      EXPECT_EQ(step.notes.at(0), "on the own path to gpu3: late, as far as its order allows");
    }
  }
}

TEST(OwnPath, IsIrrelevantWithoutDevicesReachedOverTheNetwork) {
  Served pod(3);
  const Plan plan = pod.plan();
  EXPECT_EQ(plan.waves(), 3U);
  for (const Step& step : plan.steps) EXPECT_TRUE(step.notes.empty());
}

// The MTU grows: switches before hosts. Steps that hosts wait for come before them, whether on the own path
// or not, but last within their role.
TEST(OwnPath, YieldsToTheRequiredOrder) {
  Cluster cluster;
  for (int i = 0; i < 4; ++i) {
    const std::string host = "gpu" + std::to_string(i);
    const std::string leaf = "leaf" + std::to_string(i);
    cluster.add(host);
    cluster.add(leaf, "leaf");
    cluster.cable(host, "rail0", leaf, "swp1");
    for (const auto& [device, port] : {std::pair{host, "rail0"}, std::pair{leaf, "swp1"}}) {
      const std::string at = std::string("interface[") + port + "]";
      cluster.devices[device]->set(entry(at + "/address[10.0.0.1/31]"), there());
      cluster.want(device, at + "/address[10.0.0.1/31]", there());
      cluster.devices[device]->set(entry(at + "/mtu"), number(1500));
      cluster.want(device, at + "/mtu", number(9000));
    }
  }
  cluster.wiring.index();
  cluster.policy.emplace();
  cluster.policy->waves = {{false, 1}, {true, 0.5}, {true, 1.0}};
  cluster.wiring.own_path.places["gpu0"] = {OwnRank::nearest, ""};
  cluster.wiring.own_path.places["leaf0"] = {OwnRank::nearest, "gpu1"};
  const Plan plan = cluster.plan();
  SCOPED_TRACE(plan_lines(plan));
  std::map<std::string, std::uint32_t> first;
  for (const Step& step : plan.steps)
    if (step.remedy.empty()) first.try_emplace(step.device, step.wave);
  for (const Step& step : plan.steps)
    for (const std::uint32_t before : steps_before(plan, step))
      EXPECT_LE(plan.steps[before - 1].wave, step.wave);
  for (const char* const other : {"1", "2", "3"}) {
    EXPECT_LE(first.at(std::string("leaf") + other), first.at("leaf0"));
    EXPECT_LE(first.at(std::string("gpu") + other), first.at("gpu0"));
  }
}

TEST(OwnPath, LastPathToADeviceIsNotCutWithoutAutomaticRollback) {
  for (const bool undoes : {false, true})
    for (const bool has_another : {false, true}) {
      Cluster cluster;
      cluster.add("gpu1").undoes_itself = undoes;
      cluster.devices["gpu1"]->set(entry("interface[rail0]/mtu"), number(1500));
      cluster.want("gpu1", "interface[rail0]/mtu", number(9000));
      cluster.wiring.own_path.entered_by["gpu1"] = {"rail0"};
      if (has_another) cluster.wiring.own_path.entered_by["gpu1"].push_back("rail1");
      const Plan plan = cluster.plan();
      ASSERT_EQ(plan.steps.size(), 1U);
      const Step& step = plan.steps.front();
      EXPECT_EQ(step.undo_after.has_value(), undoes);
      ASSERT_EQ(step.holds.size(), undoes || has_another ? 0U : 1U);
      for (const Hold& hold : step.holds) EXPECT_EQ(hold.kind, Hold::Kind::management);
    }
}

}  // namespace
}  // namespace lockstep
