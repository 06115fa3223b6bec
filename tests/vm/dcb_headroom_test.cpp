// PFC headroom on ports whose kernel drivers have their own rules for it (netdev/nic_headroom.c): the rules
// themselves, by dcbnl and tc messages; then the linux driver on such ports. The actual state is read from
// the kernel, not from the driver.
#include <linux/pkt_sched.h>

#include "drivers/linux/queueing/scheduler.hpp"
#include "drivers/linux/traffic_control.hpp"
#include "tests/vm/dcb_driver_lab.hpp"

namespace lockstep {
namespace {

// The cell size of Spectrum-4, and the default MTU in cells.
constexpr std::uint32_t kCell = 192;
constexpr std::uint32_t in_cells(std::uint32_t bytes) { return (bytes + kCell - 1) / kCell; }
constexpr std::uint32_t kMtuCells = in_cells(1500);

class DcbHeadroomLab : public DcbDriver {
 protected:
  void SetUp() override {
    refuse("none");
    DcbDriver::SetUp();
  }
  void TearDown() override {
    refuse("none");
    DcbDriver::TearDown();
  }
  static void refuse(const std::string& words) {
    std::ofstream out("/sys/module/test_nic/parameters/refuse");
    out << words << std::flush;
    EXPECT_TRUE(out.good());
  }
  int set_sizes(const std::string& port, std::uint8_t priority, std::uint32_t bytes) {
    dcbnl_buffer buffer = read(port).buffer.value_or(dcbnl_buffer{});
    buffer.prio2buffer[priority] = priority;
    buffer.buffer_size[priority] = bytes;
    return refusal(dcb::set_request(port, DCB_ATTR_DCB_BUFFER, buffer));
  }
  int set_pfc(const std::string& port, std::uint8_t priorities, std::uint16_t delay) {
    ieee_pfc pfc{};
    pfc.pfc_en = priorities;
    pfc.delay = delay;
    return refusal(dcb::set_request(port, DCB_ATTR_IEEE_PFC, pfc));
  }
  unsigned delay(const std::string& port) { return read(port).pfc.value_or(ieee_pfc{}).delay; }
  void set_root(const std::string& port) {
    netlink::Request ets = ets_request(index(port), 0x10000, TC_H_ROOT, {8, {}, {}});
    ASSERT_EQ(done(ets), 0);
  }
  void remove_root(const std::string& port) {
    netlink::Request gone = delete_root_request(index(port));
    ASSERT_EQ(done(gone), 0);
  }
  std::optional<Qdisc> root(const std::string& port) {
    const auto all = read_qdiscs(*socket_, soon());
    EXPECT_TRUE(all);
    if (!all) return std::nullopt;
    for (const Qdisc& one : *all)
      if (one.index == index(port) && one.parent == TC_H_ROOT) return one;
    return std::nullopt;
  }
  Value seen(const std::string& entry) { return observed().have.value(path(entry)); }
};

TEST_F(DcbHeadroomLab, ASwitchAcceptsSizesWhileAQdiscIsOffloadedAsItsRoot) {
  make("swp1", "mlxsw");
  EXPECT_EQ(set_sizes("swp1", 3, 100'000), EINVAL);
  EXPECT_EQ(set_pfc("swp1", 0x08, 8000), 0);
  // All priorities are in class 0, and therefore in buffer 0.
  EXPECT_EQ(size("swp1", 3), kCell * (3 * kMtuCells + 2 * in_cells(8000 / 8)));
  set_root("swp1");
  EXPECT_TRUE(root("swp1").value_or(Qdisc{}).offloaded);
  EXPECT_EQ(size("swp1", 3), kCell * 2 * kMtuCells) << "the delay counts for nothing";
  EXPECT_EQ(set_sizes("swp1", 3, 100'000), 0);
  EXPECT_EQ(size("swp1", 3), kCell * in_cells(100'000));
  EXPECT_EQ(set_sizes("swp1", 3, 1), 0);
  EXPECT_EQ(size("swp1", 3), kCell * 2 * kMtuCells) << "not below what a pause is sent at";
  EXPECT_EQ(set_sizes("swp1", 3, 1 << 20), ENOBUFS);
  remove_root("swp1");
  EXPECT_EQ(set_sizes("swp1", 3, 100'000), EINVAL);
  EXPECT_EQ(size("swp1", 3), kCell * (3 * kMtuCells + 2 * in_cells(8000 / 8)));
}

TEST_F(DcbHeadroomLab, ASwitchExcludesPauseWithPfcAndSupportsSharesAndStrictOnly) {
  make("swp1", "mlxsw");
  ieee_ets ets{};
  ets.tc_tsa[0] = IEEE_8021QAZ_TSA_VENDOR;
  EXPECT_EQ(refusal(dcb::set_request("swp1", DCB_ATTR_IEEE_ETS, ets)), EINVAL);
  ets.tc_tsa[0] = IEEE_8021QAZ_TSA_ETS;
  ets.tc_tx_bw[0] = 90;
  EXPECT_EQ(refusal(dcb::set_request("swp1", DCB_ATTR_IEEE_ETS, ets)), EINVAL);
  EXPECT_EQ(refusal(dcb::set_mode_request("swp1", DCB_CAP_DCBX_LLD_MANAGED)), EINVAL);
  set_pause("swp1", true);
  EXPECT_EQ(set_pfc("swp1", 0x08, 0), EINVAL);
  EXPECT_EQ(set_pfc("swp1", 0, 0), 0);
}

// At 400 Gbit/s, with MTUs of 1500 B and at most 9978 B: mlx5/core/en/port_buffer.c.
constexpr std::uint32_t xoff(std::uint32_t metres) {
  return (301 + 216 * metres / 100) * 400 + 272 * 1500 / 100;
}
constexpr std::uint32_t least(std::uint32_t metres) { return xoff(metres) + 9978 + 128; }

TEST_F(DcbHeadroomLab, ANicTakesTheDelayAsMetresOfCable) {
  make("nic0", "mlx5");
  EXPECT_EQ(delay("nic0"), 7U);
  EXPECT_EQ(set_pfc("nic0", 0, 999), 0);
  EXPECT_EQ(set_pfc("nic0", 0, 0), 0);
  EXPECT_EQ(set_pfc("nic0", 0, 1000), 0);
  EXPECT_EQ(delay("nic0"), 999U) << "what can't be is dropped without a word";
  EXPECT_EQ(set_pfc("nic0", 0, 30), 0);
  EXPECT_EQ(set_sizes("nic0", 3, least(30) - 1), 0) << "it is not lossless yet";
  EXPECT_EQ(set_pfc("nic0", 0x08, 0), ENOMEM);
  EXPECT_EQ(pfc("nic0"), 0x08U) << "and is on all the same";
  EXPECT_EQ(set_pfc("nic0", 0, 0), 0);
  EXPECT_EQ(set_sizes("nic0", 3, least(30) + 127), 0);
  EXPECT_EQ(set_pfc("nic0", 0x08, 0), 0);
  EXPECT_EQ(set_pfc("nic0", 0x08, 31), ENOMEM);
  EXPECT_EQ(delay("nic0"), 30U);
  EXPECT_EQ(set_sizes("nic0", 3, least(30) - 1), ENOMEM);
  EXPECT_EQ(set_sizes("nic0", 3, 0), EINVAL);
  EXPECT_EQ(set_sizes("nic0", 4, 1 << 20), EINVAL);
}

TEST_F(DcbHeadroomLab, ANicsFirmwarePlacesLosslessPrioritiesUntilSizesAreSet) {
  make("nic0", "mlx5");
  converge({{"interface[nic0]/pfc", Value::set({"3"})}});
  const std::int64_t own = least(7) + 127 - (least(7) + 127) % 128;
  EXPECT_EQ(seen("interface[nic0]/buffer[3]/size").to_string(), std::to_string(own));
  EXPECT_TRUE(differing({{"interface[nic0]/buffer[3]/size", Value::integer(least(7))}}).empty());
}

TEST_F(DcbHeadroomLab, SetsTheCableLengthOfANic) {
  make("nic0", "mlx5");
  EXPECT_EQ(seen("interface[nic0]/cable-length").to_string(), "7");
  converge({{"interface[nic0]/cable-length", Value::integer(30)},
            {"interface[nic0]/buffer[3]/size", Value::integer(least(30))},
            {"interface[nic0]/pfc", Value::set({"3"})}});
  EXPECT_EQ(delay("nic0"), 30U);
  EXPECT_EQ(pfc("nic0"), 0x08U);
  converge({{"interface[nic0]/cable-length", Value::integer(100)},
            {"interface[nic0]/buffer[3]/size", Value::integer(least(100))}});
  EXPECT_EQ(delay("nic0"), 100U);
  converge({{"interface[nic0]/pfc", Value::set({"3", "4"})},
            {"interface[nic0]/buffer[4]/size", Value::integer(least(100))}});
  EXPECT_EQ(delay("nic0"), 100U) << "PFC alone leaves it";
}

TEST_F(DcbHeadroomLab, ANicWithoutEnoughBufferForItsCableHasNoPfc) {
  make("nic0", "mlx5");
  const std::vector<Error> errors =
      apply({{path("interface[nic0]/cable-length"), {}, Value::integer(1000), 0},
             {path("interface[nic0]/pfc"), {}, Value::set({"3"}), 0}});
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_NE(errors[0].text().find("999 m at most"), std::string::npos) << errors[0].text();
  EXPECT_EQ(pfc("nic0"), 0U);
  EXPECT_EQ(delay("nic0"), 7U);
  // A separate apply: the previous refusal is still remembered.
  std::string why = refused({{"interface[nic0]/pfc", Value::set({"3"})}});
  EXPECT_NE(why.find("cable-length = 1000 was refused"), std::string::npos) << why;
  converge({{"interface[nic0]/cable-length", Value::integer(30)},
            {"interface[nic0]/buffer[3]/size", Value::integer(least(7))}});
  why = refused({{"interface[nic0]/pfc", Value::set({"3"})}});
  EXPECT_NE(why.find("Cannot allocate memory (mlx5 takes no lossless buffer"), std::string::npos) << why;
  EXPECT_EQ(pfc("nic0"), 0U) << "taken back";
}

const Entries kClasses = {
    {"interface[swp1]/class[0]", Value::present()},
    {"interface[swp1]/class[0]/priority", Value::set({"0", "1", "2", "4", "5", "7"})},
    {"interface[swp1]/class[0]/share", Value::integer(400)},
    {"interface[swp1]/class[0]/strict", Value::boolean(false)},
    {"interface[swp1]/class[3]", Value::present()},
    {"interface[swp1]/class[3]/dscp", Value::set({"26"})},
    {"interface[swp1]/class[3]/priority", Value::set({"3"})},
    {"interface[swp1]/class[3]/share", Value::integer(600)},
    {"interface[swp1]/class[3]/strict", Value::boolean(false)},
    {"interface[swp1]/class[6]", Value::present()},
    {"interface[swp1]/class[6]/max-rate", Value::integer(20'000'000'000)},
    {"interface[swp1]/class[6]/priority", Value::set({"6"})},
    {"interface[swp1]/class[6]/strict", Value::boolean(true)},
};
const Entries kHeadroom = {
    {"interface[swp1]/buffer[3]/size", Value::integer(250'000)},
    {"interface[swp1]/pfc", Value::set({"3"})},
    {"interface[swp1]/trust", Value::text("dscp")},
};

Entries lossless_switch() {
  Entries out = kClasses;
  out.insert(kHeadroom.begin(), kHeadroom.end());
  return out;
}

TEST_F(DcbHeadroomLab, MakesASwitchPortLosslessWithARootQdiscOfItsClasses) {
  make("swp1", "mlxsw");
  owned_ = {"swp1"};
  EXPECT_EQ(seen("interface[swp1]/class[0]/max-rate").to_string(), Value{}.to_string());
  converge(lossless_switch());
  const Qdisc qdisc = root("swp1").value_or(Qdisc{});
  ASSERT_TRUE(qdisc.ets);
  EXPECT_TRUE(qdisc.offloaded);
  EXPECT_EQ(qdisc.handle >> 16, kOwnMajor);
  EXPECT_EQ(qdisc.ets->strict, 2);
  EXPECT_EQ(qdisc.ets->bands[3], 4);
  EXPECT_EQ(qdisc.ets->bands[6], 1);
  EXPECT_EQ(size("swp1", 3), kCell * in_cells(250'000));
  EXPECT_EQ(pfc("swp1"), 0x08U);
  const dcb::PortDcb port = read("swp1");
  ASSERT_TRUE(port.maxrate && port.ets);
  EXPECT_EQ(port.maxrate->tc_maxrate[6], 20'000'000U);
  EXPECT_EQ(port.maxrate->tc_maxrate[3], (1U << 31) - 1) << "its word for no bound";
  EXPECT_EQ(port.ets->prio_tc[3], 0) << "ETS by dcbnl would undo the qdisc's";
  ASSERT_EQ(port.apps.size(), 1U);
  EXPECT_EQ(port.apps[0].priority, 3);
  // Shares and buffers change while the root qdisc stays.
  Entries other = lossless_switch();
  other["interface[swp1]/class[0]/share"] = Value::integer(200);
  other["interface[swp1]/class[3]/share"] = Value::integer(800);
  other["interface[swp1]/buffer[3]/size"] = Value::integer(300'000);
  converge(other);
  EXPECT_EQ(pfc("swp1"), 0x08U);
}

TEST_F(DcbHeadroomLab, RestoresARemovedRootQdiscWithPfcOffMeanwhile) {
  make("swp1", "mlxsw");
  owned_ = {"swp1"};
  converge(lossless_switch());
  remove_root("swp1");
  EXPECT_FALSE(differing(lossless_switch()).empty());
  converge(lossless_switch());
  EXPECT_TRUE(root("swp1").value_or(Qdisc{}).offloaded);
  EXPECT_EQ(size("swp1", 3), kCell * in_cells(250'000));
  EXPECT_EQ(pfc("swp1"), 0x08U) << "no change asked for it";
}

TEST_F(DcbHeadroomLab, RollbackOfASwitchRemovesPfcFirst) {
  make("swp1", "mlxsw");
  owned_ = {"swp1"};
  const Tree before = observed().have;
  converge(lossless_switch());
  ChangeSet undo;
  const Tree now = observed().have;
  for (const Entry& entry : now.entries())
    if (before.value(entry.path) != entry.value)
      undo.push_back({entry.path, entry.value, before.value(entry.path), 0});
  for (const Error& error : apply(undo)) ADD_FAILURE() << error.text();
  EXPECT_EQ(pfc("swp1"), 0U);
  EXPECT_EQ(read("swp1").buffer.value_or(dcbnl_buffer{}).prio2buffer[3], 0);
  EXPECT_TRUE(read("swp1").apps.empty());
}

TEST_F(DcbHeadroomLab, ASwitchThatOffloadsNoQdiscKeepsItsState) {
  make("swp1", "mlxsw");
  owned_ = {"swp1"};
  refuse("offload");
  const std::vector<Error> errors = apply(differing(lossless_switch()));
  ASSERT_FALSE(errors.empty());
  for (const Error& error : errors)
    EXPECT_NE(error.text().find("hw-tc-offload on is needed"), std::string::npos) << error.text();
  EXPECT_EQ(pfc("swp1"), 0U);
  EXPECT_TRUE(read("swp1").apps.empty());
  EXPECT_NE(root("swp1").value_or(Qdisc{}).kind, "ets");
}

TEST_F(DcbHeadroomLab, ASwitchThatRefusesASizeHasNoPfcInLaterAppliesEither) {
  make("swp1", "mlxsw");
  owned_ = {"swp1"};
  refuse("buffer");
  EXPECT_FALSE(apply(differing(lossless_switch())).empty());
  EXPECT_EQ(pfc("swp1"), 0U);
  EXPECT_TRUE(read("swp1").apps.empty()) << "no DSCP in a class that is not lossless";
  EXPECT_TRUE(root("swp1").value_or(Qdisc{}).offloaded) << "the classes are";
  owned_.clear();
  const std::string text = refused({{"interface[swp1]/pfc", Value::set({"3"})}});
  EXPECT_NE(text.find("PFC stays off, as its headroom is not there"), std::string::npos) << text;
  EXPECT_EQ(pfc("swp1"), 0U);
  refuse("none");
  converge(lossless_switch());
  EXPECT_EQ(pfc("swp1"), 0x08U);
}

TEST_F(DcbHeadroomLab, ReportsDriversWithoutACableLength) {
  for (const char* const rules : {"plain", "bnxt", "mlxsw"}) {
    make(rules, rules);
    EXPECT_NE(why_incapable(row("interface[*]/cable-length"), rules).find("takes no length of cable"),
              std::string::npos)
        << rules;
  }
  make("nic0", "mlx5");
  EXPECT_EQ(why_incapable(row("interface[*]/cable-length"), "nic0"), "");
}

}  // namespace
}  // namespace lockstep
