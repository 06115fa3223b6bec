// The steps at both ends of a link succeed or fail as one: none starts where another can't, and a written end
// is rolled back when another fails. The tests check the final state of the devices.
#include <rapidcheck.h>

#include "cluster.hpp"
#include "reconciler/engine/link_ends.hpp"
#include "tests/plan_lines.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t kOld = 1500;
constexpr std::int64_t kNew = 4000;

std::string mtu_of(const std::string& port) { return "interface[" + port + "]/mtu"; }

// Two hosts under a leaf switch, which is under a spine switch. Every port gets a new MTU, and every device
// also a sysctl.
struct Pod {
  explicit Pod(std::uint64_t seed = 1) : cluster(seed) {
    for (const auto& [name, role] :
         {std::pair{"gpu1", "host"}, {"gpu2", "host"}, {"leaf0", "leaf"}, {"spine0", "spine"}}) {
      cluster.add(name, role);
      cluster.devices[name]->set(kSysctl, Value::text("0"));
      cluster.want(name, kSysctl.text(), Value::text("1"));
    }
    link("gpu1", "rail0", "leaf0", "swp1");
    link("gpu2", "rail0", "leaf0", "swp2");
    link("leaf0", "up0", "spine0", "down0");
    cluster.wiring.index();
  }
  void link(const std::string& a, const std::string& a_port, const std::string& b,
            const std::string& b_port) {
    cluster.cable(a, a_port, b, b_port);
    for (const auto& [device, port] : {std::pair{a, a_port}, {b, b_port}}) {
      cluster.devices[device]->set(entry(mtu_of(port)), number(kOld));
      cluster.want(device, mtu_of(port), number(kNew));
    }
  }
  std::int64_t mtu(const PortName& port) {
    return cluster.devices[port.device]->truth().value(entry(mtu_of(port.port))).as_integer();
  }
  bool is_even() {
    return std::all_of(cluster.wiring.cables.begin(), cluster.wiring.cables.end(),
                       [this](const Cable& one) { return mtu(one.a) == mtu(one.b); });
  }
  std::string lines() {
    std::string out;
    for (const Cable& one : cluster.wiring.cables)
      out += one.a.text() + " " + std::to_string(mtu(one.a)) + ", " + one.b.text() + " " +
             std::to_string(mtu(one.b)) + "\n";
    return out;
  }
  const Path kSysctl = entry("sysctl[net.ipv4.tcp_mtu_probing]");
  Cluster cluster;
};

std::string told(const Plan& plan, const ApplyReport& report) {
  std::string out = plan_lines(plan);
  for (const StepResult& one : report.steps)
    out += std::to_string(one.id) + " " + std::string(to_string(one.state)) + " " + one.why + "\n";
  for (const std::string& note : report.notes) out += note + "\n";
  return out;
}

const StepResult& result_of(const Plan& plan, const ApplyReport& report, const std::string& device,
                            const std::string& path) {
  for (const Step& step : plan.steps)
    for (const PlannedChange& change : step.changes)
      if (step.device == device && change.path.text() == path) return report.steps[step.id - 1];
  throw std::runtime_error("no step changes " + path + " of " + device);
}

TEST(LinkGroups, ShareOneWaveAndThePlanExplainsTheMissingCanary) {
  Pod pod;
  for (const char* const host : {"gpu1", "gpu2"}) {  // in service
    pod.cluster.devices[host]->set(entry("interface[rail0]/address[10.0.0.1/31]"), there());
    pod.cluster.want(host, "interface[rail0]/address[10.0.0.1/31]", there());
  }
  pod.cluster.policy.emplace();
  pod.cluster.policy->waves = {{false, 1}, {true, 1.0}};
  const Plan plan = pod.cluster.plan();
  std::map<std::uint32_t, std::set<std::uint32_t>> waves;
  std::string notes;
  for (const Step& step : plan.steps) {
    if (step.together != 0) waves[step.together].insert(step.wave);
    for (const std::string& note : step.notes) notes += note + "\n";
  }
  EXPECT_FALSE(waves.empty());
  for (const auto& [group, those] : waves) EXPECT_EQ(those.size(), 1U) << plan_lines(plan);
  EXPECT_NE(notes.find("no canary, hosts and switches change in turns: the MTU must be the same"),
            std::string::npos)
      << notes;
}

// Holds that no approval lifts, that wait for a window, or that need approval: the step at the other end is
// not started.
TEST(LinkGroups, HeldEndKeepsTheOtherFromStarting) {
  for (const Hold::Kind kind : {Hold::Kind::approval, Hold::Kind::budget, Hold::Kind::management,
                                Hold::Kind::drain, Hold::Kind::host_policy, Hold::Kind::in_person}) {
    Pod pod;
    Plan plan = pod.cluster.plan();
    for (Step& step : plan.steps)
      if (step.device == "gpu1") step.holds.push_back({kind, "a reason of its own"});
    const ApplyReport report = pod.cluster.apply_plan(plan);
    EXPECT_EQ(pod.mtu({"leaf0", "swp1"}), kOld) << told(plan, report);
    EXPECT_TRUE(pod.is_even()) << pod.lines();
    const StepResult& leaf = result_of(plan, report, "leaf0", mtu_of("swp1"));
    EXPECT_EQ(leaf.state, StepState::skipped) << told(plan, report);
    EXPECT_EQ(leaf.other_end, "gpu1:rail0");
    EXPECT_NE(leaf.why.find("leaf0:swp1 is not changed without gpu1:rail0, the other end of its cable"),
              std::string::npos)
        << leaf.why;
    EXPECT_NE(leaf.why.find("a reason of its own"), std::string::npos) << leaf.why;
    const bool has_word = !word_of(kind, Disruption::traffic).empty();
    EXPECT_EQ(report.exit_code(), has_word ? 2 : 1) << "whether approval is all that it wants";
  }
}

TEST(LinkGroups, WaitForTheWindowOfTheOtherEnd) {
  Pod pod;
  pod.cluster.policy_of["gpu1"].name = "never-now";
  pod.cluster.policy_of["gpu1"].windows = {
      {.days = 1, .from = 60, .to = 61, .timezone = ""}};  // 1970-01-01: a Thursday
  const Plan plan = pod.cluster.plan();
  const ApplyReport report = pod.cluster.apply_plan(plan);
  EXPECT_EQ(report.verdict, ApplyVerdict::waits) << told(plan, report);
  EXPECT_EQ(pod.mtu({"leaf0", "swp1"}), kOld);
  EXPECT_TRUE(pod.is_even()) << pod.lines();
  EXPECT_TRUE(result_of(plan, report, "leaf0", mtu_of("swp1")).waits);
}

TEST(LinkGroups, UnreachableDeviceKeepsTheOtherEndFromStarting) {
  for (const char* const gone : {"gpu1", "leaf0", "spine0"}) {
    Pod pod;
    const Plan plan = pod.cluster.plan();
    pod.cluster.devices[gone]->unreachable = true;
    std::size_t writes = 0;
    for (const Step& step : plan.steps) {
      const bool tied = step.together != 0;
      if (!tied) continue;
      SimulatedDevice& device = *pod.cluster.devices[step.device];
      device.seen = [&writes](const SimulatedCall& call) {
        if (call.kind != SimulatedCall::Kind::apply) return;
        for (const Change& change : *call.changes) writes += change.path.text().ends_with("/mtu") ? 1 : 0;
      };
    }
    const ApplyReport report = pod.cluster.apply_plan(plan);
    EXPECT_EQ(writes, 0U) << gone << ": one group\n" << told(plan, report);
    EXPECT_TRUE(pod.is_even()) << pod.lines();
    EXPECT_EQ(report.exit_code(), 1);
  }
}

// Stopped once leaf0 is written: the step at the other end, which comes later, never starts.
ApplyReport stopped_between_the_ends(
    Pod& pod, const Plan& plan, const std::function<void()>& then = [] {}) {
  std::stop_source stop;
  Progress progress;
  progress.step = [&](const Step& step, const StepResult& result) {
    if (step.device != "leaf0" || result.state != StepState::done) return;
    stop.request_stop();
    then();
  };
  return pod.cluster.apply_plan(plan, progress, stop.get_token());
}

TEST(LinkGroups, StopBetweenTheEndsRollsBackTheFirst) {
  Pod pod;
  const Plan plan = pod.cluster.plan();
  const ApplyReport report = stopped_between_the_ends(pod, plan);
  EXPECT_EQ(report.verdict, ApplyVerdict::stopped) << told(plan, report);
  EXPECT_TRUE(pod.is_even()) << pod.lines() << told(plan, report);
  EXPECT_EQ(pod.mtu({"gpu1", "rail0"}), kOld);
}

TEST(LinkGroups, RollbackThatCannotBeJournalledIsReported) {
  Pod pod;
  const Plan plan = pod.cluster.plan();
  const ApplyReport report =
      stopped_between_the_ends(pod, plan, [&pod] { pod.cluster.ledger.no_begin = true; });
  EXPECT_FALSE(pod.is_even()) << pod.lines();
  EXPECT_EQ(pod.cluster.ledger.outcomes.size(), 1U) << "nothing ends that did not begin";
  for (const char* const note :
       {"the disk is full",
        "a cable may be left with ends that differ: not put back at leaf0:swp1, leaf0:swp2"})
    EXPECT_TRUE(std::ranges::any_of(
        report.notes, [note](const std::string& one) { return one.find(note) != std::string::npos; }))
        << note << "\n"
        << told(plan, report);
}

TEST(LinkGroups, HostPolicyHoldsOnlyItsOwnCable) {
  class Refuses final : public Permission {
   public:
    std::optional<std::string> why_not(const Change& change) const override {
      return change.path.text() == mtu_of("rail0") ? std::optional<std::string>("root says no")
                                                   : std::nullopt;
    }
    std::optional<std::string> why_not_unasked() const override { return std::nullopt; }
    std::optional<std::string> why_not_confirm_deletion() const override { return std::nullopt; }
  };
  Refuses refuses;
  Pod pod;
  pod.cluster.attached(0).permission = &refuses;  // gpu1's
  const Plan plan = pod.cluster.plan();
  const ApplyReport report = pod.cluster.apply_plan(plan);
  EXPECT_TRUE(pod.is_even()) << pod.lines() << told(plan, report);
  EXPECT_EQ(pod.mtu({"leaf0", "swp1"}), kOld);
  EXPECT_EQ(pod.mtu({"gpu2", "rail0"}), kNew) << told(plan, report);
  EXPECT_EQ(pod.mtu({"spine0", "down0"}), kNew);
  for (const char* const device : {"gpu1", "leaf0"})
    EXPECT_EQ(pod.cluster.devices[device]->truth().value(pod.kSysctl), Value::text("1")) << device;
}

// Whatever is held, refuses, disappears or is stopped, at any time: a cable ends with one MTU.
TEST(LinkGroups, EveryCableEndsWithOneMtu) {
  EXPECT_TRUE(rc::check([] {
    Pod pod(*rc::gen::inRange<std::uint64_t>(1, 1000));
    const std::vector<std::string> names{"gpu1", "gpu2", "leaf0", "spine0"};
    const auto any = [&] { return names[*rc::gen::inRange<std::size_t>(0, names.size())]; };
    if (*rc::gen::arbitrary<bool>()) {
      for (const std::string& name : names)  // the opposite order: hosts come first
        for (const Entry& one : pod.cluster.intents[name]->want.entries())
          if (one.path.text().ends_with("/mtu")) pod.cluster.want(name, one.path.text(), number(1280));
    }
    Plan plan = pod.cluster.plan();
    for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
      Step& held = plan.steps[*rc::gen::inRange<std::size_t>(0, plan.steps.size())];
      held.holds.push_back({*rc::gen::element(Hold::Kind::approval, Hold::Kind::management), "held"});
    }
    if (*rc::gen::arbitrary<bool>()) pod.cluster.devices[any()]->refuses = {row("interface[*]/mtu")};
    const std::string lost = *rc::gen::arbitrary<bool>() ? any() : "";
    const std::string at = any();
    for (const std::string& name : names)
      pod.cluster.devices[name]->seen = [&, name](const SimulatedCall& call) {
        const bool now = name == at && call.kind == SimulatedCall::Kind::apply && name != lost;
        if (now && !lost.empty()) pod.cluster.devices[lost]->unreachable = true;
      };
    std::stop_source stop;
    const int stops_after = *rc::gen::inRange(0, 8);
    int done = 0;
    Progress progress;
    progress.step = [&](const Step&, const StepResult& one) {
      if (one.state == StepState::done && ++done == stops_after) stop.request_stop();
    };
    const ApplyReport report = pod.cluster.apply_plan(plan, progress, stop.get_token());
    RC_LOG() << told(plan, report) << pod.lines() << "lost " << lost << " at " << at << '\n';
    // Only for a device lost after its write can the run neither report nor do more. Then its port is
    // reported, and no other port of a cable whose ends are equal.
    std::string told_ports;
    for (const std::string& note : report.notes)
      if (note.find(" can't be read: ") != note.npos ||
          note.find("ends that differ: not put back at") != note.npos)
        told_ports += note + "\n";
    const auto is_told = [&](const PortName& port) {
      return told_ports.find(port.text()) != told_ports.npos;
    };
    for (const Cable& one : pod.cluster.wiring.cables) {
      const bool is_even = pod.mtu(one.a) == pod.mtu(one.b);
      const bool is_lost = one.a.device == lost || one.b.device == lost;
      RC_ASSERT(is_even || (is_lost && (is_told(one.a) || is_told(one.b))));
      for (const PortName& port : {one.a, one.b})
        RC_ASSERT(!is_told(port) || !is_even || port.device == lost);
    }
  }));
}

}  // namespace
}  // namespace lockstep
