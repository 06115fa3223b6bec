// A RoceProfile on a host whose NIC is our test netdev: from YAML to the port, and unsupported settings.
#include "specs/compile/compile.hpp"
#include "specs/language/load.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/vm/compare_device.hpp"
#include "tests/vm/dcb_driver_lab.hpp"
#include "tests/vm/roce_cluster.hpp"

namespace lockstep {
namespace {

const std::string kCluster =
    roce_cluster("nic0", "  pfc: {watchdog: {detectionTime: 200ms, restorationTime: 400ms, action: drop}}\n");

class DcbSpecs : public DcbDriver {
 protected:
  void SetUp() override {
    DcbDriver::SetUp();
    loaded_ = load_text("cluster.yaml", kCluster);
    EXPECT_TRUE(loaded_.diagnostics.empty());
    compiled_ = compile(loaded_.catalog);
  }
  // Compares the port only: the rest of the device is not tested here.
  DeviceState compared() {
    const Intent& all = compiled_.intents[compiled_.topology.find_device(device_)];
    intent_ = Intent{};
    for (const Entry& entry : all.want.entries())
      if (is_of_dcb(entry.path)) intent_.want.set(entry.path, entry.value, entry.origin);
    for (const Claim& claim : all.claims)
      if (claim.collection == row("interface[*]/class[*]")) intent_.claims.push_back(claim);
    return compare_device(device_, intent_, attached_, soon());
  }
  bool is_of_dcb(Path path) const {
    const std::string text = path.text();
    for (const std::string_view part : {"class[", "buffer[", "cable-length", "pfc", "trust", "dcbx", "pause"})
      if (text.starts_with("interface[" + port_ + "]/" + std::string(part))) return true;
    return false;
  }

  std::string device_ = "gpu1";
  std::string port_ = "nic0";

  Loaded loaded_;
  Compiled compiled_;
  Intent intent_;
};

TEST_F(DcbSpecs, AProfileConvergesInOneApplyAndStays) {
  make("nic0", "mlx5");
  set_pause("nic0", true);
  const ChangeSet changes = compared().difference.changes;
  EXPECT_GE(changes.size(), 15U);
  for (const Error& error : apply(changes)) ADD_FAILURE() << error.text();
  for (const Change& left : compared().difference.changes)
    ADD_FAILURE() << left.path.text() << " " << left.was.to_string();
  const dcb::PortDcb port = read("nic0");
  ASSERT_TRUE(port.ets && port.pfc && port.maxrate);
  EXPECT_EQ(port.pfc->pfc_en, 0x08);
  EXPECT_EQ(port.ets->tc_tx_bw[3], 60);
  EXPECT_EQ(port.apps.size(), 64U);
  EXPECT_EQ(port.maxrate->tc_maxrate[6], 20'000'000U) << "5 % of 400 Gbit/s";
  EXPECT_FALSE(pause("nic0"));
  EXPECT_EQ(port.pfc->delay, 100) << "metres of cable, of the law";
}

TEST_F(DcbSpecs, ASwitchPortConvergesInOneApplyAndStays) {
  device_ = "leaf0";
  port_ = "swp1";
  make("swp1", "mlxsw");
  set_pause("swp1", true);
  for (const Error& error : apply(compared().difference.changes)) ADD_FAILURE() << error.text();
  const DeviceState after = compared();
  for (const Change& left : after.difference.changes)
    ADD_FAILURE() << left.path.text() << " " << left.was.to_string();
  EXPECT_EQ(pfc("swp1"), 0x08U);
  EXPECT_FALSE(pause("swp1"));
  EXPECT_EQ(read("swp1").apps.size(), 64U);
  EXPECT_GT(size("swp1", 3), 100'000U) << "400 Gbit/s over 100 m: 250 KB and more";
  std::set<std::string> not_applied;
  for (const NotApplied& one : after.not_applied) not_applied.insert(one.path.text());
  EXPECT_TRUE(not_applied.contains("interface[swp1]/cable-length"));
  EXPECT_TRUE(not_applied.contains("interface[swp1]/buffer[3]/xoff"));
  EXPECT_FALSE(not_applied.contains("interface[swp1]/buffer[3]/size"));
}

TEST_F(DcbSpecs, UnsupportedSettingsAreReportedAndAreNotDrift) {
  make("nic0", "bnxt");
  std::set<std::string> entries;
  for (const NotApplied& one : compared().not_applied) {
    entries.insert(one.path.text().substr(std::string_view("interface[nic0]/").size()));
    EXPECT_FALSE(one.reason.empty());
    EXPECT_NE(one.origin, 0U) << "the spec line that wants it";
  }
  EXPECT_EQ(entries,
            (std::set<std::string>{"buffer[3]/size", "buffer[3]/xoff", "cable-length", "class[3]/ecn-max",
                                   "class[3]/ecn-min", "class[3]/ecn-probability", "class[6]/max-rate",
                                   "pfc-watchdog/action", "pfc-watchdog/detection-time",
                                   "pfc-watchdog/restoration-time"}));
  for (const Error& error : apply(compared().difference.changes)) ADD_FAILURE() << error.text();
  EXPECT_TRUE(compared().difference.changes.empty());
}

}  // namespace
}  // namespace lockstep
