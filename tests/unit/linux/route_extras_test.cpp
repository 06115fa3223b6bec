#include "specs/model/schema_rows.hpp"
#include "tests/unit/linux/lab.hpp"

namespace lockstep {
namespace {

// Our routes after manual changes. The oracle is ip(8), which makes the change and shows the result.
class RouteExtras : public Lab {
 protected:
  void SetUp() override {
    Lab::SetUp();
    if (IsSkipped()) return;
    for (const char* line : {"link set rail0 up", "address add 10.64.0.1/31 dev rail0",
                             "address add 2001:db8::2/64 dev rail0 nodad", "address add 192.0.2.1/32 dev lo",
                             "link add rail1 type veth peer name rail1p", "link set rail1 up",
                             "link set rail1p up", "address add 10.65.0.1/31 dev rail1"})
      ASSERT_EQ(ip(line), 0) << line;
  }

  // Returns the value that is observed after the change, which differs from `want`, and checks that writing
  // the entry restores the route completely.
  Value seen_after(const std::string& entry, const Value& want, const std::string& show,
                   const std::string& change) {
    applies({{entry, want}});
    const std::string before = said("ip", show);
    EXPECT_EQ(ip(change), 0) << change;
    EXPECT_NE(said("ip", show), before) << change;
    const Value seen = value(entry);
    applies({{entry, want}});
    EXPECT_EQ(value(entry), want) << change;
    EXPECT_EQ(said("ip", show), before) << change;
    return seen;
  }
};

TEST_F(RouteExtras, DetectsAndRemovesForeignAttributesOfOurRoutes) {
  const std::string route = "default via 10.64.0.0 dev rail0 table 1000 proto 76";
  const std::string change = "route change " + route;
  struct Case {
    std::string change;
    std::vector<std::string> seen;
  };
  const Case cases[] = {
      {change + " hoplimit 1", {"via 10.64.0.0 dev rail0 hoplimit 1"}},
      {change + " window 2000 initcwnd lock 4", {"via 10.64.0.0 dev rail0 window 2000 initcwnd lock 4"}},
      {change + " hoplimit lock 3", {"via 10.64.0.0 dev rail0 hoplimit lock 3"}},
      {change + " congctl reno", {"via 10.64.0.0 dev rail0 congctl reno"}},
      {change + " src 192.0.2.1", {"via 10.64.0.0 dev rail0 src 192.0.2.1"}},
      {"route change blackhole default table 1000 proto 76", {"nowhere type 6"}},
      {"route change local default dev rail0 table 1000 proto 76", {"dev rail0 type 2"}},
      {"route add default via 10.65.0.0 dev rail1 table 1000 proto 76 tos 0x10",
       {"via 10.64.0.0 dev rail0", "via 10.65.0.0 dev rail1 tos 0x10"}},
      {"route add default via 10.65.0.0 dev rail1 table 1000 proto 76 metric 7",
       {"via 10.64.0.0 dev rail0", "via 10.65.0.0 dev rail1 metric 7"}},
      {"route append default via 10.65.0.0 dev rail1 table 1000 proto 76",
       {"via 10.64.0.0 dev rail0", "via 10.65.0.0 dev rail1"}},
      {"route prepend default via 10.65.0.0 dev rail1 table 1000 proto 76",
       {"via 10.64.0.0 dev rail0", "via 10.65.0.0 dev rail1"}},
      {"route prepend blackhole default table 1000 proto 76", {"nowhere type 6", "via 10.64.0.0 dev rail0"}},
  };
  for (const Case& one : cases)
    EXPECT_EQ(seen_after("route[1000:0.0.0.0/0]", Value::set({"via 10.64.0.0 dev rail0"}),
                         "route show table 1000", one.change),
              Value::set(one.seen))
        << one.change;
}

TEST_F(RouteExtras, DetectsAndRemovesNextHopWeights) {
  EXPECT_EQ(seen_after(
                "route[main:10.64.0.0/16]",
                Value::set({"via 10.64.0.0 dev rail0", "via 10.65.0.0 dev rail1"}), "route show 10.64.0.0/16",
                "route change 10.64.0.0/16 proto 76 nexthop via 10.64.0.0 weight 5 nexthop via 10.65.0.0"),
            Value::set({"via 10.64.0.0 dev rail0 weight 5", "via 10.65.0.0 dev rail1"}));
}

TEST_F(RouteExtras, DetectsAndRemovesForeignAttributesOfIpv6Routes) {
  const Value want = Value::set({"via 2001:db8::1 dev rail0"});
  const std::string show = "-6 route show 2001:dbf::/48";
  EXPECT_EQ(seen_after("route[main:2001:dbf::/48]", want, show,
                       "route replace 2001:dbf::/48 via 2001:db8::1 dev rail0 proto 76 hoplimit 1"),
            Value::set({"via 2001:db8::1 dev rail0 hoplimit 1"}));
  EXPECT_EQ(seen_after("route[main:2001:dbf::/48]", want, show,
                       "route add 2001:dbf::/48 via 2001:db8::9 dev rail0 proto 76 metric 5"),
            Value::set({"via 2001:db8::1 dev rail0", "via 2001:db8::9 dev rail0 metric 5"}));
}

// Locking the MTU keeps manual changes, and vice versa.
TEST_F(RouteExtras, StayWhenOnlyTheMtuIsLocked) {
  applies({{"route[main:10.64.0.0/16]", Value::set({"via 10.64.0.0 dev rail0"})}});
  ASSERT_EQ(ip("route change 10.64.0.0/16 via 10.64.0.0 proto 76 src 192.0.2.1 hoplimit lock 3 congctl reno"),
            0);
  const std::string before = said("ip", "route show 10.64.0.0/16");
  applies({{"route-mtu[10.64.0.0/16]", Value::text("mtu lock 1400")}});
  EXPECT_NE(said("ip", "route show 10.64.0.0/16").find("mtu lock 1400"), std::string::npos);
  applies({{"route-mtu[10.64.0.0/16]", {}}});
  EXPECT_EQ(said("ip", "route show 10.64.0.0/16"), before);
}

// The first route forwards packets, and is the one that the kernel replaces.
TEST_F(RouteExtras, ARouteAppendedToOursSurvivesALock) {
  applies({{"route[main:10.64.0.0/16]", Value::set({"via 10.64.0.0 dev rail0"})}});
  ASSERT_EQ(ip("route append 10.64.0.0/16 via 10.65.0.0 dev rail1 proto 76"), 0);
  apply({{"route-mtu[10.64.0.0/16]", Value::text("mtu lock 1400")}});
  EXPECT_EQ(said("ip", "route show 10.64.0.0/16"),
            "10.64.0.0/16 via 10.64.0.0 dev rail0 proto 76 mtu lock 1400 \n"
            "10.64.0.0/16 via 10.65.0.0 dev rail1 proto 76 \n");
}

// The kernel would refuse to add such a route again because the lookup of its gateway fails.
TEST_F(RouteExtras, AForeignRuleDoesNotPreventLocking) {
  applies({{"route[main:10.64.0.0/16]", Value::set({"via 10.64.0.0 dev rail0", "via 10.65.0.0 dev rail1"})},
           {"route[1000:0.0.0.0/0]", Value::set({"via 10.64.0.0 dev rail0"})},
           {"rule[1000]", Value::text("from 10.64.0.1/32 lookup 1000")}});
  const char* const kShow = "route show table all proto 76";
  const std::string before = said("ip", kShow);
  ASSERT_EQ(ip("rule add pref 10 blackhole"), 0);
  EXPECT_NE(ip("route replace default via 10.64.0.0 dev rail0 table 1000 proto 76 mtu lock 1400"), 0);
  applies({{"route-mtu[10.64.0.0/16]", Value::text("mtu lock 1400")}});
  EXPECT_EQ(value("route-mtu[10.64.0.0/16]"), Value::text("mtu lock 1400"));
  ASSERT_EQ(ip("rule del pref 10"), 0);
  applies({{"route-mtu[10.64.0.0/16]", {}}});
  EXPECT_EQ(said("ip", kShow), before);
}

TEST_F(RouteExtras, AForeignRouteAheadOfOursIsKept) {
  const char* const kRoute = "route[1000:0.0.0.0/0]";
  applies({{kRoute, Value::set({"via 10.64.0.0 dev rail0"})}});
  ASSERT_EQ(ip("route prepend default via 10.65.0.0 dev rail1 table 1000 proto static"), 0);
  const std::string before = said("ip", "route show table 1000");
  EXPECT_NE(apply({{kRoute, Value::set({"via 10.65.0.0 dev rail1"})}}).at(0).find("another's (proto 4)"),
            std::string::npos);
  EXPECT_EQ(said("ip", "route show table 1000"), before);
  applies({{kRoute, {}}});
  EXPECT_EQ(said("ip", "route show table 1000"), "default via 10.65.0.0 dev rail1 proto static \n");
}

TEST_F(RouteExtras, RemovingAnEntryRemovesAllOfOurRoutesAndNoOthers) {
  applies({{"route[1000:0.0.0.0/0]", Value::set({"via 10.64.0.0 dev rail0"})}});
  for (const char* line :
       {"route add default via 10.65.0.0 table 1000 proto 76 metric 7",
        "route append blackhole default table 1000 proto 76", "nexthop add id 5 via 10.64.0.0 dev rail0",
        "route add default nhid 5 table 1000 proto 76 metric 8",
        "route add default via 10.65.0.0 table 1000 proto static metric 9"})
    ASSERT_EQ(ip(line), 0) << line;
  applies({{"route[1000:0.0.0.0/0]", {}}});
  EXPECT_EQ(said("ip", "route show table 1000"), "default via 10.65.0.0 dev rail1 proto static metric 9 \n");
  EXPECT_EQ(value("route[1000:0.0.0.0/0]"), Value{});
}

TEST_F(RouteExtras, AreRefusedAsDesiredValues) {
  const auto outcome = apply({{"route[1000:0.0.0.0/0]", Value::set({"via 10.64.0.0 dev rail0 hoplimit 1"})}});
  EXPECT_NE(outcome.at(0).find("'dev rail0 hoplimit 1'"), std::string::npos) << outcome.at(0);
}

}  // namespace
}  // namespace lockstep
