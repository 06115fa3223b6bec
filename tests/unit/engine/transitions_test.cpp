// Every state in which a plan of a fabric can stop keeps the guarantees of the fabric, and so does the
// rollback from there.
#include <rapidcheck.h>

#include "cluster.hpp"
#include "tests/plan_lines.hpp"
#include "transition_oracle.hpp"

namespace lockstep {
namespace {

constexpr const char* kNotHitless = "in one write";

std::size_t below(std::size_t n) { return *rc::gen::inRange<std::size_t>(0, n); }

FabricSettings random_settings(bool lossless = false) {
  FabricSettings out;
  const std::int64_t mtus[] = {1500, 4200, 9000, 9216};
  const std::size_t host = below(3);
  out.host_mtu = mtus[host];
  out.fabric_mtu = mtus[host + below(4 - host)];
  for (const int priority : {3, 4, 5}) {
    if (below(2) == 0 && !(lossless && priority == 5 && out.sends < 0)) continue;
    const std::int64_t xoff = 2 * out.fabric_mtu + static_cast<std::int64_t>(below(8)) * 4096;
    const std::int64_t kmax = xoff - static_cast<std::int64_t>(below(3)) * 512;
    const std::int64_t kmin = kmax - static_cast<std::int64_t>(below(3)) * 512;
    const std::int64_t size = xoff + 1024 + static_cast<std::int64_t>(below(8)) * 4096;
    out.lossless[priority] = {size, xoff, kmin, kmax};
    if (out.sends < 0 || below(2) == 0) out.sends = priority;
  }
  out.ecn = out.sends >= 0 && below(2) == 0;
  return out;
}

// A fabric with an actual and a desired state.
struct Lab {
  Lab(const std::vector<OracleDevice>& those, const std::vector<Cable>& cables, const World& now,
      const World& wanted)
      : devices(those), world(now) {
    for (const OracleDevice& device : devices) {
      SimulatedDevice& simulated = cluster.add(device.name, device.role);
      for (const Entry& one : now.at(device.name).entries()) simulated.set(one.path, one.value);
      for (const Entry& one : wanted.at(device.name).entries())
        cluster.want(device.name, one.path.text(), one.value);
      if (device.is_host()) cluster.claim(device.name, row("route-mtu[*]"), {kOraclePool});
      for (const auto& [port, host] : device.ports)
        cluster.claim(device.name, row("interface[*]/class[*]"), {port});
    }
    for (const Cable& one : cables) cluster.cable(one.a.device, one.a.port, one.b.device, one.b.port);
    cluster.wiring.index();
  }

  // All differences, in both directions. Entries that are not desired are removed.
  Plan plan(const World& wanted) {
    states = cluster.observe();
    PlanInput input = input_of(cluster.fleet(), states, cluster.origins, cluster.sources, {}, {});
    for (DeviceInput& device : input.devices) {
      device.changes.clear();
      const Tree& is = world.at(device.name);
      const Tree& shall = wanted.at(device.name);
      for (const Entry& one : is.entries())
        if (shall.value(one.path) != one.value)
          device.changes.push_back({one.path, one.value, shall.value(one.path), 0});
      for (const Entry& one : shall.entries())
        if (!is.value(one.path)) device.changes.push_back({one.path, Value{}, one.value, 0});
      std::ranges::sort(device.changes, {}, &Change::path);
    }
    return *make_plan(input);
  }

  Cluster cluster;
  const std::vector<OracleDevice>& devices;
  World world;
  std::vector<DeviceState> states;
};

// The orders that a plan reports as dropped, by the prefixes of faults.
std::set<std::string> admitted(const Plan& plan) {
  const std::pair<const char*, std::vector<const char*>> notes[] = {
      {kNotHitless, {"lossless: ", "buffer: "}},
      {"the order of the MTU was given up", {"mtu: "}},
      {"the order of lossless", {"lossless: "}},
      {"the order of ECN was given up", {"ecn: "}},
      {"the order of thresholds was given up", {"threshold: "}},
      {"the order of buffers was given up", {"buffer: "}}};
  std::set<std::string> out;
  for (const Step& step : plan.steps)
    for (const std::string& note : step.notes)
      for (const auto& [text, faults] : notes)
        if (note.find(text) != std::string::npos) out.insert(faults.begin(), faults.end());
  return out;
}

std::string told(const Plan& plan, const std::vector<std::string>& faults) {
  std::string out = plan_lines(plan);
  for (const std::string& one : faults) out += "FAULT " + one + "\n";
  return out;
}

World world_of(const std::vector<OracleDevice>& devices, const FabricSettings& settings) {
  World out;
  for (const OracleDevice& device : devices) out[device.name] = tree_of(device, settings);
  return out;
}

// Walks a plan to its end, in one of its orders. Returns the faults of the first state that has any, except
// those with a prefix in `but`. `states` receives all states on the way, including the first and the last.
std::vector<std::string> walk(const Plan& plan, const TransitionOracle& oracle, World& world,
                              const std::set<std::string>& but, std::vector<World>* states = nullptr) {
  PlanWalk way(plan);
  do {
    auto faults = oracle.faults(world);
    std::erase_if(faults,
                  [&but](const std::string& one) { return but.contains(one.substr(0, one.find(' ') + 1)); });
    if (!faults.empty()) return faults;
    if (states != nullptr) states->push_back(world);
  } while (way.step(world, below));
  return {};
}

std::string text_of(const World& world) {
  std::string out;
  for (const auto& [name, tree] : world) out += name + "\n" + tree.to_string();
  return out;
}

// From a state in which a plan stopped: one plan that continues, and one that rolls back.
struct Stopped {
  const std::vector<OracleDevice>& devices;
  const std::vector<Cable>& cables;
  const TransitionOracle& oracle;
  const World& before;
  const World& after;
  const Plan& plan;
  bool one_order;

  void check(const World& middle, const std::set<std::string>& but, bool leads_on) const {
    Lab lab(devices, cables, middle, after);
    if (leads_on) arrive(lab.plan(after), middle, after, but, "-- on");
    const auto now = lab.cluster.observe();
    const auto reverse = make_plan(undo_of(plan, lab.cluster.fleet(), now).input);
    RC_ASSERT(static_cast<bool>(reverse));
    arrive(*reverse, middle, before, but, "-- back");
  }

  void arrive(const Plan& way, World world, const World& end, std::set<std::string> but,
              const char* where) const {
    const std::set<std::string> more = admitted(way);
    if (one_order && !more.empty()) RC_FAIL(told(plan, {}) + where + "\n" + told(way, {}));
    but.insert(more.begin(), more.end());
    const auto faults = walk(way, oracle, world, but);
    if (!faults.empty()) RC_FAIL(told(plan, {}) + where + "\n" + told(way, faults));
    RC_ASSERT(text_of(world) == text_of(end));
  }
};

// Walks one order of a plan to its end, then continues and rolls back from every state on the way where there
// are few, otherwise from one of them. With `one_order` nothing conflicts, so the plan keeps every order.
void check(const FabricSettings& old, const FabricSettings& wanted, bool one_order = true) {
  std::vector<Cable> cables;
  const int tiers = static_cast<int>(2 + below(2));
  const int hosts = static_cast<int>(1 + below(3));
  const int leaves = static_cast<int>(1 + below(2));
  const auto devices = oracle_devices(tiers, hosts, leaves, cables);
  const World before = world_of(devices, old);
  const World after = world_of(devices, wanted);
  const TransitionOracle oracle(devices, before, after);
  RC_ASSERT(oracle.faults(before).empty());
  RC_ASSERT(oracle.faults(after).empty());
  Lab lab(devices, cables, before, after);
  const Plan plan = lab.plan(after);
  const std::set<std::string> but = admitted(plan);
  if (one_order && !but.empty()) RC_FAIL(told(plan, {}));
  World world = before;
  std::vector<World> states;
  const auto faults = walk(plan, oracle, world, but, &states);
  if (!faults.empty()) RC_FAIL(told(plan, faults));
  RC_ASSERT(text_of(world) == text_of(after));
  const Stopped stopped{devices, cables, oracle, before, after, plan, one_order};
  const bool are_few = hosts == 1 && leaves == 1 && tiers == 2;
  if (!are_few) states = {states[below(states.size())]};
  for (const World& middle : states) stopped.check(middle, but, are_few);
}

TEST(Transitions, OfTheMtuNeverLetHostsExceedThePathMtu) {
  EXPECT_TRUE(rc::check([] {
    const FabricSettings old = random_settings();
    FabricSettings wanted = old;
    const FabricSettings other = random_settings();
    wanted.host_mtu = other.host_mtu;
    wanted.fabric_mtu = other.fabric_mtu;
    for (auto& [priority, one] : wanted.lossless) {
      const std::int64_t more = 2 * (wanted.fabric_mtu - old.fabric_mtu);
      one = {one.size + more, one.xoff + more, one.kmin + more, one.kmax + more};
    }
    check(old, wanted);
  }));
}

TEST(Transitions, OfLosslessPrioritiesNeverDropLosslessTraffic) {
  EXPECT_TRUE(rc::check([] {
    FabricSettings old = random_settings();
    FabricSettings wanted = old;
    const FabricSettings other = random_settings();
    old.ecn = wanted.ecn = false;
    wanted.lossless.insert(other.lossless.begin(), other.lossless.end());
    for (auto& [priority, one] : wanted.lossless) one.xoff = std::max(one.xoff, 2 * wanted.fabric_mtu);
    for (auto& [priority, one] : wanted.lossless) one.size = std::max(one.size, one.xoff);
    if (!wanted.lossless.empty())
      wanted.sends =
          std::next(wanted.lossless.begin(), static_cast<std::ptrdiff_t>(below(wanted.lossless.size())))
              ->first;
    if (below(2) == 0) std::swap(old, wanted);
    check(old, wanted);
  }));
}

// The new priority is added beside the old one, which is removed once no host sends in it. Those that stay
// get new buffers meanwhile.
TEST(Transitions, ReplacingAPriorityNeverDropsLosslessTraffic) {
  EXPECT_TRUE(rc::check([] {
    FabricSettings old = random_settings(true);
    old.ecn = below(2) == 0;
    if (old.lossless.size() == 3) old.lossless.erase(3 + static_cast<int>(below(3)));
    const auto any_of = [](const FabricSettings& one) {
      return std::next(one.lossless.begin(), static_cast<std::ptrdiff_t>(below(one.lossless.size())))->first;
    };
    old.sends = any_of(old);
    FabricSettings wanted = old;
    const int gone = any_of(old);
    for (auto& [priority, one] : wanted.lossless) one.size += (static_cast<std::int64_t>(below(5)) - 2) * 256;
    wanted.lossless.erase(gone);
    std::vector<int> free;
    for (const int priority : {3, 4, 5})
      if (!old.lossless.contains(priority)) free.push_back(priority);
    wanted.lossless[free[below(free.size())]] = old.lossless[gone];
    wanted.sends = any_of(wanted);
    check(old, wanted);
  }));
}

TEST(Transitions, OfEcnMarkOnlyWhileAllHostsReact) {
  EXPECT_TRUE(rc::check([] {
    FabricSettings old = random_settings(true);
    FabricSettings wanted = old;
    old.ecn = below(2) == 0;
    wanted.ecn = !old.ecn;
    check(old, wanted);
  }));
}

// A buffer and the marking of its class are written whole: no order is right where both grow in one threshold
// and shrink in another.
bool has_one_order(const FabricSettings& old, const FabricSettings& wanted) {
  return std::ranges::none_of(wanted.lossless, [&](const auto& priority) {
    const auto& was = old.lossless.at(priority.first);
    const auto& now = priority.second;
    const bool grows =
        (now.size > was.size || now.xoff > was.xoff) && (now.kmax > was.kmax || now.kmin > was.kmin);
    const bool shrinks =
        (now.size < was.size || now.xoff < was.xoff) && (now.kmax < was.kmax || now.kmin < was.kmin);
    return grows && shrinks;
  });
}

TEST(Transitions, OfThresholdsAndBuffersKeepTheirOrder) {
  EXPECT_TRUE(rc::check([] {
    FabricSettings old = random_settings(true);
    FabricSettings wanted = old;
    old.ecn = wanted.ecn = below(2) == 0;
    for (auto& [priority, one] : wanted.lossless) {
      const std::int64_t more = static_cast<std::int64_t>(below(20)) * 1024;
      one.xoff = 2 * old.fabric_mtu + more;
      one.kmax = one.xoff - static_cast<std::int64_t>(below(3)) * 512;
      one.kmin = one.kmax - static_cast<std::int64_t>(below(3)) * 512;
      one.size = one.xoff + static_cast<std::int64_t>(below(20)) * 1024;
    }
    check(old, wanted, has_one_order(old, wanted));
  }));
}

TEST(Transitions, OfEverythingKeepEveryOrderOrReportTheDroppedOnes) {
  EXPECT_TRUE(rc::check([] { check(random_settings(), random_settings(), false); }));
}

}  // namespace
}  // namespace lockstep
