// A HostProfile on a host whose NIC is netdevsim: from YAML to devlink and sysfs; manual drift is reported
// with its spec line and repaired; refusals are reported with the message of the kernel.
#include <poll.h>

#include "drivers/linux/devlink/client.hpp"
#include "drivers/linux/discover.hpp"
#include "drivers/linux/driver.hpp"
#include "reconciler/engine/plan.hpp"
#include "specs/compile/compile.hpp"
#include "specs/language/load.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/vm/compare_device.hpp"
#include "tests/vm/netdevsim_lab.hpp"

namespace lockstep {
namespace {

// The `nic` lines start at line 17.
constexpr std::string_view kHost = R"(
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: hosts}
spec:
  names: gpu1
  role: host
  drivers: [linux]
  connect: {local: true}
  interfaces: [{name: eth0, platform: connectx-7, rdma: true, speed: 400Gbps}]
---
apiVersion: lockstep.dev/v1alpha1
kind: HostProfile
metadata: {name: nodes}
spec:
  selector: {names: gpu1}
)";
constexpr std::string_view kNic = R"(  nic:
    ports: eth0
    parameters: {max_macs: 64, test1: false}
    health: true
    virtualFunctions: {count: 2, eswitch: switchdev, maxRate: 1Gbps}
)";

Call soon() {
  return Call{.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20), .stop = {}};
}

class DevlinkSpecs : public NetdevsimLab {
 protected:
  void SetUp() override {
    NetdevsimLab::SetUp();
    want(kNic);
  }
  void want(std::string_view nic) {
    const Loaded loaded = load_text("host.yaml", std::string(kHost) + std::string(nic));
    for (const Diagnostic& one : loaded.diagnostics) ADD_FAILURE() << one.message;
    compiled_ = compile(loaded.catalog);
    intent_ = compiled_.intents[compiled_.topology.find_device("gpu1")];
    LinuxTarget target;
    target.device = "gpu1";
    target.software_rate = false;
    attached_ = make_linux_driver(target);
  }
  DeviceState compared() { return compare_device("gpu1", intent_, attached_, soon()); }
  // The changes, each as "host.yaml:18 interface[eth0]/parameter[max_macs]: 32" without the common prefix.
  std::vector<std::string> told(const ChangeSet& changes) const {
    std::vector<std::string> out;
    for (const Change& one : changes) {
      const Origin& origin = compiled_.origins[one.origin];
      out.push_back(std::to_string(origin.at.line) + " " +
                    one.path.text().substr(std::string_view("interface[eth0]/").size()) + ": " +
                    one.was.to_string());
    }
    return out;
  }
  std::vector<std::string> drift() { return told(compared().difference.changes); }
  Plan planned() {
    const DeviceState state = compared();
    DeviceInput device;
    device.name = "gpu1";
    device.role = "host";
    device.intent = &intent_;
    device.observation = &state.observation;
    device.changes = state.difference.changes;
    device.carrier = [](RowId) { return "linux"; };
    PlanInput input;
    input.devices = {device};
    const auto plan = make_plan(input);
    EXPECT_TRUE(plan) << plan.error().text();
    return plan ? *plan : Plan{};
  }
  // Applies the changes step by step, as in a plan; returns the errors.
  std::vector<Error> apply() {
    std::vector<Error> out;
    for (const Step& step : planned().steps) {
      ChangeSet changes;
      for (const PlannedChange& one : step.changes) changes.push_back({one.path, one.was, one.want, 0});
      const auto receipt = attached_.driver->apply(changes, Guard{}, soon());
      EXPECT_TRUE(receipt) << receipt.error().text();
      if (!receipt) continue;
      for (const Receipt::Outcome& one : receipt->outcomes)
        if (one.error) out.push_back(*one.error);
    }
    return out;
  }
  void converge() {
    for (const Error& error : apply()) ADD_FAILURE() << error.text();
    EXPECT_EQ(drift(), std::vector<std::string>{});
  }
  std::string parameter(const std::string& name) {
    auto client = devlink::Client::open(soon());
    EXPECT_TRUE(client);
    const auto all = client->parameters(soon());
    EXPECT_TRUE(all);
    for (const devlink::Parameter& one : *all)
      if (one.name == name) return one.values.begin()->second;
    return "no such parameter";
  }
  // The rate limit of a virtual function as shown by netdevsim, in Mbit/s.
  static std::string rate_of(int function) {
    return line(std::string(kDebug) + "ports/" + std::to_string(128 + function) + "/tx_max");
  }

  Compiled compiled_;
  Intent intent_;
  Attached attached_;
};

TEST_F(DevlinkSpecs, AProfileConvergesInOneApplyAndStays) {
  EXPECT_EQ(drift(),
            (std::vector<std::string>{"21 eswitch: legacy", "19 parameter[max_macs]: 32",
                                      "19 parameter[test1]: true", "21 virtual-function[0]/max-rate: (none)",
                                      "21 virtual-function[1]/max-rate: (none)", "21 virtual-functions: 0"}));
  converge();
  EXPECT_EQ(parameter("max_macs"), "64");
  EXPECT_EQ(line(std::string(kDebug) + "max_macs"), "64") << "reloaded, not only set";
  EXPECT_EQ(line(kFunctions), "2");
  EXPECT_EQ(rate_of(0), "1000");
  EXPECT_EQ(rate_of(1), "1000");
  // A change of the count by way of 0 loses the mode and the rates; they are restored.
  want(R"(  nic: {ports: eth0, virtualFunctions: {count: 3}})");
  EXPECT_EQ(drift(), std::vector<std::string>{"17 virtual-functions: 2"});
  converge();
  want(kNic.substr(0, kNic.find("    virtual")));
  by_hand("devlink dev param set netdevsim/netdevsim1 name test1 value true cmode driverinit");
  converge();
  EXPECT_EQ(line(kFunctions), "3");
  EXPECT_EQ(rate_of(0), "1000");
  EXPECT_EQ(rate_of(1), "1000");
}

TEST_F(DevlinkSpecs, SettingsInTheSameApplySurviveAReload) {
  const ChangeSet changes = {{*Path::parse("interface[eth0]/coalescing/time[rx]"), {}, Value::integer(50), 0},
                             {*Path::parse("interface[eth0]/parameter[max_macs]"), {}, Value::text("64"), 0}};
  const auto receipt = attached_.driver->apply(changes, Guard{}, soon());
  ASSERT_TRUE(receipt) << receipt.error().text();
  ASSERT_EQ(receipt->outcomes.size(), changes.size());
  const auto seen = attached_.driver->observe(Scope{}, "", soon());
  ASSERT_TRUE(seen) << seen.error().text();
  for (std::size_t at = 0; at < changes.size(); ++at) {
    const Receipt::Outcome& one = receipt->outcomes[at];
    EXPECT_EQ(one.path, changes[at].path);
    EXPECT_FALSE(one.error) << one.error->text();
    EXPECT_EQ(seen->have.value(one.path), changes[at].want) << one.path.text();
  }
}

TEST_F(DevlinkSpecs, APlanShowsDevlinkCommands) {
  std::vector<std::string> words;
  for (const Step& step : planned().steps) {
    EXPECT_EQ(step.disruption == Disruption::none, step.changes.front().path.key_count() == 2 &&
                                                       step.changes.front().path.key(1) != "max_macs" &&
                                                       step.changes.front().path.key(1) != "test1");
    for (const PlannedChange& one : step.changes)
      for (const std::string& line : attached_.preview->native({{one.path, one.was, one.want, 0}}))
        words.push_back(line);
  }
  std::sort(words.begin(), words.end());
  const std::string at = kDevice;
  EXPECT_EQ(words, (std::vector<std::string>{
                       "devlink dev eswitch set " + at + " mode switchdev",
                       "devlink dev param set " + at +
                           " name max_macs value 64 cmode driverinit; devlink dev reload " + at,
                       "devlink dev param set " + at +
                           " name test1 value false cmode driverinit; devlink dev reload " + at,
                       "devlink port function rate set " + at + "/PORT_OF_VF_0 tx_max 1000000000bit",
                       "devlink port function rate set " + at + "/PORT_OF_VF_1 tx_max 1000000000bit",
                       "echo 2 > /sys/class/net/eth0/device/sriov_numvfs"}));
}

TEST_F(DevlinkSpecs, ReportsManualDriftWithItsSpecLineAndRepairsIt) {
  converge();
  by_hand("devlink dev param set netdevsim/netdevsim1 name max_macs value 16 cmode driverinit");
  EXPECT_EQ(drift(), std::vector<std::string>{"19 parameter[max_macs]: 16"});
  converge();
  by_hand("devlink port function rate set netdevsim/netdevsim1/129 tx_max 500mbit");
  EXPECT_EQ(drift(), std::vector<std::string>{"21 virtual-function[1]/max-rate: 500000000"});
  converge();
  by_hand("devlink dev eswitch set netdevsim/netdevsim1 mode legacy");
  EXPECT_EQ(drift(),
            (std::vector<std::string>{"21 eswitch: legacy", "21 virtual-function[0]/max-rate: (none)",
                                      "21 virtual-function[1]/max-rate: (none)"}));
  converge();
  ASSERT_TRUE(write(kFunctions, "0"));
  ASSERT_TRUE(write(kFunctions, "4"));
  EXPECT_EQ(drift().back(), "21 virtual-functions: 4");
  converge();
  EXPECT_EQ(line(kFunctions), "2");
  EXPECT_EQ(parameter("max_macs"), "64");
  EXPECT_EQ(rate_of(1), "1000");
}

TEST_F(DevlinkSpecs, AReloadRestoresThePortsNetworkConfiguration) {
  by_hand("ip link set eth0 mtu 4000 up");
  by_hand("ip address add 192.0.2.1/24 dev eth0");
  by_hand("ip address add 2001:db8::1/64 dev eth0 nodad");
  by_hand("ip route add 198.51.100.0/24 via 192.0.2.2 proto 76 table 1001");
  const Tree before = compared().observation.have;
  want(R"(  nic: {ports: eth0, parameters: {max_macs: 64}})");
  const std::string index = line("/sys/class/net/eth0/ifindex");
  converge();
  EXPECT_NE(line("/sys/class/net/eth0/ifindex"), index) << "the port was made anew";
  const Tree after = compared().observation.have;
  bool has_route = false;
  for (const Entry& entry : before.entries()) {
    has_route = has_route || entry.path.text().starts_with("route[");
    if (entry.path == Path(row("interface[*]/parameter[*]"), {"eth0", "max_macs"})) continue;
    EXPECT_EQ(after.value(entry.path).to_string(), entry.value.to_string()) << entry.path.text();
  }
  EXPECT_TRUE(has_route);
}

TEST_F(DevlinkSpecs, ReportsWhatCannotBeRestoredAndRestoresTheRest) {
  converge();
  by_hand("ip address add 2001:db8::1/64 dev eth0 nodad");
  // The port that the reload creates accepts no IPv6 address.
  const std::string no_ipv6 = "/proc/sys/net/ipv6/conf/default/disable_ipv6";
  ASSERT_TRUE(write(no_ipv6, "1"));
  want(R"(  nic: {ports: eth0, parameters: {max_macs: 16}})");
  const std::vector<Error> errors = apply();
  ASSERT_TRUE(write(no_ipv6, "0"));
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_NE(errors[0].text().find("2001:db8::1"), std::string::npos) << errors[0].text();
  EXPECT_EQ(parameter("max_macs"), "16");
  EXPECT_EQ(line(kFunctions), "2");
  EXPECT_EQ(rate_of(0), "1000");
  EXPECT_EQ(rate_of(1), "1000");
}

TEST_F(DevlinkSpecs, ADeviceWithTwoPortsIsReloadedOnceForBoth) {
  ASSERT_TRUE(write("/sys/bus/netdevsim/del_device", "1"));
  ASSERT_TRUE(write("/sys/bus/netdevsim/new_device", "1 2 8"));
  const auto ask = [&](const std::string& port, const std::string& was, const std::string& want) {
    const ChangeSet changes = {
        {Path(row("interface[*]/parameter[*]"), {port, "max_macs"}), Value::text(was), Value::text(want), 0}};
    const auto receipt = attached_.driver->apply(changes, Guard{}, soon());
    ASSERT_TRUE(receipt) << receipt.error().text();
    EXPECT_FALSE(receipt->outcomes[0].error) << receipt->outcomes[0].error->text();
  };
  const std::string index = "/sys/class/net/eth1/ifindex";
  const std::string first = line(index);
  ask("eth0", "32", "64");
  const std::string second = line(index);
  EXPECT_NE(second, first);
  ask("eth1", "32", "64");
  EXPECT_EQ(line(index), second) << "reloaded for what it had";
  EXPECT_EQ(parameter("max_macs"), "64");
}

TEST_F(DevlinkSpecs, AWatchReportsChangesOfParametersAndHealth) {
  const auto watch = attached_.watch();
  ASSERT_TRUE(watch) << watch.error().text();
  const auto sees = [&] {
    pollfd waits{(*watch)->descriptor(), POLLIN, 0};
    if (::poll(&waits, 1, 10'000) != 1) return false;  // 10 s
    const auto changed = (*watch)->drain();
    return changed && changed->any();
  };
  by_hand("devlink dev param set netdevsim/netdevsim1 name max_macs value 16 cmode driverinit");
  EXPECT_TRUE(sees());
  break_device("health/fail_recover");
  (void)write(std::string(kDebug) + "health/break_health", "overheated");
  EXPECT_TRUE(sees());
}

TEST_F(DevlinkSpecs, ReportsAReporterInErrorAndTheRemedyRecoversIt) {
  EXPECT_TRUE(compared().difference.effects.empty());
  // Otherwise the driver itself would recover at once.
  break_device("health/fail_recover");
  (void)write(std::string(kDebug) + "health/break_health", "overheated");
  const ChangeSet effects = compared().difference.effects;
  EXPECT_EQ(told(effects), std::vector<std::string>{"20 health: dummy"});
  ASSERT_EQ(effects.size(), 1U);
  ASSERT_NE(attached_.remedy, nullptr);
  const auto offer = attached_.remedy->offer(effects[0]);
  ASSERT_TRUE(offer);
  EXPECT_EQ(offer->name, "recover-nic-health");
  const auto refused = attached_.remedy->cure({effects[0]}, soon());
  ASSERT_FALSE(refused) << "it can't";
  EXPECT_NE(refused.error().text().find("reporter dummy"), std::string::npos) << refused.error().text();
  EXPECT_EQ(told(compared().difference.effects), std::vector<std::string>{"20 health: dummy"});
  break_device("health/fail_recover", false);
  const auto cured = attached_.remedy->cure({effects[0]}, soon());
  EXPECT_TRUE(cured) << cured.error().text();
  EXPECT_TRUE(compared().difference.effects.empty());
}

TEST_F(DevlinkSpecs, ARefusedReloadHasTheKernelsMessageAndKeepsTheParameter) {
  break_device("dont_allow_reload");
  want(R"(  nic: {ports: eth0, parameters: {max_macs: 64}})");
  const std::vector<Error> errors = apply();
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_NE(errors[0].text().find("User forbid the reload for testing purposes"), std::string::npos)
      << errors[0].text();
  EXPECT_EQ(parameter("max_macs"), "32");
  EXPECT_EQ(drift(), std::vector<std::string>{"17 parameter[max_macs]: 32"});
  break_device("dont_allow_reload", false);
  converge();
}

TEST_F(DevlinkSpecs, AReloadThatFailsHalfwayIsRolledBackOnADeviceWithoutPorts) {
  want(R"(  nic: {ports: eth0, parameters: {max_macs: 64}})");
  const ChangeSet changes = compared().difference.changes;
  ASSERT_EQ(changes.size(), 1U);
  break_device("fail_reload");
  const auto failed = attached_.driver->apply(changes, Guard{}, soon());
  ASSERT_TRUE(failed);
  ASSERT_TRUE(failed->outcomes[0].error);
  EXPECT_NE(failed->outcomes[0].error->text().find("User setup the reload to fail"), std::string::npos);
  EXPECT_NE(line("/sys/class/net/eth0/mtu"), "1500") << "the port is gone";
  break_device("fail_reload", false);
  const auto undone =
      attached_.driver->apply({{changes[0].path, changes[0].want, changes[0].was, 0}}, Guard{}, soon());
  ASSERT_TRUE(undone);
  EXPECT_FALSE(undone->outcomes[0].error) << undone->outcomes[0].error->text();
  EXPECT_EQ(line("/sys/class/net/eth0/mtu"), "1500") << "the port is back, with the value that it had";
  const auto again = attached_.driver->apply(changes, Guard{}, soon());
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->outcomes[0].error) << again->outcomes[0].error->text();
  EXPECT_EQ(drift(), std::vector<std::string>{});
}

TEST_F(DevlinkSpecs, ReportsWhatTheDeviceDoesNotAccept) {
  want(R"(  nic: {ports: eth0, parameters: {max_mac: 64, test1: "yes", max_macs: 0x40},
        virtualFunctions: {count: 9, eswitch: switchdev, maxRate: 1001Kbps}})");
  std::vector<std::string> lacking;
  for (const NotApplied& one : compared().not_applied) lacking.push_back(one.reason);
  EXPECT_EQ(lacking, std::vector<std::string>{"netdevsim/netdevsim1 has no parameter 'max_mac'; did you mean "
                                              "max_macs? (it has: max_macs, test1)"});
  std::string told;
  for (const Error& one : apply()) told += std::string(to_string(one.kind)) + ": " + one.text() + "\n";
  const auto tells = [&](const std::string& words) {
    EXPECT_NE(told.find(words), std::string::npos) << words << "\nnot in\n" << told;
  };
  tells("invalid spec: devlink parameter max_macs takes a decimal number up to 4294967295, not '0x40'");
  tells("invalid spec: devlink parameter test1 takes true or false, not 'yes'");
  tells("refused: /sys/bus/netdevsim/devices/netdevsim1/sriov_numvfs: Cannot allocate memory");
  tells("has no port of virtual function 8, in eswitch mode switchdev");
  EXPECT_EQ(line(kFunctions), "0");
}

TEST_F(DevlinkSpecs, ARefusedRateHasTheKernelsMessage) {
  want(R"(  nic: {ports: eth0, virtualFunctions: {count: 1, eswitch: switchdev, maxRate: 1001Kbps}})");
  const std::vector<Error> errors = apply();
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_NE(errors[0].text().find("TX rate value not in link speed units of 1Mbps"), std::string::npos)
      << errors[0].text();
  EXPECT_EQ(drift(), std::vector<std::string>{"17 virtual-function[0]/max-rate: (none)"});
}

TEST_F(DevlinkSpecs, APortRepresentorHasNoEntriesOfItsDevice) {
  want(R"(  nic: {ports: eth0, virtualFunctions: {count: 1, eswitch: switchdev}})");
  converge();
  std::set<std::string> reasons;
  const Observation now = compared().observation;
  for (const Incapable& one : now.incapable)
    if (one.keys == std::vector<std::string>{"eth1"} &&
        (one.row == row("interface[*]/parameter[*]") || one.row == row("interface[*]/virtual-functions")))
      reasons.insert(one.reason);
  EXPECT_EQ(reasons,
            std::set<std::string>{"it is a port of netdevsim/netdevsim1 that stands for another (pcivf)"});
  EXPECT_EQ(now.have.find(Path(row("interface[*]/virtual-functions"), {"eth1"})), nullptr);
}

TEST_F(DevlinkSpecs, DiscoveryReportsTheNic) {
  converge();
  DiscoverTarget target;
  const auto found = discover_host(target, soon());
  ASSERT_TRUE(found) << found.error().text();
  ASSERT_EQ(found->devlink.size(), 1U);
  const devlink::DeviceFacts& nic = found->devlink[0];
  EXPECT_EQ(nic.device.text(), kDevice);
  ASSERT_FALSE(nic.info.versions.empty());
  EXPECT_EQ(nic.info.versions[0].value, "10.20.30");
  EXPECT_EQ(nic.functions, 2U);
  EXPECT_EQ(nic.ports.size(), 3U);
  EXPECT_EQ(nic.parameters.size(), 2U);
  EXPECT_EQ(nic.reporters.size(), 2U);
  EXPECT_EQ(nic.rates.size(), 2U);
  EXPECT_TRUE(nic.buffers.empty()) << "netdevsim has none";
}

}  // namespace
}  // namespace lockstep
