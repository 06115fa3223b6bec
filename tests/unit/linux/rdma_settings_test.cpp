// RoCE settings of one port in the files of each driver: recorded trees of MLNX_OFED, the upstream mlx5
// driver and both bnxt_re drivers, without a kernel.
#include <gtest/gtest.h>

#include "drivers/linux/rdma/inventory.hpp"
#include "drivers/linux/rdma/map.hpp"
#include "drivers/linux/rdma/roce_tos.hpp"
#include "drivers/linux/rdma/settings.hpp"
#include "specs/model/roce_mtu.hpp"
#include "tests/unit/linux/host_tree.hpp"

namespace lockstep::rdma {
namespace {

constexpr RowId kCnpDscp = row("interface[*]/cnp-dscp");
constexpr RowId kCnpPriority = row("interface[*]/cnp-priority");
constexpr RowId kCongestionControl = row("interface[*]/congestion-control");
constexpr RowId kRoceTos = row("interface[*]/roce-tos");

const std::string kOfed = "sys/class/net/rail0/ecn/";
const std::string kCm = "sys/kernel/config/rdma_cm/mlx5_0/ports/1/";
const std::string kTrafficClass = "sys/class/infiniband/mlx5_0/tc/1/traffic_class";

class RoceSettings : public ::testing::Test {
 protected:
  RoceSettings() : files_(host_.root()) { host_.rdma(0, "rail0"); }

  static const rdma_map::MapRow& map(RowId row) { return *find_row(rdma_map::kRows, row); }
  std::string lacks(RowId row) const { return rdma_map::lacking(map(row), files_, port_); }
  std::string value(RowId row) const {
    const auto out = map(row).read(files_, port_);
    return out ? out->to_string() : out.error().text();
  }
  // Returns "" on success.
  std::string write(RowId row, Value want) const {
    const auto out = map(row).write({Path(row, {"rail0"}), {}, want, 0}, files_, port_);
    return out ? "" : out.error().text();
  }
  void becomes_bnxt() { port_ = {"rail0", "bnxt_re0", "bnxt_en", "0000:13:00.0", "Ethernet", 1}; }
  void without_ofed() {
    host_.remove("sys/class/net/rail0/ecn");
    host_.remove("sys/class/infiniband/mlx5_0/tc");
  }

  RecordedHost host_{1};
  HostFiles files_;
  RocePort port_{"rail0", "mlx5_0", "mlx5_core", "0000:13:00.0", "Ethernet", 1};
};

TEST_F(RoceSettings, TheTosAppliesToEveryConnection) {
  EXPECT_EQ(value(kRoceTos), "0 (RoCE v2, traffic class unset)");
  EXPECT_EQ(write(kRoceTos, Value::integer(106)), "");
  EXPECT_EQ(value(kRoceTos), "106");
  EXPECT_EQ(host_.text(kCm + "default_roce_tos"), "106\n");
  EXPECT_EQ(host_.text(kTrafficClass), "106\n");
  EXPECT_EQ(write(kRoceTos, Value::text("0 (IB/RoCE v1, traffic class unset)")), "") << "an undo";
  EXPECT_EQ(value(kRoceTos), "0 (IB/RoCE v1, traffic class unset)");
  EXPECT_EQ(host_.text(kTrafficClass), "tclass=-1\n");
}

TEST_F(RoceSettings, WithoutMlnxOfedTheTosIsThatOfRdmaCm) {
  without_ofed();
  EXPECT_EQ(value(kRoceTos), "0");
  EXPECT_EQ(write(kRoceTos, Value::integer(104)), "");
  EXPECT_EQ(value(kRoceTos), "104");
  host_.file(kCm + "default_roce_mode", "IB/RoCE v1\n");
  EXPECT_EQ(value(kRoceTos), "104 (IB/RoCE v1)");
  EXPECT_EQ(write(kRoceTos, Value::integer(104)), "");
  EXPECT_EQ(host_.text(kCm + "default_roce_mode"), "RoCE v2\n");
}

TEST_F(RoceSettings, AConfigfsEntryExistsOnlyDuringARead) {
  host_.remove("sys/kernel/config/rdma_cm/mlx5_0");
  EXPECT_NE(value(kRoceTos).find("default_roce_tos: No such file"), std::string::npos);
  EXPECT_FALSE(files_.exists("/sys/kernel/config/rdma_cm/mlx5_0"));
  EXPECT_EQ(lacks(kRoceTos), "");
  host_.remove("sys/kernel/config/rdma_cm");
  EXPECT_NE(lacks(kRoceTos).find("load rdma_cm"), std::string::npos);
}

TEST_F(RoceSettings, MlnxOfedHasTheCnpDscpAndDcqcnByPriority) {
  EXPECT_EQ(value(kCnpDscp), "48");
  EXPECT_EQ(write(kCnpDscp, Value::integer(46)), "");
  EXPECT_EQ(host_.text(kOfed + "roce_np/cnp_dscp"), "46\n");
  EXPECT_EQ(value(kCnpPriority), "6");
  EXPECT_EQ(write(kCnpPriority, Value::integer(7)), "");
  EXPECT_EQ(host_.text(kOfed + "roce_np/cnp_802p_prio"), "7\n");
  EXPECT_EQ(value(kCongestionControl), "dcqcn");
  host_.file(kOfed + "roce_rp/enable/3", "0\n");
  EXPECT_EQ(value(kCongestionControl), "dcqcn (np 0xff, rp 0xf7)");
  EXPECT_EQ(write(kCongestionControl, Value::text("none")), "");
  EXPECT_EQ(value(kCongestionControl), "none");
  EXPECT_EQ(host_.text(kOfed + "roce_np/enable/7"), "0\n");
  EXPECT_EQ(write(kCongestionControl, Value::text("dcqcn (np 0xff, rp 0xf7)")), "") << "an undo";
  EXPECT_EQ(value(kCongestionControl), "dcqcn (np 0xff, rp 0xf7)");
  EXPECT_EQ(write(kCongestionControl, Value::text("dcqcn")), "");
  EXPECT_EQ(host_.text(kOfed + "roce_rp/enable/3"), "1\n");
}

TEST_F(RoceSettings, TheUpstreamMlx5DriverHasTheCnpDscpButNoCongestionControlSwitch) {
  without_ofed();
  EXPECT_NE(lacks(kCnpDscp).find("mount debugfs"), std::string::npos) << lacks(kCnpDscp);
  const std::string parameter = "sys/kernel/debug/mlx5/0000:13:00.0/cc_params/np_cnp_dscp";
  host_.file(parameter, "48\n");
  EXPECT_EQ(lacks(kCnpDscp), "");
  EXPECT_EQ(value(kCnpDscp), "48");
  EXPECT_EQ(write(kCnpDscp, Value::integer(40)), "");
  EXPECT_EQ(host_.text(parameter), "40\n");
  EXPECT_NE(lacks(kCongestionControl).find("mlx5_0 (mlx5_core)"), std::string::npos);
  EXPECT_NE(lacks(kCongestionControl).find("ROCE_CC_PRIO_MASK"), std::string::npos);
}

TEST_F(RoceSettings, TheUpstreamMlx5DriverMayUseTheReceivedPriorityForCnps) {
  without_ofed();
  EXPECT_NE(lacks(kCnpPriority).find("mount debugfs"), std::string::npos) << lacks(kCnpPriority);
  const std::string folder = "sys/kernel/debug/mlx5/0000:13:00.0/cc_params/";
  host_.file(folder + "np_cnp_prio", "6\n");
  EXPECT_EQ(value(kCnpPriority), "6") << "a kernel without the mode";
  EXPECT_NE(write(kCnpPriority, Value::text("as received")), "");
  host_.file(folder + "np_cnp_prio_mode", "1\n");
  EXPECT_EQ(value(kCnpPriority), "as received") << "the number is not in use";
  EXPECT_NE(write(kCnpPriority, Value::integer(5)), "")
      << "these files don't end the mode, as the kernel's do";
  host_.file(folder + "np_cnp_prio_mode", "0\n");
  EXPECT_EQ(value(kCnpPriority), "5");
  EXPECT_EQ(write(kCnpPriority, Value::integer(4)), "");
  EXPECT_EQ(host_.text(folder + "np_cnp_prio"), "4\n");
  EXPECT_EQ(write(kCnpPriority, Value::text("as received")), "") << "an undo";
  EXPECT_EQ(value(kCnpPriority), "as received");
}

TEST_F(RoceSettings, BroadcomsDriverHasConfigfsWithAnApplyFile) {
  without_ofed();
  becomes_bnxt();
  const std::string cc = "sys/kernel/config/bnxt_re/bnxt_re0/ports/1/cc/";
  host_.file(cc + "cnp_dscp", "0x30\n");
  host_.file(cc + "cnp_prio", "0x7\n");
  host_.file(cc + "ecn_enable", "0x0\n");
  host_.file(cc + "apply", "");
  EXPECT_EQ(value(kCnpDscp), "48");
  EXPECT_EQ(value(kCongestionControl), "none");
  EXPECT_EQ(write(kCnpDscp, Value::integer(46)), "");
  EXPECT_EQ(host_.text(cc + "cnp_dscp"), "0x2e\n");
  EXPECT_EQ(value(kCnpPriority), "7");
  EXPECT_EQ(write(kCnpPriority, Value::integer(6)), "");
  EXPECT_EQ(host_.text(cc + "cnp_prio"), "0x6\n");
  EXPECT_EQ(host_.text(cc + "apply"), "1\n");
  EXPECT_EQ(write(kCongestionControl, Value::text("dcqcn")), "");
  EXPECT_EQ(host_.text(cc + "ecn_enable"), "0x1\n");
  EXPECT_NE(write(kCongestionControl, Value::text("dcqcn (np 0xff, rp 0xf7)")), "");
}

TEST_F(RoceSettings, TheUpstreamBnxtDriverHasDebugfs) {
  without_ofed();
  becomes_bnxt();
  EXPECT_NE(lacks(kCongestionControl), "");
  const std::string cc = "sys/kernel/debug/bnxt_re/0000:13:00.0/cc_config/";
  host_.file(cc + "alt_vlan_dscp", "48\n");
  host_.file(cc + "alt_vlan_pcp", "6\n");
  host_.file(cc + "enable_cc", "1\n");
  EXPECT_EQ(value(kCnpDscp), "48");
  EXPECT_EQ(write(kCnpPriority, Value::integer(5)), "");
  EXPECT_EQ(host_.text(cc + "alt_vlan_pcp"), "5\n");
  EXPECT_EQ(value(kCongestionControl), "dcqcn");
  EXPECT_EQ(write(kCongestionControl, Value::text("none")), "");
  EXPECT_EQ(host_.text(cc + "enable_cc"), "0\n");
}

// In each tree every file holds a different value, so that a read of the wrong file is detected.
TEST_F(RoceSettings, EveryParameterOfDcqcnHasItsFileInBothDriversOfMlx5) {
  struct Parameter {
    RowId row;
    const char* ofed;
    const char* upstream;
    bool is_switch = false;
  };
  const Parameter all[] = {
      {row("interface[*]/dcqcn/cnp-interval"), "roce_np/min_time_between_cnps", "np_min_time_between_cnps"},
      {row("interface[*]/dcqcn/initial-alpha"), "roce_rp/initial_alpha_value", "rp_initial_alpha_value"},
      {row("interface[*]/dcqcn/alpha-gain"), "roce_rp/dce_tcp_g", "rp_dce_tcp_g"},
      {row("interface[*]/dcqcn/alpha-timer"), "roce_rp/dce_tcp_rtt", "rp_dce_tcp_rtt"},
      {row("interface[*]/dcqcn/rate-reduce-period"), "roce_rp/rate_reduce_monitor_period",
       "rp_rate_reduce_monitor_period"},
      {row("interface[*]/dcqcn/min-decrease"), "roce_rp/rpg_min_dec_fac", "rp_min_dec_fac"},
      {row("interface[*]/dcqcn/reduction-shift"), "roce_rp/rpg_gd", "rp_gd"},
      {row("interface[*]/dcqcn/min-rate"), "roce_rp/rpg_min_rate", "rp_min_rate"},
      {row("interface[*]/dcqcn/rate-on-first-cnp"), "roce_rp/rate_to_set_on_first_cnp",
       "rp_rate_to_set_on_first_cnp"},
      {row("interface[*]/dcqcn/clamp-target-rate"), "roce_rp/clamp_tgt_rate", "rp_clamp_tgt_rate", true},
      {row("interface[*]/dcqcn/clamp-target-rate-after-timer"), "roce_rp/clamp_tgt_rate_after_time_inc",
       "rp_clamp_tgt_rate_ati", true},
      {row("interface[*]/dcqcn/time-reset"), "roce_rp/rpg_time_reset", "rp_time_reset"},
      {row("interface[*]/dcqcn/byte-reset"), "roce_rp/rpg_byte_reset", "rp_byte_reset"},
      {row("interface[*]/dcqcn/fast-recovery-steps"), "roce_rp/rpg_threshold", "rp_threshold"},
      {row("interface[*]/dcqcn/additive-increase"), "roce_rp/rpg_ai_rate", "rp_ai_rate"},
      {row("interface[*]/dcqcn/hyper-increase"), "roce_rp/rpg_hai_rate", "rp_hai_rate"},
      {row("interface[*]/dcqcn/max-rate"), "roce_rp/rpg_max_rate", "rp_max_rate"},
  };
  const auto holds_in = [&](const std::string& folder, const char* Parameter::*file) {
    std::int64_t number = 1;
    for (const Parameter& one : all) host_.file(folder + one.*file, std::to_string(number++) + "\n");
    number = 1;
    for (const Parameter& one : all) {
      SCOPED_TRACE(schema_row(one.row).pattern);
      EXPECT_EQ(lacks(one.row), "");
      EXPECT_EQ(value(one.row), one.is_switch ? "true" : std::to_string(number));
      EXPECT_EQ(write(one.row, one.is_switch ? Value::boolean(false) : Value::integer(number + 100)), "");
      EXPECT_EQ(host_.text(folder + one.*file), (one.is_switch ? "0" : std::to_string(number + 100)) + "\n");
      ++number;
    }
  };
  holds_in(kOfed, &Parameter::ofed);
  without_ofed();
  holds_in("sys/kernel/debug/mlx5/0000:13:00.0/cc_params/", &Parameter::upstream);
}

TEST_F(RoceSettings, RefusesDcqcnParametersThatADriverLacksAndInvalidValues) {
  const RowId rate = row("interface[*]/dcqcn/min-rate");
  const RowId clamp = row("interface[*]/dcqcn/clamp-target-rate");
  for (const Value& wrong : {Value{}, Value::text("5"), Value::boolean(true)})
    EXPECT_NE(write(rate, wrong).find("takes a number"), std::string::npos) << wrong.to_string();
  EXPECT_NE(write(clamp, Value::integer(1)).find("takes true or false"), std::string::npos);
  EXPECT_EQ(value(rate), "1");
  without_ofed();
  EXPECT_NE(lacks(rate).find("mount debugfs"), std::string::npos);
  becomes_bnxt();
  host_.file("sys/kernel/config/bnxt_re/bnxt_re0/ports/1/cc/g", "0x8\n");
  EXPECT_NE(lacks(rate).find("are others"), std::string::npos) << lacks(rate);
}

TEST_F(RoceSettings, ReportsWhatAPortDoesNotSupport) {
  without_ofed();
  port_.driver = "rxe";
  EXPECT_EQ(lacks(kCnpDscp), "rxe: software RDMA ignores congestion marks and sends no CNP");
  port_.driver = "irdma";
  EXPECT_NE(lacks(kCongestionControl).find("mlx5_0 (irdma)"), std::string::npos);
  port_.link_layer = "InfiniBand";
  for (const RowId row : rows_of(rdma_map::kRows))
    EXPECT_NE(lacks(row).find("is InfiniBand"), std::string::npos) << schema_row(row).pattern;
}

TEST_F(RoceSettings, MalformedValuesAreRefusedAndChangeNothing) {
  for (const Value& wrong : {Value{}, Value::text("106"), Value::text("106 (RoCE v2)"), Value::boolean(true)})
    EXPECT_NE(write(kRoceTos, wrong), "") << wrong.to_string();
  EXPECT_NE(write(kCnpDscp, Value::text("48")), "");
  for (const Value& wrong : {Value{}, Value::text("6"), Value::text("as received")})
    EXPECT_NE(write(kCnpPriority, wrong), "") << wrong.to_string() << ": MLNX_OFED has no such mode";
  for (const char* wrong : {"vendor", "off", "dcqcn (np 0x1ff, rp 0x00)", ""})
    EXPECT_NE(write(kCongestionControl, Value::text(wrong)), "") << wrong;
  EXPECT_EQ(value(kRoceTos), "0 (RoCE v2, traffic class unset)");
  EXPECT_EQ(value(kCongestionControl), "dcqcn");
  host_.file(kOfed + "roce_np/cnp_dscp", "many\n");
  EXPECT_NE(value(kCnpDscp).find("holds no number: 'many'"), std::string::npos);
}

TEST(RoceTosText, ValuesAndStatesAreInverses) {
  for (const RoceTos& one :
       {RoceTos{106, "RoCE v2", {}}, RoceTos{106, "RoCE v2", 106}, RoceTos{0, "RoCE v2", kUnset},
        RoceTos{0, "IB/RoCE v1", {}}, RoceTos{8, "IB/RoCE v1", 255}}) {
    const Value value = tos_value(one);
    const auto back = tos_of(value, one.traffic_class.has_value());
    ASSERT_TRUE(back) << value.to_string();
    EXPECT_EQ(*back, one) << value.to_string();
  }
  EXPECT_EQ(traffic_class_in("Global tclass=106\n"), 106);
  EXPECT_EQ(traffic_class_in("106"), 106);
  EXPECT_EQ(traffic_class_in(""), kUnset);
  EXPECT_EQ(traffic_class_in("tclass=x"), std::nullopt);
}

TEST_F(RoceSettings, GidsAreChosenByTypeAndFamily) {
  const std::vector<Gid> gids = read_gids(files_, "mlx5_0", 1);
  ASSERT_EQ(gids.size(), 5U) << "the unused entry has no type";
  const auto chosen = [&](std::string_view type, bool v4, std::string_view netdev) {
    const Gid* const one = choose_gid(gids, type, v4, netdev);
    return one == nullptr ? std::string("none") : std::to_string(one->index);
  };
  EXPECT_EQ(chosen(kRoceV2, true, "rail0"), "3");
  EXPECT_EQ(chosen("IB/RoCE v1", true, "rail0"), "2");
  EXPECT_EQ(chosen(kRoceV2, false, "rail0"), "4") << "not the link-local one";
  EXPECT_EQ(chosen("IB/RoCE v1", false, "rail0"), "0");
  EXPECT_EQ(chosen(kRoceV2, true, "rail0.100"), "none");
}

TEST_F(RoceSettings, ReadsTheDevicesOfARecordedMachine) {
  const auto devices = read_rdma(files_, Call{});
  ASSERT_TRUE(devices) << devices.error().text();
  ASSERT_EQ(devices->size(), 1U);
  const DeviceFacts& one = devices->front();
  EXPECT_EQ(one.name + " " + one.driver + " " + one.pci + " " + one.firmware,
            "mlx5_0 mlx5_core 0000:13:00.0 28.39.1002");
  ASSERT_EQ(one.ports.size(), 1U);
  EXPECT_EQ(one.ports[0].state + " " + one.ports[0].physical_state + " " + one.ports[0].netdev,
            "ACTIVE LINK_UP rail0");
  EXPECT_EQ(one.ports[0].link_layer, "Ethernet");
  EXPECT_EQ(roce_mtu(4200), 4096U);
  EXPECT_EQ(roce_mtu(1500), 1024U);
  EXPECT_EQ(roce_mtu(100), 0U);
}

}  // namespace
}  // namespace lockstep::rdma
