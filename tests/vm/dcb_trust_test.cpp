// The trust table of Linux 6.3, under a kernel that supports it: read, set, refused, and written in the right
// order with the app table.
#include "drivers/linux/dcb/port_state.hpp"
#include "tests/vm/dcb_driver_lab.hpp"

namespace lockstep {
namespace {

constexpr std::uint8_t kDscp = IEEE_8021QAZ_APP_SEL_DSCP;

class DcbTrust : public DcbDriver {
 protected:
  void SetUp() override {
    DcbDriver::SetUp();
    make("nic0", "mlx5");
  }
  std::vector<std::uint8_t> table() { return read("nic0").trust.value_or(std::vector<std::uint8_t>{}); }
  static Entries trusting(const char* word) { return {{"interface[nic0]/trust", Value::text(word)}}; }
};

TEST_F(DcbTrust, ReadsTheTable) {
  ASSERT_EQ(table(), std::vector{dcb::kSelectorPcp});
  EXPECT_EQ(observed().have.value(path("interface[nic0]/trust")), Value::text("pcp"));
  EXPECT_EQ(refusal(dcb::trust_request("nic0", std::vector{kDscp, dcb::kSelectorPcp})), 0);
  EXPECT_EQ(table(), (std::vector{kDscp, dcb::kSelectorPcp}));
}

TEST_F(DcbTrust, SetsKeepsAndRollsBackTheTable) {
  converge(trusting("dscp"));
  EXPECT_EQ(table(), std::vector{kDscp});
  EXPECT_TRUE(differing(trusting("dscp")).empty());
  converge(trusting("pcp"));
  EXPECT_EQ(table(), std::vector{dcb::kSelectorPcp});
}

// On Linux 6.1, without a trust table, a port with such entries is reported as trusting DSCP.
TEST_F(DcbTrust, EntriesAloneAreNotTrust) {
  const dcb_app entry{kDscp, 3, 26};
  EXPECT_EQ(refusal(dcb::app_request("nic0", DCB_CMD_IEEE_SET, std::span(&entry, 1))), 0);
  EXPECT_EQ(observed().have.value(path("interface[nic0]/trust")), Value::text("pcp"));
  converge(trusting("dscp"));
}

TEST_F(DcbTrust, ARefusalHasTheKernelsMessage) {
  std::ofstream("/sys/module/test_nic/parameters/refuse") << "trust" << std::flush;
  const std::string why = refused(trusting("dscp"));
  std::ofstream("/sys/module/test_nic/parameters/refuse") << " " << std::flush;
  EXPECT_NE(why.find("dcbnl trust set: Invalid argument"), std::string::npos) << why;
  EXPECT_EQ(table(), std::vector{dcb::kSelectorPcp});
}

}  // namespace
}  // namespace lockstep
