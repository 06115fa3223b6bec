// The far end of a cable can't be read: changes that have an order across the cable wait, and all others
// proceed.
#include <functional>

#include "cluster.hpp"
#include "tests/plan_lines.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t kOld = 4000;

// gpu1 and gpu2 under leaf0, gpu3 and gpu4 under leaf1, both leaf switches at spine0. All are in service with
// an MTU of 4000 at both ends of each cable.
struct Pod {
  Pod() {
    for (const char* const host : {"gpu1", "gpu2", "gpu3", "gpu4"}) cluster.add(host);
    for (const char* const leaf : {"leaf0", "leaf1"}) cluster.add(leaf, "leaf");
    cluster.add("spine0", "spine");
    for (int i = 1; i <= 4; ++i)
      join("gpu" + std::to_string(i), "rail0", i <= 2 ? "leaf0" : "leaf1", "swp" + std::to_string(i));
    join("leaf0", "up0", "spine0", "down0");
    join("leaf1", "up0", "spine0", "down1");
  }
  void join(const std::string& a, const std::string& a_port, const std::string& b,
            const std::string& b_port) {
    cluster.cable(a, a_port, b, b_port);
    for (const PortName& end : {PortName{a, a_port}, PortName{b, b_port}}) {
      cluster.devices[end.device]->set(mtu(end.port), number(kOld));
      ends.push_back(end);
    }
  }
  // Of the host links, or of the links between switches.
  void want_mtu(std::int64_t value, bool of_hosts) {
    for (std::size_t i = 0; i < ends.size(); i += 2)
      if ((ends[i].device.starts_with("gpu")) == of_hosts)
        for (const std::size_t end : {i, i + 1})
          cluster.want(ends[end].device, "interface[" + ends[end].port + "]/mtu", number(value));
  }
  static Path mtu(const std::string& port) { return Path(row("interface[*]/mtu"), {port}); }
  Value have(const std::string& device, const std::string& port) {
    return cluster.devices[device]->truth().value(mtu(port));
  }
  void lose(const std::set<std::string>& devices) {
    for (const std::string& device : devices) cluster.devices[device]->unreachable = true;
  }
  Cluster cluster;
  std::vector<PortName> ends;
};

std::string reasons(const ApplyReport& report) {
  std::string out;
  for (const StepResult& one : report.steps) out += std::string(to_string(one.state)) + " " + one.why + "\n";
  return out;
}

class NoMtu : public Permission {
 public:
  std::optional<std::string> why_not(const Change& change) const override {
    return change.path.row() == row("interface[*]/mtu") ? std::optional<std::string>("no") : std::nullopt;
  }
  std::optional<std::string> why_not_unasked() const override { return std::nullopt; }
  std::optional<std::string> why_not_confirm_deletion() const override { return std::nullopt; }
};

// The ports to hosts stay as they are because of their hosts, and later changes wait for the same reason.
TEST(FarEnds, FabricMtuDoesNotShrinkWhileHostsMaySendMore) {
  Pod pod;
  NoMtu no;
  for (std::size_t host = 0; host < 4; ++host) pod.cluster.attached(host).permission = &no;
  pod.want_mtu(kOld / 2, true);
  pod.want_mtu(kOld / 2, false);
  const ApplyReport report = pod.cluster.converge();
  for (const PortName& end : pod.ends)
    EXPECT_EQ(pod.have(end.device, end.port), number(kOld)) << end.text() << "\n" << reasons(report);
}

// Checks the final state, not the plan: the two ends of each cable are equal, and where both could be changed
// they were.
TEST(FarEnds, WithHalfAPodUnreachableNoCableChangesAtOneEndOnly) {
  for (const std::int64_t wanted : {kOld / 2, 2 * kOld}) {
    Pod pod;
    pod.want_mtu(wanted, true);
    pod.lose({"gpu2", "gpu4", "leaf1"});
    const ApplyReport report = pod.cluster.converge();
    EXPECT_EQ(report.verdict, ApplyVerdict::asks) << reasons(report);
    EXPECT_EQ(report.exit_code(), 2);
    EXPECT_EQ(pod.have("gpu1", "rail0"), number(wanted)) << reasons(report);
    for (std::size_t i = 0; i < pod.ends.size(); i += 2) {
      const PortName& a = pod.ends[i];
      const PortName& b = pod.ends[i + 1];
      EXPECT_EQ(pod.have(a.device, a.port), pod.have(b.device, b.port)) << a.text() << " " << b.text();
    }
    EXPECT_NE(reasons(report).find("interface[swp2]/mtu is not changed at this end of its cable alone: "
                                   "gpu2:rail0 could not be read (gpu2"),
              std::string::npos)
        << reasons(report);
    EXPECT_NE(reasons(report).find("leaf1:swp3 could not be read"), std::string::npos) << reasons(report);

    for (const char* const device : {"gpu2", "gpu4", "leaf1"})
      pod.cluster.devices[device]->unreachable = false;
    EXPECT_EQ(pod.cluster.converge().verdict, ApplyVerdict::kept);
    EXPECT_EQ(pod.have("leaf1", "swp4"), number(wanted));
  }
}

TEST(FarEnds, UnorderedChangesProceedAtThePort) {
  Pod pod;
  pod.want_mtu(2 * kOld, true);
  pod.cluster.want("leaf0", "interface[swp2]/autoneg", yes());
  pod.cluster.want("leaf0", "sysctl[net.core.rmem_max]", Value::text("1"));
  pod.lose({"gpu2"});
  pod.cluster.converge();
  EXPECT_EQ(pod.cluster.devices["leaf0"]->truth().value(entry("interface[swp2]/autoneg")), yes());
  EXPECT_EQ(pod.cluster.devices["leaf0"]->truth().value(entry("sysctl[net.core.rmem_max]")),
            Value::text("1"));
  EXPECT_EQ(pod.have("leaf0", "swp2"), number(kOld));
}

TEST(FarEnds, OneUnreadableEntryHoldsItsFarEndOnly) {
  Pod pod;
  pod.want_mtu(2 * kOld, true);
  std::vector<DeviceState> states = pod.cluster.observe();
  states[0].observation.unread.push_back(
      {row("interface[*]/mtu"), {"rail0"}, Error{ErrorKind::transient, "netlink timed out"}});
  states[0].difference = diff(*pod.cluster.intents["gpu1"], states[0].observation);
  const Result<Plan> plan =
      make_plan(input_of(pod.cluster.fleet(), states, pod.cluster.origins, pod.cluster.sources, {}));
  ASSERT_TRUE(plan);
  std::size_t held = 0;
  for (const Step& step : plan->steps)
    for (const PlannedChange& change : step.changes)
      if (change.path == pod.mtu("swp1")) {
        ++held;
        ASSERT_EQ(step.holds.size(), 1U) << plan_lines(*plan);
        EXPECT_EQ(step.holds[0].kind, Hold::Kind::far_end);
        EXPECT_NE(step.holds[0].reason.find("(netlink timed out)"), std::string::npos);
        EXPECT_EQ(step.changes.size(), 1U) << "the other ports' changes are not held with it";
      }
  EXPECT_EQ(held, 1U);
}

TEST(FarEnds, OnlyFarEndApprovalLiftsTheHold) {
  Pod pod;
  pod.want_mtu(2 * kOld, true);
  pod.lose({"gpu2"});
  pod.cluster.options.approved = {Hold::Kind::approval, Hold::Kind::budget, Hold::Kind::drain,
                                  Hold::Kind::in_person};
  pod.cluster.converge();
  EXPECT_EQ(pod.have("leaf0", "swp2"), number(kOld));
  pod.cluster.options.approved = {Hold::Kind::far_end};
  EXPECT_EQ(pod.cluster.converge().verdict, ApplyVerdict::kept);
  EXPECT_EQ(pod.have("leaf0", "swp2"), number(2 * kOld));
}

// A host that could not be read may still send large frames through the fabric.
TEST(FarEnds, SwitchMtuDoesNotShrinkWhileAnUnreadableHostMaySendMore) {
  Pod pod;
  pod.want_mtu(kOld / 2, false);
  pod.lose({"gpu4"});
  const ApplyReport report = pod.cluster.converge();
  EXPECT_EQ(pod.have("leaf0", "up0"), number(kOld)) << reasons(report);
  EXPECT_EQ(pod.have("spine0", "down1"), number(kOld));
  EXPECT_NE(reasons(report).find("gpu4 could not be read"), std::string::npos) << reasons(report);

  Pod grows;
  grows.want_mtu(2 * kOld, false);
  grows.lose({"gpu4"});
  EXPECT_EQ(grows.cluster.converge().verdict, ApplyVerdict::kept);
  EXPECT_EQ(grows.have("spine0", "down1"), number(2 * kOld));

  Pod announced;
  announced.cluster.list()[3].maintenance = "until 2026-12-01: a new mainboard";
  announced.want_mtu(kOld / 2, false);
  announced.lose({"gpu4"});
  EXPECT_EQ(announced.cluster.converge().verdict, ApplyVerdict::kept) << "it sends nothing";
}

// A spine switch that could not be read may still have the old value, so the port of the leaf switch to it is
// held, and no host sends more through that port.
TEST(FarEnds, HostMtuDoesNotGrowBeyondAHeldSwitchPort) {
  Pod pod;
  pod.want_mtu(2 * kOld, true);
  pod.want_mtu(2 * kOld, false);
  pod.lose({"spine0"});
  const ApplyReport report = pod.cluster.converge();
  EXPECT_EQ(pod.have("leaf0", "up0"), number(kOld));
  EXPECT_EQ(pod.have("gpu1", "rail0"), number(kOld)) << reasons(report);
  EXPECT_EQ(report.verdict, ApplyVerdict::asks) << reasons(report);
}

// Every reason for which a device must not be changed in this run, with the message.
struct LeftAlone {
  const char* name;
  std::function<void(Pod&)> leave;  // applied to gpu2
  const char* why;
};
const std::vector<LeftAlone>& left_alone() {
  static const std::vector<LeftAlone> all{
      {"observed", [](Pod& pod) { pod.cluster.intents["gpu2"]->apply_allowed = false; },
       "gpu2 is only observed (`mode: observe` in its specs): put it under `mode: converge` first"},
      {"suspended", [](Pod& pod) { pod.cluster.intents["gpu2"]->conduct = Conduct::suspended; },
       "gpu2 is suspended (`suspend: true` in its specs): lift that first"},
      {"left out",
       [](Pod& pod) {
         pod.cluster.options.choice.only = {"gpu1", "gpu3", "gpu4", "leaf0", "leaf1", "spine0"};
       },
       "--only leaves gpu2 out: name it there too"},
      {"not under converge",
       [](Pod& pod) {
         pod.cluster.options.choice.person = false;
         pod.cluster.intents["gpu2"]->conduct = Conduct::observe;
       },
       "gpu2 is not under `mode: converge`: `lockstep apply` changes both ends"},
      {"in maintenance",
       [](Pod& pod) {
         pod.cluster.options.choice.person = false;
         pod.cluster.list()[1].maintenance = "until 2026-12-01: a new mainboard";
       },
       "gpu2 is in maintenance until 2026-12-01: a new mainboard: `lockstep apply` changes both ends"}};
  return all;
}

// The MTU has an order across the cable, FEC has none. A lossless class consists of several entries.
TEST(FarEnds, NeitherEndChangesWhenOneMayNot) {
  for (const LeftAlone& one : left_alone())
    for (const std::int64_t wanted : {kOld / 2, 2 * kOld}) {
      SCOPED_TRACE(one.name);
      Pod pod;
      pod.want_mtu(wanted, true);
      for (const auto& [device, port] : {std::pair{"gpu2", "rail0"}, {"leaf0", "swp2"}, {"leaf0", "swp1"}})
        pod.cluster.want(device, "interface[" + std::string(port) + "]/fec", Value::text("rs"));
      one.leave(pod);
      const ApplyReport report = pod.cluster.converge();
      EXPECT_EQ(report.verdict, ApplyVerdict::asks) << reasons(report);
      EXPECT_EQ(report.exit_code(), 2);
      for (std::size_t i = 0; i < pod.ends.size(); i += 2)
        EXPECT_EQ(pod.have(pod.ends[i].device, pod.ends[i].port),
                  pod.have(pod.ends[i + 1].device, pod.ends[i + 1].port))
            << pod.ends[i].text();
      EXPECT_EQ(pod.have("leaf0", "swp2"), number(kOld)) << reasons(report);
      EXPECT_EQ(pod.have("leaf0", "swp1"), number(wanted)) << reasons(report);
      EXPECT_EQ(pod.have("gpu4", "rail0"), number(wanted)) << reasons(report);
      const Tree& leaf = pod.cluster.devices["leaf0"]->truth();
      EXPECT_EQ(leaf.value(entry("interface[swp2]/fec")), Value{}) << "gpu2's differs too";
      EXPECT_EQ(leaf.value(entry("interface[swp1]/fec")), Value::text("rs")) << "gpu1's is as it should be";
      for (const char* const what : {"mtu", "fec"})
        EXPECT_NE(reasons(report).find("interface[swp2]/" + std::string(what) +
                                       " is not changed at this end of its cable alone: gpu2:rail0 differs "
                                       "too, and " +
                                       one.why),
                  std::string::npos)
            << reasons(report);
    }
}

TEST(FarEnds, MatchingFarEndOrUnrelatedDriftHoldsNothing) {
  for (const LeftAlone& one : left_alone()) {
    SCOPED_TRACE(one.name);
    Pod pod;
    pod.want_mtu(2 * kOld, true);
    pod.cluster.devices["gpu2"]->set(pod.mtu("rail0"), number(2 * kOld));
    pod.cluster.want("gpu2", "interface[rail0]/fec", Value::text("rs"));
    pod.cluster.want("gpu2", "sysctl[net.core.rmem_max]", Value::text("1"));
    one.leave(pod);
    EXPECT_EQ(pod.cluster.converge().verdict, ApplyVerdict::kept);
    EXPECT_EQ(pod.have("leaf0", "swp2"), number(2 * kOld));
    EXPECT_EQ(pod.cluster.devices["gpu2"]->truth().value(entry("interface[rail0]/fec")), Value{});
  }
}

TEST(FarEnds, LosslessClassIsHeldAsAWhole) {
  Pod pod;
  for (const auto& [device, port] : {std::pair{"gpu2", "rail0"}, {"leaf0", "swp2"}}) {
    const std::string at = "interface[" + std::string(port) + "]/";
    pod.cluster.want(device, at + "class[rdma]", there());
    pod.cluster.want(device, at + "class[rdma]/priority", number(3));
    pod.cluster.want(device, at + "class[rdma]/dscp", Value::set({"26"}));
    pod.cluster.want(device, at + "pfc", Value::set({"3"}));
  }
  pod.cluster.intents["gpu2"]->apply_allowed = false;
  const std::string before = pod.cluster.devices["leaf0"]->truth().to_string();
  const ApplyReport report = pod.cluster.converge();
  EXPECT_EQ(pod.cluster.devices["leaf0"]->truth().to_string(), before) << reasons(report);
  EXPECT_EQ(report.verdict, ApplyVerdict::asks) << reasons(report);
  pod.cluster.intents["gpu2"]->apply_allowed = true;
  EXPECT_EQ(pod.cluster.converge().verdict, ApplyVerdict::kept);
}

TEST(FarEnds, HostDoesNotMarkTrafficBeforeItsPortIsLossless) {
  Pod pod;
  for (const auto& [device, port] :
       {std::pair{"gpu1", "rail0"}, {"gpu3", "rail0"}, {"leaf0", "swp1"}, {"leaf1", "swp3"}}) {
    const std::string at = "interface[" + std::string(port) + "]/";
    pod.cluster.want(device, at + "class[rdma]", there());
    pod.cluster.want(device, at + "class[rdma]/priority", Value::set({"3"}));
    pod.cluster.want(device, at + "class[rdma]/dscp", Value::set({"26"}));
    pod.cluster.want(device, at + "pfc", Value::set({"3"}));
  }
  for (const char* const host : {"gpu1", "gpu3"}) {
    pod.cluster.want(host, "interface[rail0]/roce-tos", number(106));
    pod.cluster.want(host, "nccl/traffic-class", number(106));
  }
  pod.cluster.want("gpu1", "interface[rail1]/roce-tos", number(106));
  pod.cluster.intents["leaf0"]->apply_allowed = false;
  const ApplyReport report = pod.cluster.converge();
  const auto has = [&](const char* host, const char* entry) {
    return bool{pod.cluster.devices[host]->truth().value(*Path::parse(entry))};
  };
  EXPECT_TRUE(has("gpu3", "interface[rail0]/roce-tos")) << reasons(report);
  EXPECT_TRUE(has("gpu3", "nccl/traffic-class")) << reasons(report);
  EXPECT_TRUE(has("gpu1", "interface[rail1]/roce-tos")) << "another port: " << reasons(report);
  EXPECT_FALSE(has("gpu1", "interface[rail0]/roce-tos")) << reasons(report);
  EXPECT_FALSE(has("gpu1", "nccl/traffic-class")) << reasons(report);
  pod.cluster.intents["leaf0"]->apply_allowed = true;
  EXPECT_EQ(pod.cluster.converge().verdict, ApplyVerdict::kept);
  EXPECT_TRUE(has("gpu1", "interface[rail0]/roce-tos"));
}

TEST(FarEnds, FarEndApprovalChangesOnlyTheWritableEnd) {
  Pod pod;
  pod.want_mtu(2 * kOld, true);
  pod.cluster.intents["gpu2"]->apply_allowed = false;
  pod.cluster.options.approved = {Hold::Kind::far_end};
  EXPECT_EQ(pod.cluster.converge().verdict, ApplyVerdict::kept);
  EXPECT_EQ(pod.have("leaf0", "swp2"), number(2 * kOld));
  EXPECT_EQ(pod.have("gpu2", "rail0"), number(kOld));
}

// gpu4 should send less but may not be changed, or gpu3 and gpu4 may not because leaf1 is excluded.
TEST(FarEnds, SwitchMtuDoesNotShrinkWhileAnExcludedHostMaySendMore) {
  for (const bool the_host : {true, false}) {
    Pod pod;
    pod.want_mtu(kOld / 2, true);
    pod.want_mtu(kOld / 2, false);
    pod.cluster.intents[the_host ? "gpu4" : "leaf1"]->apply_allowed = false;
    const ApplyReport report = pod.cluster.converge();
    EXPECT_EQ(pod.have("leaf0", "up0"), number(kOld)) << reasons(report);
    EXPECT_EQ(pod.have("spine0", "down0"), number(kOld)) << reasons(report);
    EXPECT_EQ(pod.have("gpu1", "rail0"), number(kOld / 2)) << reasons(report);
    EXPECT_EQ(pod.have("gpu4", "rail0"), number(kOld)) << reasons(report);
    EXPECT_EQ(pod.have("leaf1", "swp4"), number(kOld)) << reasons(report);
  }
}

// A watch heals the devices that drift and reads no others. Their neighbours do not count as unreadable.
TEST(FarEnds, DeviceThatWasNotObservedIsNotUnreadable) {
  Pod pod;
  pod.want_mtu(2 * kOld, true);
  ObserveOptions options;
  options.only = {4};  // leaf0
  ObserveRound round(pod.cluster.fleet(), pod.cluster.executor, options);
  const std::vector<DeviceState> states = pump(pod.cluster.executor, round);
  const Result<Plan> plan =
      make_plan(input_of(pod.cluster.fleet(), states, pod.cluster.origins, pod.cluster.sources, {}));
  ASSERT_TRUE(plan && !plan->empty());
  for (const Step& step : plan->steps) EXPECT_TRUE(step.holds.empty()) << plan_lines(*plan);
}

}  // namespace
}  // namespace lockstep
