// Traffic classes and trust by the linux driver on our test netdev: a whole profile applied and rolled back
// under the rules of each vendor, drift made by dcb(8), and ports that refuse.
#include "drivers/linux/dcb/port_classes.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/vm/by_hand.hpp"
#include "tests/vm/dcb_driver_lab.hpp"

namespace lockstep {
namespace {

// The compiled profile of examples/rail-pod/roce.yaml: RDMA in class 3, notifications in class 6.
Entries profile() {
  std::vector<std::string> rest;
  for (int dscp = 0; dscp < 64; ++dscp)
    if (dscp != 26 && dscp != 48) rest.push_back(std::to_string(dscp));
  const Value there = Value::present();
  return {{"interface[nic0]/class[0]", there},
          {"interface[nic0]/class[0]/dscp", Value::set(rest)},
          {"interface[nic0]/class[0]/priority", Value::set({"0", "1", "2", "4", "5", "7"})},
          {"interface[nic0]/class[0]/share", Value::integer(400)},
          {"interface[nic0]/class[0]/strict", Value::boolean(false)},
          {"interface[nic0]/class[3]", there},
          {"interface[nic0]/class[3]/dscp", Value::set({"26"})},
          {"interface[nic0]/class[3]/priority", Value::set({"3"})},
          {"interface[nic0]/class[3]/share", Value::integer(600)},
          {"interface[nic0]/class[3]/strict", Value::boolean(false)},
          {"interface[nic0]/class[6]", there},
          {"interface[nic0]/class[6]/dscp", Value::set({"48"})},
          {"interface[nic0]/class[6]/max-rate", Value::integer(5'000'000'000)},
          {"interface[nic0]/class[6]/priority", Value::set({"6"})},
          {"interface[nic0]/class[6]/strict", Value::boolean(true)},
          {"interface[nic0]/dcbx", Value::text("host ieee")},
          {"interface[nic0]/pause", Value::boolean(false)},
          {"interface[nic0]/pfc", Value::set({"3"})},
          {"interface[nic0]/trust", Value::text("dscp")}};
}

void parameter(const std::string& name, const std::string& value) {
  std::ofstream out("/sys/module/test_nic/parameters/" + name);
  out << value << std::flush;
  EXPECT_TRUE(out.good()) << name << " " << value;
}

class DcbClasses : public DcbDriver {
 protected:
  void SetUp() override {
    parameter("refuse", "none");
    DcbDriver::SetUp();
    owned_ = {"nic0"};
  }
  void TearDown() override {
    parameter("refuse", "none");
    parameter("peer_willing", "N");
    DcbDriver::TearDown();
  }
  ChangeSet undo_to(const Tree& was) {
    const Tree now = observed().have;
    ChangeSet out;
    for (const Entry& entry : now.entries())
      if (was.value(entry.path) != entry.value)
        out.push_back({entry.path, entry.value, was.value(entry.path), 0});
    for (const Entry& entry : was.entries())
      if (!now.value(entry.path)) out.push_back({entry.path, {}, entry.value, 0});
    return out;
  }
  // Applies the difference; returns the answer for each entry.
  std::map<std::string, std::string> answers(const Entries& wanted) {
    std::map<std::string, std::string> out;
    const auto receipt = driver().apply(differing(wanted), Guard{}, soon());
    EXPECT_TRUE(receipt) << receipt.error().text();
    if (!receipt) return out;
    for (const Receipt::Outcome& one : receipt->outcomes)
      out[one.path.text()] =
          one.error ? std::string(to_string(one.error->kind)) + ": " + one.error->text() : "";
    return out;
  }
  static void expect_in(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "' without '" << part << "'";
  }
};

TEST_F(DcbClasses, AppliesAndRollsBackAProfileUnderEachVendorsRules) {
  for (const std::string personality : {"plain", "mlx5", "bnxt"}) {
    SCOPED_TRACE(personality);
    make("nic0", personality);
    Entries wanted = profile();
    if (personality == "bnxt") wanted.erase("interface[nic0]/class[6]/max-rate");
    const Tree before = observed().have;
    const dcb::PortDcb was = read("nic0");
    converge(wanted);
    const dcb::PortDcb now = read("nic0");
    ASSERT_TRUE(now.ets);
    EXPECT_EQ(std::vector<int>(now.ets->prio_tc, now.ets->prio_tc + 8),
              (std::vector{0, 0, 0, 3, 0, 0, 6, 0}));
    EXPECT_EQ(now.ets->tc_tsa[0], IEEE_8021QAZ_TSA_ETS);
    EXPECT_EQ(now.ets->tc_tx_bw[0], 40);
    EXPECT_EQ(now.ets->tc_tx_bw[3], 60);
    EXPECT_EQ(now.ets->tc_tsa[6], IEEE_8021QAZ_TSA_STRICT);
    EXPECT_EQ(now.apps.size(), 64U);
    if (personality == "bnxt")
      EXPECT_FALSE(now.maxrate);
    else
      EXPECT_EQ(now.maxrate.value_or(ieee_maxrate{}).tc_maxrate[6], 5'000'000U);
    for (const Error& error : apply(undo_to(before))) ADD_FAILURE() << error.text();
    EXPECT_EQ(observed().have.to_string(), before.to_string());
    const dcb::PortDcb back = read("nic0");
    ASSERT_TRUE(was.ets && back.ets);
    EXPECT_TRUE(dcb::same_ets(*was.ets, *back.ets));
    EXPECT_TRUE(back.apps.empty());
    remove("nic0");
  }
}

TEST_F(DcbClasses, DetectsManualDriftPerEntryAndRepairsIt) {
  make("nic0", "plain");
  converge(profile());
  by_hand("dcb ets set dev nic0 prio-tc 5:3 tc-bw 0:30 3:70");
  by_hand("dcb app replace dev nic0 dscp-prio 26:0");
  by_hand("dcb app add dev nic0 dscp-prio 48:3");
  by_hand("dcb app add dev nic0 default-prio 1");
  by_hand("dcb maxrate set dev nic0 tc-maxrate 6:1000000bps");  // kbit/s for the kernel
  std::string seen;
  for (const Change& one : differing(profile()))
    if (one.path.row() != row("interface[*]/class[*]/dscp"))
      seen += one.path.text() + " " + one.was.to_string() + "; ";
    else if (one.path.key(1) != "0")
      seen += one.path.text() + " " + one.was.to_string() + "; ";
  EXPECT_EQ(seen,
            "interface[nic0]/class[3]/dscp 48; interface[nic0]/class[6]/max-rate 1000000000; "
            "interface[nic0]/class[0]/priority 0, 1, 2, 4, 7; interface[nic0]/class[3]/priority 3, 5; "
            "interface[nic0]/class[0]/share 300; interface[nic0]/class[3]/share 700; ");
  converge(profile());
  EXPECT_EQ(dcb::dscp_entries(read("nic0")).size(), 64U);
  EXPECT_EQ(read("nic0").apps.size(), 65U) << "the default priority is another's";
  by_hand("dcb app flush dev nic0 dscp-prio");
  EXPECT_EQ(observed().have.value(path("interface[nic0]/trust")), Value::text("pcp"));
  converge(profile());
}

TEST_F(DcbClasses, AHiddenRefusalIsAnErrorAndStopsTheApply) {
  make("nic0", "plain");
  parameter("refuse", "ets");
  auto got = answers(profile());
  expect_in(got["interface[nic0]/class[3]/share"], "refused: nic0: dcbnl ETS set: Invalid argument");
  expect_in(got["interface[nic0]/class[3]/dscp"], "cancelled: nic0: not tried after the refusal of another");
  expect_in(got["interface[nic0]/class[6]/max-rate"], "cancelled: ");
  EXPECT_TRUE(read("nic0").apps.empty());
  parameter("refuse", "maxrate");
  got = answers(profile());
  EXPECT_EQ(got["interface[nic0]/class[3]/share"], "");
  expect_in(got["interface[nic0]/class[6]/max-rate"], "dcbnl maximal rates set: Invalid argument");
  EXPECT_TRUE(read("nic0").apps.empty());
  parameter("refuse", "app");
  got = answers(profile());
  EXPECT_EQ(got["interface[nic0]/class[6]/max-rate"], "");
  expect_in(got["interface[nic0]/class[3]/dscp"], "refused: nic0: dcbnl app table set: Invalid argument");
  expect_in(got["interface[nic0]/trust"], "dcbnl app table set: Invalid argument");
  parameter("refuse", "none");
  converge(profile());
}

TEST_F(DcbClasses, DoesNotMoveDscpsToAPriorityThatIsNotLossless) {
  make("nic0", "bnxt");
  Entries wanted = profile();
  wanted.erase("interface[nic0]/class[6]/max-rate");
  wanted["interface[nic0]/pfc"] = Value::set({"3", "4"});
  auto got = answers(wanted);
  expect_in(got["interface[nic0]/pfc"], "refused: nic0: dcbnl PFC set: Invalid argument");
  expect_in(got["interface[nic0]/class[3]/dscp"], "cancelled: ");
  EXPECT_TRUE(read("nic0").apps.empty());
}

TEST_F(DcbClasses, DoesNotSendImpossibleClasses) {
  make("nic0", "plain");
  const Tree before = observed().have;
  Entries wanted = profile();
  wanted["interface[nic0]/class[3]/share"] = Value::integer(500);
  wanted.erase("interface[nic0]/pfc");
  auto got = answers(wanted);
  for (const char* const entry : {"class[0]/share", "class[3]/share", "class[3]/dscp", "trust"})
    expect_in(got[std::string("interface[nic0]/") + entry], "sum to 90 %, and 802.1Qaz has 100 %");
  EXPECT_EQ(observed().have.to_string(), before.to_string());
}

TEST_F(DcbClasses, ReportsVendorDeviations) {
  make("nic0", "mlx5");
  Entries wanted = profile();
  wanted["interface[nic0]/class[6]/max-rate"] = Value::integer(1'550'000'000);
  auto got = answers(wanted);
  expect_in(got["interface[nic0]/class[6]/max-rate"], "took 1550000000 and has 1500000000");
  remove("nic0");
  make("nic0", "bnxt");
  EXPECT_EQ(why_incapable(row("interface[*]/class[*]/max-rate"), "nic0"),
            "the port's driver leaves this out of its dcbnl operations");
  wanted = profile();
  wanted.erase("interface[nic0]/class[6]/max-rate");
  wanted["interface[nic0]/class[3]/share"] = Value::integer(600);
  wanted["interface[nic0]/class[6]/strict"] = Value::boolean(false);
  got = answers(wanted);
  expect_in(got["interface[nic0]/class[6]/strict"], "dcbnl ETS set: Invalid argument");
}

TEST_F(DcbClasses, WithoutATrustTableTrustFollowsTheDscps) {
  owned_.clear();
  make("nic0", "plain");
  EXPECT_EQ(observed().have.value(path("interface[nic0]/trust")), Value::text("pcp"));
  expect_in(
      answers({{"interface[nic0]/trust", Value::text("dscp")}})["interface[nic0]/trust"],
      "without a trust table (Linux 6.3 and a driver that has one) a port trusts DSCP as long as a class "
      "has DSCPs: here none has");
  converge({{"interface[nic0]/class[3]/dscp", Value::set({"26"})},
            {"interface[nic0]/trust", Value::text("dscp")}});
  expect_in(answers({{"interface[nic0]/trust", Value::text("pcp")}})["interface[nic0]/trust"],
            "here some have");
  EXPECT_EQ(read("nic0").apps.size(), 1U) << "the map is not dropped for it";
}

TEST_F(DcbClasses, ReportsForeignDcbxAndChangesNothing) {
  make("nic0", "mlx5");
  parameter("peer_willing", "Y");
  EXPECT_EQ(refusal(dcb::set_mode_request("nic0", 0)), 0);
  Entries wanted = profile();
  wanted.erase("interface[nic0]/dcbx");
  expect_in(answers(wanted)["interface[nic0]/class[3]/share"], "DCBX is not the host's here");
  const dcb::PortDcb port = read("nic0");
  ASSERT_TRUE(port.peer_ets && port.peer_pfc);
  EXPECT_EQ(port.peer_ets->willing, 1);
  EXPECT_EQ(port.peer_pfc->pfc_en, 0x10);
  const Observation seen = observed();
  ASSERT_EQ(seen.notes.size(), 1U);
  EXPECT_EQ(seen.notes[0],
            "nic0: a DCBX peer announces PFC of priority 4 and its own traffic classes, and is willing");
}

}  // namespace
}  // namespace lockstep
