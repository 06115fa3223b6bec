// A lossless profile from YAML to both ends of every cable, through the whole engine: two hosts and their
// leaf, each a namespace with ports of our test netdev, which imitate mlx5, bnxt and, on the leaf, mlxsw.
// Manual changes with the usual tools are reported with their spec line and repaired; a NIC that refuses
// leaves both ends of its cable unchanged.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "drivers/linux/driver.hpp"
#include "drivers/runtime/pump.hpp"
#include "drivers/runtime/real_executor.hpp"
#include "reconciler/engine/application.hpp"
#include "reconciler/engine/status.hpp"
#include "reconciler/store/store.hpp"
#include "specs/compile/compile.hpp"
#include "specs/language/load.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/vm/by_hand.hpp"
#include "tests/vm/roce_cluster.hpp"

namespace lockstep {
namespace {

// Whether an entry is configuration of a port: there is no routing daemon and no LLDP here.
bool is_of_a_port(Path path) {
  const Row& row = schema_row(path.row());
  return row.facet == Facet::config && row.is_of_port();
}

class LosslessFabric : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const std::string device : {"gpu1", "gpu2", "leaf0"}) by_hand("ip netns add " + device);
    // Two ports created one after the other are peers.
    cable("gpu1", "bnxt", "swp1");
    cable("gpu2", "mlx5", "swp2");
    auto opened = open_store(state_);
    ASSERT_TRUE(opened) << opened.error().text();
    store_ = *std::move(opened);
    const auto led = store_->leadership().take("vm_lossless_fabric");
    ASSERT_TRUE(led) << led.error().text();
    want(roce_cluster("nic0", kMore));
  }
  void TearDown() override {
    for (const std::string device : {"gpu1", "gpu2", "leaf0"}) by_hand("ip netns del " + device);
    store_.reset();
    std::filesystem::remove_all(state_);
  }

  // Every port has a unique index: the kernel keeps the DCB app tables of all namespaces in one list by index
  // (net/dcb/dcbnl.c of 6.1), and would mix those of two ports with the same index.
  void cable(const std::string& host, const std::string& personality, const std::string& port) {
    for (const auto& [device, name, rules] :
         {std::tuple{host, std::string("nic0"), personality}, {std::string("leaf0"), port, "mlxsw"}}) {
      std::ofstream("/sys/module/test_nic/parameters/personality") << rules << std::flush;
      by_hand("ip link add " + name + " index " + std::to_string(++index_) + " netns " + device +
              " type test_nic");
    }
  }

  // Replaces the specs.
  void want(const std::string& text) {
    text_ = text;
    loaded_ = load_text("cluster.yaml", text);
    for (const Diagnostic& one : loaded_.diagnostics) ADD_FAILURE() << one.message;
    compiled_ = compile(loaded_.catalog);
    intents_.clear();
    attached_.clear();
    std::vector<FleetDevice> devices;
    for (const char* const name : {"gpu1", "gpu2", "leaf0"}) {
      const DeviceIndex index = compiled_.topology.find_device(name);
      const Intent& all = compiled_.intents[index];
      Intent& intent = *intents_.emplace_back(std::make_unique<Intent>());
      intent.device = name;
      intent.conduct = Conduct::converge;
      for (const Entry& entry : all.want.entries())
        if (is_of_a_port(entry.path)) intent.want.set(entry.path, entry.value, entry.origin);
      for (const Claim& claim : all.claims)
        if (schema_row(claim.collection).is_of_port()) intent.claims.push_back(claim);
      LinuxTarget target;
      target.device = name;
      target.netns_path = std::string("/run/netns/") + name;
      target.software_rate = false;
      attached_.push_back(std::make_unique<Attached>(make_linux_driver(target)));
      devices.push_back({name, name[0] == 'g' ? "host" : "leaf", &intent, {attached_.back().get()}});
    }
    auto fleet = Fleet::make(std::move(devices), wiring_of(compiled_.topology));
    ASSERT_TRUE(fleet) << fleet.error().text();
    fleet_ = std::make_unique<Fleet>(*std::move(fleet));
  }

  std::vector<DeviceState> observe() {
    ObserveRound round(*fleet_, executor_);
    return pump(executor_, round);
  }
  DriftReport drift() { return drift_report(*fleet_, observe(), compiled_.origins, loaded_.catalog.sources); }
  ApplyReport converge() {
    const auto states = observe();
    const auto plan = make_plan(input_of(*fleet_, states, compiled_.origins, loaded_.catalog.sources,
                                         [](const FleetDevice&) -> const Policy* { return nullptr; }));
    EXPECT_TRUE(plan) << plan.error().text();
    if (!plan) return {};
    Application application(*fleet_, executor_, store_->history(), *plan, {});
    return pump(executor_, application);
  }
  static std::string told(const ApplyReport& report) {
    std::string out(to_string(report.verdict));
    for (const StepResult& step : report.steps)
      out += "\n" + std::string(to_string(step.state)) + " " + step.why;
    for (const std::string& note : report.notes) out += "\n" + note;
    return out;
  }
  // Drifted entries of a device, each with its spec line.
  std::map<std::string, std::uint32_t> drifted(const std::string& device) {
    std::map<std::string, std::uint32_t> out;
    for (const DriftEntry& item : drift().items)
      if (item.device == device && item.state == DriftState::drifted)
        out[item.path.text()] = item.origin.line;
    return out;
  }
  std::string read(const std::string& device, const std::string& entry) {
    const auto path = Path::parse(entry);
    EXPECT_TRUE(path) << entry;
    const auto states = observe();
    return states[*fleet_->find(device)].observation.have.value(*path).to_string();
  }
  static void at(const std::string& device, const std::string& command) {
    by_hand("ip netns exec " + device + " " + command);
  }

  static constexpr std::string_view kMore =
      R"(  pfc: {watchdog: {detectionTime: 200ms, restorationTime: 400ms, action: drop}}
---
apiVersion: lockstep.dev/v1alpha1
kind: HostProfile
metadata: {name: training}
spec:
  selector: {names: "gpu[1-2]"}
  nic:
    rings: {rx: 2048}
    coalescing: {adaptiveRx: false, rxTime: 16us}
)";
  const std::string state_ = "/tmp/lossless-fabric";
  std::string text_;
  Loaded loaded_;
  Compiled compiled_;
  std::vector<std::unique_ptr<Intent>> intents_;
  std::vector<std::unique_ptr<Attached>> attached_;
  std::unique_ptr<Fleet> fleet_;
  std::unique_ptr<Store> store_;
  RealExecutor executor_;
  int index_ = 100;
};

TEST_F(LosslessFabric, ConvergesAtBothEndsOfEveryCableAndStays) {
  const ApplyReport report = converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::kept) << told(report);
  for (const auto& [device, port] :
       {std::pair{"gpu1", "nic0"}, {"gpu2", "nic0"}, {"leaf0", "swp1"}, {"leaf0", "swp2"}}) {
    EXPECT_EQ(read(device, std::string("interface[") + port + "]/pfc"), "3") << device << ":" << port;
    EXPECT_EQ(read(device, std::string("interface[") + port + "]/class[3]/dscp"), "26")
        << device << ":" << port;
  }
  const DriftReport after = drift();
  EXPECT_EQ(after.count(DriftState::drifted), 0U);
  for (const DriftEntry& item : after.items) EXPECT_FALSE(item.reason.empty()) << item.path.text();
  EXPECT_EQ(converge().verdict, ApplyVerdict::nothing_to_do);
}

TEST_F(LosslessFabric, ReportsManualChangesWithTheirSpecLineAndRepairsThem) {
  ASSERT_EQ(converge().verdict, ApplyVerdict::kept);
  at("gpu2", "dcb pfc set dev nic0 prio-pfc 3:off");
  at("leaf0", "dcb app del dev swp1 dscp-prio 26:3");
  at("leaf0", "dcb app add dev swp1 dscp-prio 26:0");
  at("gpu1", "ip link set dev nic0 mtu 1500");
  at("gpu1", "ethtool -G nic0 rx 512");
  at("gpu1", "ethtool -C nic0 rx-usecs 3");
  using Lines = std::map<std::string, std::uint32_t>;
  EXPECT_EQ(drifted("gpu2"), (Lines{{"interface[nic0]/pfc", line_of(text_, "{name: rdma, dscp")}}));
  EXPECT_EQ(drifted("leaf0"),
            (Lines{{"interface[swp1]/class[0]/dscp", line_of(text_, "{name: default, dscp")},
                   {"interface[swp1]/class[3]/dscp", line_of(text_, "{name: rdma, dscp")}}));
  EXPECT_EQ(drifted("gpu1"), (Lines{{"interface[nic0]/coalescing/time[rx]", line_of(text_, "coalescing: {")},
                                    {"interface[nic0]/mtu", line_of(text_, "mtu: {host: 9000")},
                                    {"interface[nic0]/ring[rx]", line_of(text_, "rings: {")}}));
  const ApplyReport healed = converge();
  EXPECT_EQ(healed.verdict, ApplyVerdict::kept) << told(healed);
  EXPECT_EQ(drift().count(DriftState::drifted), 0U);
}

// The NIC of gpu1 supports one lossless priority, that of gpu2 two.
TEST_F(LosslessFabric, ARefusalHasTheDevicesMessageAndBothEndsOfItsCableAreUnchanged) {
  ASSERT_EQ(converge().verdict, ApplyVerdict::kept);
  std::string two = text_;
  const std::string rest = "- {name: default, dscp: [0], priority: 0, tc: 0, bandwidth: 40%}";
  two.replace(two.find(rest), rest.size(),
              "- {name: storage, dscp: [34], priority: 4, tc: 4, bandwidth: 20%, lossless: true, ecn: auto}\n"
              "    - {name: default, dscp: [0], priority: 0, tc: 0, bandwidth: 20%}");
  want(two);
  const ApplyReport report = converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::partly) << told(report);
  EXPECT_NE(told(report).find("interface[nic0]/pfc"), std::string::npos) << told(report);
  EXPECT_NE(told(report).find("leaf0:swp1 is rolled back: gpu1:nic0"), std::string::npos) << told(report);
  for (const auto& [device, port, lossless] : {std::tuple{"gpu1", "nic0", "3"},
                                               {"leaf0", "swp1", "3"},
                                               {"gpu2", "nic0", "3, 4"},
                                               {"leaf0", "swp2", "3, 4"}})
    EXPECT_EQ(read(device, std::string("interface[") + port + "]/pfc"), lossless)
        << device << ":" << port << "\n"
        << told(report);
}

}  // namespace
}  // namespace lockstep
