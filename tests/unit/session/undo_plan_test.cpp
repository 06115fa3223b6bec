// `lockstep undo` restores the values before a change, by a plan like any other.
#include "reconciler/session/undo_plan.hpp"

#include "lab.hpp"

namespace lockstep {
namespace {

constexpr const char* kRailMtu = "interface[rail0]/mtu";
constexpr const char* kTcpProbing = "sysctl[net.ipv4.tcp_mtu_probing]";

class UndoPlanTest : public Lab {
 protected:
  // Change 1 brings everything up, change 2 changes the sysctl of the hosts.
  void SetUp() override {
    ASSERT_EQ(apply(open()).report.verdict, ApplyVerdict::kept);
    std::string profile = kProfile;
    profile.replace(profile.find("tcp_mtu_probing: 0"), 18, "tcp_mtu_probing: 2");
    folder.write("specs/hosts.yaml", profile);
    ASSERT_EQ(apply(open()).report.verdict, ApplyVerdict::kept);
    ASSERT_EQ(at("gpu1", kTcpProbing), Value::text("2"));
  }
  Result<UndoPlan> planned(std::uint64_t change) { return undo_plan(*session, change, session->observe()); }
  Applied undo(std::uint64_t change) {
    open();
    ApplyRequest request{.command = "undo", .author = "ann"};
    EXPECT_TRUE(session->prepare_apply(request));
    Result<UndoPlan> undo = planned(change);
    if (!undo) throw std::runtime_error(undo.error().text());
    request.takes_back = std::move(undo->undone);
    return session->apply(undo->plan, {}, request, {});
  }
};

TEST_F(UndoPlanTest, RestoresTheEarlierValuesAndNothingElse) {
  std::map<std::string, std::string> others;
  for (const auto& [name, device] : devices) {
    Tree tree = device->truth();
    tree.erase(*Path::parse(kTcpProbing));
    others[name] = tree.to_string();
  }
  EXPECT_EQ(undo(2).report.verdict, ApplyVerdict::kept);
  for (const auto& [name, device] : devices) {
    Tree tree = device->truth();
    tree.erase(*Path::parse(kTcpProbing));
    EXPECT_EQ(tree.to_string(), others[name]) << name;
  }
  EXPECT_EQ(at("gpu1", kTcpProbing), Value::text("0"));
  EXPECT_EQ(at("gpu2", kTcpProbing), Value::text("0"));
  EXPECT_FALSE(measurer.asked.empty()) << "an undo is measured like any change";
}

// The specs still want the change: it is drift, and the next apply writes it again.
TEST_F(UndoPlanTest, RolledBackEntriesAreDrift) {
  undo(2);
  open();
  const auto plan = session->plan(session->observe());
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->changes(), 2U);
}

TEST_F(UndoPlanTest, ManualChangeSinceThenStays) {
  devices.at("gpu2")->set(*Path::parse(kTcpProbing), Value::text("1"));
  open();
  const Result<UndoPlan> undo = planned(2);
  ASSERT_TRUE(undo);
  EXPECT_EQ(undo->plan.changes(), 1U);
  ASSERT_EQ(undo->left_out.size(), 1U);
  EXPECT_TRUE(
      undo->left_out[0].starts_with("gpu2: sysctl[net.ipv4.tcp_mtu_probing] is not put back to 0: it is 1"))
      << undo->left_out[0];
}

// Everything that made traffic flow is removed. The loss of effects that depend on it is no failure.
TEST_F(UndoPlanTest, OfTheInitialApplySucceeds) {
  undo(2);
  EXPECT_EQ(undo(1).report.verdict, ApplyVerdict::kept);
  EXPECT_FALSE(at("gpu1", "interface[rail0]/address[10.64.0.1/31]"));
  EXPECT_NE(at("gpu1", kRailMtu), Value::integer(9000));
}

TEST_F(UndoPlanTest, UnknownChangeIsRefused) {
  open();
  const Result<UndoPlan> undo = planned(7);
  ASSERT_FALSE(undo);
  EXPECT_EQ(undo.error().what, "there is no change 7: the newest is 2");
}

}  // namespace
}  // namespace lockstep
