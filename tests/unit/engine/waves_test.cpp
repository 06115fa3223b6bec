// Which device a change affects in which wave: shares of each role, spread over redundancy groups. Changes
// that both ends of a cable need at once are together, and nothing else is.
#include "reconciler/engine/waves.hpp"

#include <rapidcheck.h>

#include <cmath>

#include "cluster.hpp"
#include "reconciler/engine/step_order.hpp"
#include "reconciler/engine/tied_groups.hpp"
#include "tests/plan_lines.hpp"

namespace lockstep {
namespace {

const char* const kBlock = "interface[p0]/address[10.0.0.1/31]";

void carries_traffic(Cluster& cluster, const std::string& name, const std::string& member) {
  cluster.devices[name]->set(entry(member), there());
  cluster.want(name, member, there());
}

// `count` devices of a role that carry traffic and get a new sysctl value.
void add_some(Cluster& cluster, const std::string& role, int count, int group_size) {
  for (int i = 0; i < count; ++i) {
    const std::string name = role + std::to_string(100 + i);
    cluster.add(name, role);
    carries_traffic(cluster, name, kBlock);
    cluster.devices[name]->set(entry("sysctl[net.ipv4.tcp_mtu_probing]"), Value::text("0"));
    cluster.want(name, "sysctl[net.ipv4.tcp_mtu_probing]", Value::text("1"));
    if (group_size > 1) cluster.wiring.redundancy_group[name] = role + std::to_string(i / group_size);
  }
}

std::vector<Policy::Share> some_waves() {
  std::vector<Policy::Share> waves{{false, static_cast<double>(*rc::gen::inRange(1, 4))}};
  int percent = 0;
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
    percent += *rc::gen::inRange(1, 40);
    waves.push_back({true, percent / 100.0});
  }
  waves.push_back({true, 1.0});
  return waves;
}

// The number of devices of a role by the end of each wave of the policy.
std::vector<std::size_t> shares(const std::vector<Policy::Share>& waves, std::size_t count) {
  std::vector<std::size_t> out;
  for (const Policy::Share& wave : waves) {
    const double most = wave.relative ? std::ceil(wave.value * static_cast<double>(count)) : wave.value;
    out.push_back(std::max(out.empty() ? 0 : out.back(), std::min(count, static_cast<std::size_t>(most))));
  }
  return out;
}

TEST(Waves, TakeAShareOfEachRoleSpreadOverRedundancyGroups) {
  EXPECT_TRUE(rc::check([] {
    Cluster cluster;
    const std::map<std::string, std::pair<int, int>> roles{
        {"host", {*rc::gen::inRange(0, 20), 1}},
        {"leaf", {*rc::gen::inRange(1, 12), *rc::gen::inRange(1, 4)}},
        {"spine", {*rc::gen::inRange(0, 8), *rc::gen::inRange(1, 4)}}};
    for (const auto& [role, shape] : roles) add_some(cluster, role, shape.first, shape.second);
    cluster.policy.emplace();
    cluster.policy->waves = some_waves();
    const Plan plan = cluster.plan();
    RC_LOG() << plan_lines(plan);

    // Waves of the policy without devices are not waves of the plan.
    std::map<std::string, std::vector<std::size_t>> by_wave;
    std::vector<bool> is_used(cluster.policy->waves.size());
    for (const auto& [role, shape] : roles) {
      by_wave[role] = shares(cluster.policy->waves, static_cast<std::size_t>(shape.first));
      for (std::size_t w = 0; w < is_used.size(); ++w)
        is_used[w] = is_used[w] || by_wave[role][w] > (w == 0 ? 0 : by_wave[role][w - 1]);
    }
    std::uint32_t wave = 0;
    for (std::size_t w = 0; w < is_used.size(); ++w) {
      if (!is_used[w]) continue;
      ++wave;
      for (const auto& [role, shape] : roles) {
        std::size_t so_far = 0;
        std::map<std::string, int> now;  // by group
        std::size_t count = 0;
        for (const Step& step : plan.steps) {
          if (!step.device.starts_with(role)) continue;
          so_far += step.wave <= wave;
          if (step.wave != wave || shape.second < 2) continue;
          ++now[cluster.wiring.redundancy_group.at(step.device)];
          ++count;
        }
        RC_ASSERT(so_far == by_wave[role][w]);
        const auto groups = static_cast<std::size_t>((shape.first + shape.second - 1) / shape.second);
        if (wave == 1 && shape.second > 1) RC_ASSERT(now.size() == std::min(count, groups));
        for (const auto& [group, members] : now) RC_ASSERT(members < shape.second || count > groups);
      }
    }
    RC_ASSERT(plan.waves() == wave);
  }));
}

// Hosts under two leaf switches under two spine switches. All carry traffic.
struct Pod {
  explicit Pod(int hosts) {
    for (const char* const name : {"leaf0", "leaf1", "spine0", "spine1"}) {
      cluster.add(name, std::string(name).substr(0, std::string(name).size() - 1));
      cluster.wiring.redundancy_group[name] = std::string(name).substr(0, 4) + "0";
    }
    for (const char* const leaf : {"leaf0", "leaf1"})
      for (const char* const spine : {"spine0", "spine1"}) link(leaf, spine);
    for (int h = 0; h < hosts; ++h) {
      const std::string name = "gpu" + std::to_string(100 + h);
      cluster.add(name);
      link(name, "leaf0");
      link(name, "leaf1");
    }
    cluster.wiring.index();
    cluster.policy.emplace();
    cluster.policy->waves = {{false, 1}, {true, 0.25}, {true, 1.0}};
  }
  static std::string address(std::size_t cable, int end, int pool) {
    return "/address[10." + std::to_string(pool) + "." + std::to_string(cable) + "." + std::to_string(end) +
           "/31]";
  }
  void link(const std::string& a, const std::string& b) {
    const std::size_t cable = cluster.wiring.cables.size();
    cluster.cable(a, "to-" + b, b, "to-" + a);
    for (int end : {0, 1}) {
      const PortName& port = end == 0 ? cluster.wiring.cables[cable].a : cluster.wiring.cables[cable].b;
      cluster.devices[port.device]->set(entry("interface[" + port.port + "]" + address(cable, end, 0)),
                                        there());
      cluster.devices[port.device]->set(entry("interface[" + port.port + "]/mtu"), number(1500));
      cluster.claim(port.device, row("interface[*]/address[*]"), {port.port});
    }
  }
  // Sets the desired entries at both ends of each cable.
  void want(const std::function<bool(std::size_t)>& is_renumbered,
            const std::function<int(const PortName&)>& mtu) {
    for (std::size_t c = 0; c < cluster.wiring.cables.size(); ++c)
      for (int end : {0, 1}) {
        const PortName& port = end == 0 ? cluster.wiring.cables[c].a : cluster.wiring.cables[c].b;
        const std::string at = "interface[" + port.port + "]";
        cluster.want(port.device, at + address(c, end, is_renumbered(c) ? 1 : 0), there());
        cluster.want(port.device, at + "/mtu", number(mtu(port)));
      }
  }
  Cluster cluster;
};

std::map<std::string, std::uint32_t> first_waves(const Plan& plan) {
  std::map<std::string, std::uint32_t> out;
  for (const Step& step : plan.steps)
    out[step.device] = out.contains(step.device) ? std::min(out[step.device], step.wave) : step.wave;
  return out;
}

std::string all_notes(const Plan& plan) {
  std::string out;
  for (const Step& step : plan.steps)
    for (const std::string& note : step.notes) out += note + "\n";
  return out;
}

TEST(Waves, AddressesAtBothEndsShareTheWaveOfTheirHost) {
  Pod pod(8);
  pod.want([&](std::size_t c) { return c >= 4; }, [](const PortName&) { return 1500; });
  const Plan plan = pod.cluster.plan();
  std::map<std::uint32_t, std::set<std::string>> hosts;
  for (const Step& step : plan.steps) {
    if (step.device.starts_with("gpu")) hosts[step.wave].insert(step.device);
    if (step.device.starts_with("leaf"))
      for (const PlannedChange& change : step.changes) {
        const std::string host = std::string(change.path.key(0)).substr(3);
        EXPECT_EQ(first_waves(plan).at(host), step.wave) << plan_lines(plan);
      }
  }
  ASSERT_EQ(hosts.size(), 3U) << plan_lines(plan);
  EXPECT_EQ(hosts[1].size(), 1U);
  EXPECT_EQ(hosts[2].size(), 1U);
  EXPECT_EQ(hosts[3].size(), 6U);
  EXPECT_EQ(all_notes(plan).find("canary"), std::string::npos) << all_notes(plan);
  EXPECT_NE(all_notes(plan).find("1 device of role leaf is changed in part before"), std::string::npos)
      << "its share came later";
}

void add_own_path(Pod& pod) {
  for (const auto& [name, device] : pod.cluster.devices)
    if (const auto rank = *rc::gen::element(OwnRank::off, OwnRank::on_path, OwnRank::nearest);
        rank != OwnRank::off)
      pod.cluster.wiring.own_path.places[name] = {rank, "gpu100"};
}

// Both ends of a cable are in the wave of the later one, and nothing of a lower rank is in that wave or after
// it.
TEST(Waves, RestartForDevicesOnTheOwnPath) {
  EXPECT_TRUE(rc::check([] {
    Pod pod(*rc::gen::inRange(1, 10));
    std::vector<bool> renumbered;
    for (std::size_t c = 0; c < pod.cluster.wiring.cables.size(); ++c)
      renumbered.push_back(*rc::gen::arbitrary<bool>());
    pod.want([&](std::size_t c) { return renumbered[c]; }, [](const PortName&) { return 1500; });
    pod.cluster.policy->waves = some_waves();
    add_own_path(pod);
    const Plan plan = pod.cluster.plan();
    RC_LOG() << plan_lines(plan);
    std::map<OwnRank, std::map<std::uint32_t, std::set<std::string>>> hosts;  // by wave
    for (const Step& step : plan.steps)
      for (const PlannedChange& change : step.changes) {
        const Cable& cable =
            pod.cluster.wiring.cables[*pod.cluster.wiring.cable_at(step.device, change.path.key(0))];
        const OwnPath& path = pod.cluster.wiring.own_path;
        auto& those = hosts[std::max(path.rank(cable.a.device), path.rank(cable.b.device))][step.wave];
        if (cable.a.device.starts_with("gpu")) those.insert(cable.a.device);
      }
    std::uint32_t last = 0;
    for (const auto& [rank, by_wave] : hosts) {
      RC_ASSERT(by_wave.begin()->first > last);
      last = by_wave.rbegin()->first;
      // Each rank starts with the policy's share of its own hosts.
      std::set<std::string> all;
      for (const auto& [wave, some] : by_wave) all.insert(some.begin(), some.end());
      RC_ASSERT(by_wave.begin()->second.size() <= shares(pod.cluster.policy->waves, all.size()).front());
    }
  }));
}

// Each host's cables end at a leaf switch on the own path, so all come late, and this machine is not the
// canary.
TEST(Waves, TakeThisMachineLast) {
  Pod pod(4);
  pod.want([](std::size_t c) { return c >= 4; }, [](const PortName&) { return 1500; });
  auto& places = pod.cluster.wiring.own_path.places;
  places["gpu100"] = {OwnRank::nearest, ""};
  places["leaf0"] = places["leaf1"] = {OwnRank::nearest, "gpu103"};
  const Plan plan = pod.cluster.plan();
  const std::map<std::string, std::uint32_t> first = first_waves(plan);
  EXPECT_EQ(first.at("gpu101"), 1U) << plan_lines(plan);
  EXPECT_EQ(first.at("gpu100"), plan.waves()) << plan_lines(plan);
  EXPECT_GT(plan.waves(), 1U);
}

TEST(Waves, KeepTheOrderAndBothEndsOfACableTogether) {
  EXPECT_TRUE(rc::check([] {
    Pod pod(*rc::gen::inRange(1, 10));
    std::vector<bool> renumbered;
    for (std::size_t c = 0; c < pod.cluster.wiring.cables.size(); ++c)
      renumbered.push_back(*rc::gen::inRange(0, 3) == 0);
    const int host_mtu = *rc::gen::element(576, 1500, 9000);
    const int fabric_mtu = *rc::gen::element(576, 1500, 9000);
    pod.want([&](std::size_t c) { return renumbered[c]; },
             [&](const PortName& port) {
               const bool fabric = !port.device.starts_with("gpu") && !port.port.starts_with("to-gpu");
               return fabric ? fabric_mtu : host_mtu;
             });
    pod.cluster.policy->waves = some_waves();
    if (*rc::gen::arbitrary<bool>()) add_own_path(pod);
    const Plan plan = pod.cluster.plan();
    RC_LOG() << plan_lines(plan);
    std::map<std::pair<std::uint32_t, std::string>, std::set<std::uint32_t>> at_cable;
    for (const Step& step : plan.steps) {
      for (const std::uint32_t before : steps_before(plan, step))
        RC_ASSERT(plan.steps[before - 1].wave <= step.wave);
      for (const PlannedChange& change : step.changes) {
        const auto cable = pod.cluster.wiring.cable_at(step.device, change.path.key(0));
        at_cable[{*cable, std::string(schema_row(change.path.row()).pattern)}].insert(step.wave);
      }
    }
    for (const auto& [what, waves] : at_cable) RC_ASSERT(waves.size() == 1U);
    // With more hosts than their share in the first wave, the plan has a note.
    std::size_t changed = 0;
    std::size_t first = 0;
    for (const auto& [device, wave] : first_waves(plan)) {
      if (!device.starts_with("gpu")) continue;
      ++changed;
      first += wave == 1;
    }
    if (first > shares(pod.cluster.policy->waves, changed).front())
      RC_ASSERT(all_notes(plan).find("no canary") != std::string::npos);
  }));
}

TEST(TiedGroups, AreStronglyConnectedComponents) {
  EXPECT_TRUE(rc::check([] {
    const auto count = *rc::gen::inRange<std::uint32_t>(1, 12);
    const auto node = rc::gen::inRange<std::uint32_t>(0, count);
    std::vector<std::vector<std::uint32_t>> after(count);
    for (int e = *rc::gen::inRange(0, 20); e > 0; --e) after[*node].push_back(*node);
    std::vector<std::vector<std::uint32_t>> together;
    if (count > 2) together = {{0, 2}, {1}};
    const TiedGroups groups = tied_groups(after, together);
    std::vector<std::vector<bool>> reaches(count, std::vector<bool>(count));
    for (std::uint32_t a = 0; a < count; ++a) {
      reaches[a][a] = true;
      for (const std::uint32_t b : after[a]) reaches[a][b] = true;
    }
    if (count > 2) reaches[0][2] = reaches[2][0] = true;
    for (std::uint32_t via = 0; via < count; ++via)
      for (std::uint32_t a = 0; a < count; ++a)
        for (std::uint32_t b = 0; b < count; ++b)
          if (reaches[a][via] && reaches[via][b]) reaches[a][b] = true;
    for (std::uint32_t a = 0; a < count; ++a)
      for (std::uint32_t b = 0; b < count; ++b) {
        RC_ASSERT((groups.of[a] == groups.of[b]) == (reaches[a][b] && reaches[b][a]));
        if (reaches[a][b]) RC_ASSERT(groups.of[a] <= groups.of[b]);
      }
  }));
}

}  // namespace
}  // namespace lockstep
