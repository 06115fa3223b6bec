// A cluster of simulated devices under a session: specs as text in a folder, two hosts on a leaf switch,
// virtual time.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "drivers/sim/simulated_device.hpp"
#include "drivers/sim/simulated_executor.hpp"
#include "reconciler/session/cluster_session.hpp"
#include "specs/model/schema_rows.hpp"
#include "temporary_folder.hpp"
#include "tests/passing_driver.hpp"
#include "tests/told_gate.hpp"

namespace lockstep {

inline constexpr const char* kDevices = R"yaml(apiVersion: lockstep.dev/v1alpha1
kind: Cluster
metadata: {name: lab}
spec: {mode: converge}
---
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: hosts, labels: {pool: lab}}
spec:
  names: gpu[1-2]
  role: host
  drivers: [sim]
  interfaces:
    - {name: rail0, platform: connectx-7, speed: 400Gbps}
---
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: leaves}
spec: {names: leaf0, role: leaf, platform: spectrum-4, drivers: [sim]}
---
apiVersion: lockstep.dev/v1alpha1
kind: Fabric
metadata: {name: backend}
spec:
  role: backend
  topology: rail-optimized
  mtu: {host: 9000, fabric: 9216}
  cabling:
    - {from: "gpu[1-2]:rail0", to: "leaf0:swp[1-2]", by: rail, cableLength: 5m}
  addressing: {hosts: 10.64.0.0/16, hostLink: p2p, loopbacks: 10.255.0.0/24}
)yaml";

inline constexpr const char* kProfile = R"yaml(apiVersion: lockstep.dev/v1alpha1
kind: HostProfile
metadata: {name: training}
spec:
  selector: {matchLabels: {pool: lab}}
  onDelete: restore
  sysctl: {net.ipv4.tcp_mtu_probing: 0}
)yaml";

inline constexpr const char* kSuite = R"yaml(apiVersion: lockstep.dev/v1alpha1
kind: ValidationSuite
metadata: {name: slo}
spec:
  fabric: backend
  transport: tcp
  benchmarks:
    - name: pairs
      workload: stream
      pairs: all
      duration: 600ms
      slo: [{metric: bandwidth, statistic: min, atLeast: 85% of nominal}]
  onChange: {scope: affected, onViolation: rollback}
)yaml";

// Measures nothing: returns the verdict that the test sets.
class FakeMeasurer final : public ToldGate {
 public:
  Result<GateVerdict> tell(const GateQuestion& question) override {
    asked.push_back(question.affected.devices);
    return verdict;
  }
  GateVerdict verdict = GateVerdict::pass;
  std::vector<std::vector<std::string>> asked;
};

class Lab : public testing::Test {
 protected:
  Lab() {
    ::setenv("LOCKSTEP_RUN_DIR", (folder.path() + "/run").c_str(), 1);
    ::setenv("LOCKSTEP_STATE_DIR", (folder.path() + "/states").c_str(), 1);
    folder.write("specs/devices.yaml", kDevices);
    folder.write("specs/hosts.yaml", kProfile);
    folder.write("specs/slo.yaml", kSuite);
    drivers[DriverName::sim].attach = [this](const DriverTarget& target) { return attach(target); };
  }

  ~Lab() override {
    ::unsetenv("LOCKSTEP_RUN_DIR");
    ::unsetenv("LOCKSTEP_STATE_DIR");
  }

  void run_for(std::chrono::seconds length) {
    bool over = false;
    executor.at(executor.now() + length, [&over] { over = true; });
    while (!over && executor.step()) {
    }
  }

  // The devices live as long as the lab: a new session finds them as the last one left them.
  ClusterSession& open(Executor& on) {
    session.reset();
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    ClusterSource source;
    source.specs = {folder.path() + "/specs"};
    Result<OpenedCluster> cluster = load_cluster(source);
    if (!cluster) throw std::runtime_error(cluster.error().text());
    SessionSeams seams{drivers, on, state(), stop.get_token(), traffic ? nullptr : &measurer};
    seams.version = "test";
    seams.traffic = traffic;
    auto opened = ClusterSession::open(*std::move(cluster), seams);
    const std::string said = testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr();
    EXPECT_EQ(said, "");
    if (!opened) throw std::runtime_error(opened.error().text());
    session = *std::move(opened);
    return *session;
  }
  ClusterSession& open() { return open(executor); }
  std::string state() const { return folder.path() + "/state"; }

  // Like `lockstep apply`.
  Applied apply(ClusterSession& on) {
    const ApplyRequest request{.command = "test", .author = "ann"};
    const auto earlier = on.prepare_apply(request);
    if (!earlier) throw std::runtime_error(earlier.error().text());
    const auto plan = on.plan(on.observe());
    if (!plan) throw std::runtime_error(plan.error().text());
    return on.apply(*plan, {}, request, {});
  }
  Value at(const std::string& device, std::string_view path) {
    return devices.at(device)->truth().value(*Path::parse(path));
  }

  TemporaryFolder folder;
  std::map<std::string, std::shared_ptr<SimulatedDevice>> devices;
  std::map<std::string, Intent> intents;  // of the last session
  std::map<std::string, Error> unattachable;
  DriverTable drivers;
  FakeMeasurer measurer;
  // if set, the suites judge its measurements, instead of the measurer
  decltype(MeasureInput::traffic) traffic;
  std::stop_source stop;
  std::unique_ptr<ClusterSession> session;  // ends after the executor
  SimulatedExecutor executor{1};

 private:
  Result<std::optional<Attached>> attach(const DriverTarget& target) {
    if (const auto why = unattachable.find(target.device); why != unattachable.end()) return why->second;
    intents[target.device] = target.intent;
    std::shared_ptr<SimulatedDevice>& device = devices[target.device];
    if (!device) {
      device = std::make_shared<SimulatedDevice>(target.device, devices.size());
      device->set(*Path::parse("sysctl[net.ipv4.tcp_mtu_probing]"), Value::text("1"));
      for (const Entry& entry : target.intent.want.entries())  // ports, for example
        if (schema_row(entry.path.row()).takes == Takes::read_only) device->set(entry.path, entry.value);
      // Every write has the desired effects: cables are in order, and neighbours are up.
      device->effects = [this, name = target.device](Tree& tree) {
        for (const Entry& entry : intents.at(name).want.entries())
          if (schema_row(entry.path.row()).facet == Facet::effect) tree.set(entry.path, entry.value);
      };
    }
    Attached attached;
    attached.driver = std::make_unique<PassingDriver>(device);
    attached.watch = [device] { return device->watch(); };
    return std::optional<Attached>(std::move(attached));
  }
};

}  // namespace lockstep
