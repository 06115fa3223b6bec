// Foreign routes, rules, addresses and neighbours on a real kernel: the driver reports those that divert
// traffic, as pings prove, and does not report what other software legitimately configures on such machines.
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>

#include <algorithm>
#include <functional>

#include "drivers/posix/in_namespace.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/large_leaf.hpp"
#include "tests/needs.hpp"
#include "tests/unit/linux/diverted.hpp"

namespace lockstep {
namespace {

TEST_F(Diverted, ReportsNothingWhenTrafficTakesTheDesiredPath) {
  EXPECT_TRUE(arrives_again("10.64.1.1"));
  EXPECT_EQ(transit(), Texts{});
  EXPECT_EQ(culprits("diverted[10.255.0.0/24]/transit"), Texts{});
  EXPECT_EQ(culprits("diverted[10.64.0.0/16]/neighbors"), Texts{});
}

TEST_F(Diverted, ReportsRoutesAndRulesThatDivertTransit) {
  are_named({
      {"route add blackhole 10.64.1.64/26 proto static", "route del blackhole 10.64.1.64/26", "10.64.1.70",
       "blackhole 10.64.1.64/26 proto static"},
      {"route add unreachable 10.64.1.0/26", "route del unreachable 10.64.1.0/26", "10.64.1.1",
       "unreachable 10.64.1.0/26 proto boot"},
      {"route add prohibit 10.64.1.1/32 proto static", "route del prohibit 10.64.1.1/32", "10.64.1.1",
       "prohibit 10.64.1.1/32 proto static"},
      {"route add 10.64.1.1/32 via 10.64.0.1", "route del 10.64.1.1/32", "10.64.1.1",
       "10.64.1.1/32 via 10.64.0.1 dev rail0 proto boot"},
      {"route add throw 10.64.1.0/26 table main", "route del throw 10.64.1.0/26", "10.64.1.1",
       "throw 10.64.1.0/26 proto boot"},
      rule("to 10.64.1.0/24 blackhole", "10.64.1.1", "from all to 10.64.1.0/24 blackhole"),
      rule("iif rail0 prohibit", "10.64.1.1", "from all iif rail0 prohibit"),
      rule("from 10.64.0.1 unreachable", "10.64.1.1", "from 10.64.0.1/32 unreachable"),
      {"address add 10.64.1.1/32 dev extra0", "address del 10.64.1.1/32 dev extra0", "",
       "address 10.64.1.1/32 on extra0"},
      {"address add 10.64.1.65/26 dev extra0", "address del 10.64.1.65/26 dev extra0", "10.64.1.70",
       "10.64.1.64/26 dev extra0 proto kernel"},
      {"route add local 10.64.1.64/26 dev lo table local", "route del local 10.64.1.64/26 table local", "",
       "local 10.64.1.64/26 dev lo proto boot table local"},
  });
}

TEST_F(Diverted, ReportsMissingInvertedAndTosSpecificRules) {
  are_named({
      {"rule del priority 32766", "rule add priority 32766 lookup main", "10.64.1.1",
       "rule 32766: from all lookup main is missing"},
      rule("uidrange 0-4294967294 prohibit", "10.64.1.1", "from all uidrange 0-4294967294 prohibit"),
      rule("goto 32767", "10.64.1.1", "from all goto 32767"),
      rule("not iif rail0 blackhole", "10.64.1.1", "not from all iif rail0 blackhole"),
      rule("not from 10.64.0.1 blackhole", "10.64.1.1", "not from 10.64.0.1/32 blackhole"),
      rule("not ipproto udp blackhole", "10.64.1.1", "not from all ipproto udp blackhole"),
      rule("tos 0x10 blackhole", "-Q 0x10 10.64.1.1", "from all tos 0x10 blackhole"),
      {"route add 10.64.1.0/25 tos 0x10 via 10.64.0.1", "route del 10.64.1.0/25 tos 0x10",
       "-Q 0x10 10.64.1.1", "10.64.1.0/25 tos 0x10 via 10.64.0.1 dev rail0 proto boot"},
  });
}

// A protocol number alone does not make a route legitimate: a daemon's discard route must cover the routes
// that it summarizes, and a route of the kernel must belong to an address.
TEST_F(Diverted, ReportsRoutesThatImitateTheKernelOrADaemon) {
  are_named({
      {"route add blackhole 10.64.1.0/26 proto bgp", "route del blackhole 10.64.1.0/26", "10.64.1.1",
       "blackhole 10.64.1.0/26 proto bgp"},
      {"route add prohibit 10.64.1.1/32 proto zebra", "route del prohibit 10.64.1.1/32", "10.64.1.1",
       "prohibit 10.64.1.1/32 proto zebra"},
      {"route add 10.64.1.0/26 dev rail0 proto kernel", "route del 10.64.1.0/26", "10.64.1.1",
       "10.64.1.0/26 dev rail0 proto kernel"},
      {"route add local 10.64.1.64/26 dev lo table local proto kernel",
       "route del local 10.64.1.64/26 table local", "",
       "local 10.64.1.64/26 dev lo proto kernel table local"},
  });
  ASSERT_EQ(ip("route add blackhole 10.64.0.0/23 proto bgp"), 0);
  EXPECT_EQ(transit(), Texts{}) << "of a summary";
}

// Only the kernel makes this route, together with an address: without it the address is not local.
TEST_F(Diverted, ReportsAMissingLocalRoute) {
  are_named({{"route del local 10.64.0.0 dev rail0 table local",
              "route add local 10.64.0.0 dev rail0 table local proto kernel scope host src 10.64.0.0",
              "10.64.0.0", "local 10.64.0.0/32 dev rail0 proto kernel table local is missing"}});
  // The local route of a loopback address, which is looked up as soon as a route of its pool leads to a port.
  make({"route add 10.255.0.2/32 via 192.0.2.1 proto bgp", "route add default via 192.0.2.1 proto static",
        "route del local 10.255.0.1 dev lo table local"});
  EXPECT_EQ(culprits("diverted[10.255.0.0/24]/transit"),
            (Texts{"local 10.255.0.1/32 dev lo proto kernel table local is missing"}));
  make({"link set rail0 down"});
  EXPECT_EQ(transit(), Texts{}) << "a port that is down has none";
}

// Metadata for a tunnel port: this port ignores it and sends the packets unchanged.
TEST_F(Diverted, IgnoresARouteWithTunnelMetadata) {
  if (ip("route add 10.64.1.0/26 encap ip id 1 dst 192.0.2.1 via 192.0.2.1 dev up0") != 0)
    LOCKSTEP_NOT_TESTED("this kernel has no IP encapsulation of routes (CONFIG_LWTUNNEL)");
  EXPECT_EQ(transit(), Texts{});
  EXPECT_TRUE(arrives_again("10.64.1.1"));
}

// A route inside a desired one with a daemon's protocol number is legitimate only if it leads the same way.
TEST_F(Diverted, ChecksARouteThatImitatesADaemonAgainstTheDesiredRouteAroundIt) {
  const auto named = [&] {
    return culprits("diverted[10.64.0.0/16]/transit", {*Path::parse("fib[10.64.1.0/25]")});
  };
  EXPECT_EQ(named(), Texts{});
  make({"route add 10.64.1.0/26 via 10.64.0.1 proto bgp"});
  EXPECT_EQ(named(), (Texts{"10.64.1.0/26 via 10.64.0.1 dev rail0 proto bgp"}));
  EXPECT_FALSE(arrives("10.64.1.1"));
  make({"route replace 10.64.1.0/26 via 192.0.2.1 proto bgp"});
  EXPECT_EQ(named(), Texts{}) << "until a neighbour sums it up";
  make({"route del 10.64.1.0/26", "route add local 10.64.1.0/26 dev lo proto bgp table main"});
  const Texts swallowed = named();
  EXPECT_NE(std::ranges::find(swallowed, "local 10.64.1.0/26 dev lo proto bgp"), swallowed.end())
      << ::testing::PrintToString(swallowed) << ": a daemon makes none of that kind";
  EXPECT_EQ(ip("route del local 10.64.1.0/26 table main"), 0);
  make({"route add 10.64.1.0/26 via 10.64.0.1 proto zebra table 77", "rule add priority 60 lookup 77"});
  EXPECT_EQ(named(), (Texts{"rule 60: from all lookup 77 (10.64.1.0/26 via 10.64.0.1 dev rail0 proto zebra "
                            "table 77)"}));
}

// Rules that iproute2 cannot write before 6.13 and 6.15. Checks whether this kernel supports them.
class DivertedByNewRules : public Diverted {
 protected:
  bool blackhole(const std::function<void(netlink::Request&)>& select) {
    bool known = false;
    const Result<Done> entered = in_namespace(path(), [&] {
      auto socket = netlink::Socket::open(NETLINK_ROUTE);
      ASSERT_TRUE(socket);
      netlink::Request request(RTM_NEWRULE, NLM_F_ACK | NLM_F_CREATE);
      fib_rule_hdr header{};
      header.family = AF_INET;
      header.action = FR_ACT_BLACKHOLE;
      request.header(header).put_number(FRA_PRIORITY, std::uint32_t{50});
      select(request);
      const auto answer = socket->change(request, within(std::chrono::seconds(5)));
      known = answer && answer->code == 0;
    });
    EXPECT_TRUE(entered);
    return known;
  }
};

TEST_F(DivertedByNewRules, ReportsARuleByDscp) {
  const bool known = blackhole([](netlink::Request& rule) {
    rule.put_number(25, std::uint8_t{26});  // FRA_DSCP
  });
  if (!known) LOCKSTEP_NOT_TESTED("this kernel knows no rules by DSCP (Linux 6.13)");
  EXPECT_EQ(transit(), (Texts{"rule 50: from all dscp 26 blackhole"}));
  EXPECT_TRUE(arrives_again("10.64.1.1"));
  EXPECT_FALSE(arrives("-Q 0x68 10.64.1.1"));
}

// 4791, the port of RoCE, is one of the ports whose upper byte is 0x12.
TEST_F(DivertedByNewRules, ReportsARuleByMaskedPorts) {
  const bool known = blackhole([](netlink::Request& rule) {
    rule.put_number(FRA_IP_PROTO, std::uint8_t{IPPROTO_UDP});
    rule.put_number(FRA_DPORT_RANGE, fib_rule_port_range{0x1200, 0x1200});
    rule.put_number(29, std::uint16_t{0xFF00});  // FRA_DPORT_MASK
  });
  if (!known) LOCKSTEP_NOT_TESTED("this kernel knows no rules by masked ports (Linux 6.15)");
  EXPECT_EQ(transit(), (Texts{"rule 50: from all ipproto udp dport 4608/65280 blackhole"}));
  EXPECT_TRUE(arrives_again("10.64.1.1"));
}

TEST_F(Diverted, ReportsARuleWithTheRouteOfTheTableThatItLooksUp) {
  ASSERT_EQ(ip("route add 10.64.1.0/24 via 10.64.0.1 table 77"), 0);
  EXPECT_EQ(transit(), Texts{}) << "nothing leads to the table";
  ASSERT_EQ(ip("rule add priority 60 lookup 77"), 0);
  EXPECT_EQ(transit(),
            (Texts{"rule 60: from all lookup 77 (10.64.1.0/24 via 10.64.0.1 dev rail0 proto boot table "
                   "77)"}));
  EXPECT_FALSE(arrives("10.64.1.1"));
}

TEST_F(Diverted, ReportsARuleForOnePortNumberThoughOtherTrafficArrives) {
  ASSERT_EQ(ip("rule add priority 60 ipproto udp dport 4791 blackhole"), 0);
  EXPECT_EQ(transit(), (Texts{"rule 60: from all ipproto udp dport 4791 blackhole"}));
  EXPECT_TRUE(arrives_again("10.64.1.1"));
}

TEST_F(Diverted, ReportsAPermanentNeighbour) {
  ASSERT_EQ(ip("neigh replace 10.64.0.1 lladdr 02:00:00:00:00:99 dev rail0 nud permanent"), 0);
  EXPECT_EQ(culprits("diverted[10.64.0.0/16]/neighbors"), (Texts{"10.64.0.1 at 02:00:00:00:00:99 on rail0"}));
  EXPECT_EQ(transit(), Texts{});
  ASSERT_EQ(ip("neigh replace 10.64.0.1 lladdr 02:00:00:00:00:99 dev rail0 nud noarp"), 0);
  EXPECT_EQ(culprits("diverted[10.64.0.0/16]/neighbors"), (Texts{"10.64.0.1 at 02:00:00:00:00:99 on rail0"}));
  ASSERT_EQ(ip("neigh replace 10.64.0.1 lladdr 01:00:5e:00:00:99 dev rail0 nud noarp"), 0);
  EXPECT_EQ(culprits("diverted[10.64.0.0/16]/neighbors"), Texts{}) << "a group's";
  ASSERT_EQ(ip("neigh del 10.64.0.1 dev rail0"), 0);
  EXPECT_EQ(culprits("diverted[10.64.0.0/16]/neighbors"), Texts{});
}

TEST_F(Diverted, ReportsAPortThatIsEnslavedToAnotherDevice) {
  make({"link add br0 type bridge", "link set rail0 master br0"});
  EXPECT_EQ(transit(), (Texts{"rail0 is under br0 (bridge)"}));
  EXPECT_FALSE(arrives("10.64.1.1"));
  make({"link set rail0 nomaster"});
  EXPECT_EQ(transit(), Texts{});
  EXPECT_TRUE(arrives_again("10.64.1.1"));
}

TEST_F(Diverted, ReportsAPortWithoutArp) {
  ASSERT_EQ(ip("link set rail0 arp off"), 0);
  const Texts named = culprits("diverted[10.64.0.0/16]/neighbors");
  EXPECT_NE(std::ranges::find(named, "rail0 asks for no neighbors (arp off)"), named.end());
  EXPECT_FALSE(arrives("10.64.1.1"));
  ASSERT_EQ(ip("link set rail0 arp on"), 0);
  EXPECT_EQ(culprits("diverted[10.64.0.0/16]/neighbors"), Texts{});
  EXPECT_TRUE(arrives_again("10.64.1.1"));
}

// Specs set the MTU of ports only: a different MTU of a route makes packets smaller or loses them.
TEST_F(Diverted, ReportsARouteWithItsOwnMtu) {
  ASSERT_EQ(ip("route replace 10.64.1.0/25 via 192.0.2.1 proto bgp mtu lock 1000"), 0);
  EXPECT_EQ(transit(), (Texts{"10.64.1.0/25 via 192.0.2.1 dev up0 proto bgp mtu lock 1000"}));
  EXPECT_NE(shell("ip netns exec " + name_ + " ping -c 1 -W 1 -M do -s 1400 10.64.1.1"), 0);
  ASSERT_EQ(ip("route replace 10.64.1.0/25 via 192.0.2.1 proto bgp mtu 1200"), 0);
  EXPECT_EQ(transit(), (Texts{"10.64.1.0/25 via 192.0.2.1 dev up0 proto bgp mtu 1200"}));
  ASSERT_EQ(ip("route replace 10.64.1.0/25 via 192.0.2.1 proto bgp"), 0);
  EXPECT_EQ(transit(), Texts{});
}

// What other software configures on such machines without any effect on the traffic of the pool.
TEST_F(Diverted, IgnoresWhatOtherSoftwareLegitimatelyConfigures) {
  make(kExtra);
  make({
      // Cilium: the local rule moved behind its own, and rules by mark.
      "rule add priority 100 lookup local",
      "rule del priority 0 lookup local",
      "rule add priority 9 fwmark 0x200/0xf00 lookup 2004",
      "route add local default dev lo table 2004",
      // WireGuard (wg-quick): all traffic without its mark, unless the main table has a more specific route.
      "rule add priority 32764 lookup main suppress_prefixlength 0",
      "rule add priority 32765 not fwmark 51820 lookup 51820",
      "route add default dev extra0 table 51820",
      // Calico: a block of pods; MetalLB, IPVS: service addresses; Docker: its bridge's network.
      "route add blackhole 192.168.23.0/26 proto 80",
      "address add 203.0.113.7/32 dev extra0",
      "address add 172.17.0.1/16 dev extra0",
      // A route to the management network, and a table that no rule looks up.
      "route add default via 172.17.0.2",
      "route add blackhole 10.64.1.0/26 table 500",
      // A route with a worse metric than that of BGP, and a static route outside the pools.
      "route add 10.64.1.0/25 via 172.17.0.2 metric 500",
      "route add 10.65.0.0/16 via 172.17.0.2 proto static",
      // Rules that no packet of ours can match.
      "rule add priority 70 iif extra0 blackhole",
      "rule add priority 71 from 172.17.0.0/16 blackhole",
      "rule add priority 72 to 10.65.0.0/16 blackhole",
      "rule add priority 73 uidrange 1000-1000 blackhole",
      // A protocol that the kernel does not support in lookups, and a rule that skips none of our rules.
      "rule add priority 74 ipproto gre blackhole",
      "rule add priority 200 goto 32766",
      // Neighbours that overlays set on their own ports, and a neighbour that ARP found.
      "neigh replace 10.64.0.9 lladdr 02:00:00:00:00:01 dev extra0 nud permanent",
  });
  EXPECT_TRUE(arrives_again("10.64.1.1"));
  EXPECT_EQ(transit(), Texts{});
  EXPECT_EQ(culprits("diverted[10.64.0.0/16]/neighbors"), Texts{});
}

// A strict reverse path filter refuses sources that no packet has; a table that our traffic does not use (as
// that of a management VRF) rejects unknown destinations.
TEST_F(Diverted, LookupsWithMadeUpSourcesRaiseNoFalseAlarm) {
  for (const char* setting : {"all", "rail0", "up0"})
    ASSERT_EQ(in("sysctl -w net.ipv4.conf." + std::string(setting) + ".rp_filter=1"), 0);
  make({"route add unreachable default metric 8192 table 99",
        "rule add priority 60 from 10.64.9.0/24 iif rail0 lookup main",
        "rule add priority 61 from 10.64.0.0/31 lookup main"});
  EXPECT_EQ(transit(), Texts{});
  EXPECT_TRUE(arrives_again("10.64.1.1"));
}

TEST_F(Diverted, ASwitchThatHasLearnedNoRoutesYetIsNotDiverted) {
  make({"route del 10.64.1.0/25", "route add default via 10.64.0.1"});
  EXPECT_EQ(transit(), Texts{});
  ASSERT_EQ(in("sysctl -w net.ipv4.conf.rail0.forwarding=0"), 0);
  EXPECT_EQ(transit(), Texts{}) << "that is the setting's matter";
}

TEST_F(Diverted, ReportsTheSameForIpv6) {
  ASSERT_EQ(in("sysctl -w net.ipv6.conf.all.forwarding=1"), 0);
  const auto seen = [&] { return culprits("diverted[fd64::/32]/transit"); };
  make({"address add fd64:0:0::/127 dev rail0 nodad", "address add 2001:db8::/127 dev up0 nodad",
        "-6 route add fd64:0:1::/64 via 2001:db8::1 dev up0 proto bgp"});
  EXPECT_EQ(seen(), Texts{});
  ASSERT_EQ(ip("-6 route add blackhole fd64:0:1::/80 proto static"), 0);
  EXPECT_EQ(seen(), (Texts{"blackhole fd64:0:1::/80 dev lo proto static metric 1024"}));
  const Path entry = *Path::parse("diverted[fd64::/32]/transit");
  ASSERT_TRUE(attached_.remedy->cure({Change{entry, Value::set(seen()), Value::set({}), 0}},
                                     within(std::chrono::seconds(5))));
  EXPECT_EQ(seen(), Texts{});
  ASSERT_EQ(ip("-6 rule add priority 50 to fd64:0:1::/64 prohibit"), 0);
  EXPECT_EQ(seen(), (Texts{"rule 50: from all to fd64:0:1::/64 prohibit"}));
  make({"-6 rule del priority 50", "-6 rule del priority 32766"});
  EXPECT_EQ(seen(), (Texts{"rule 32766: from all lookup main is missing"}));
}

TEST_F(Diverted, TheRemedyRemovesOnlyTheReportedRoutes) {
  ASSERT_EQ(ip("route add 10.64.1.1/32 via 10.64.0.1"), 0);
  const Change effect{*Path::parse("diverted[10.64.0.0/16]/transit"), Value::set(transit()), Value::set({}),
                      0};
  make({"route append 10.64.1.1/32 dev rail0", "route add blackhole 10.64.1.64/26 proto static"});
  const auto cured = attached_.remedy->cure({effect}, within(std::chrono::seconds(5)));
  ASSERT_TRUE(cured) << cured.error().text();
  EXPECT_EQ(transit(), (Texts{"10.64.1.1/32 dev rail0 proto boot", "blackhole 10.64.1.64/26 proto static"}));
}

TEST_F(Diverted, TheRemedyRemovesOnlyStaticRoutesInsideAPool) {
  make({"route add blackhole 10.64.1.64/26 proto static", "route add 10.64.1.1/32 via 10.64.0.1",
        "route add 10.65.0.0/16 via 10.64.0.1 proto static", "route add blackhole 10.64.1.0/26 table 500",
        "rule add priority 50 ipproto udp dport 4791 blackhole"});
  const Path entry = *Path::parse("diverted[10.64.0.0/16]/transit");
  const Change effect{entry, Value::set(transit()), Value::set({}), 0};
  const auto offer = attached_.remedy->offer(effect);
  ASSERT_TRUE(offer);
  EXPECT_EQ(offer->name, "remove-static-routes");
  EXPECT_EQ(offer->what_it_does,
            "removes 10.64.1.1/32 via 10.64.0.1 dev rail0 proto boot, blackhole 10.64.1.64/26 proto static");
  const auto cured = attached_.remedy->cure({effect}, within(std::chrono::seconds(5)));
  ASSERT_TRUE(cured) << cured.error().text();
  EXPECT_EQ(transit(), (Texts{"rule 50: from all ipproto udp dport 4791 blackhole"}));
  const std::string routes = said("ip", "route show table all");
  EXPECT_NE(routes.find("10.65.0.0/16 via 10.64.0.1"), std::string::npos) << routes;
  EXPECT_NE(routes.find("blackhole 10.64.1.0/26 table 500"), std::string::npos) << routes;
  EXPECT_NE(routes.find("10.64.1.0/25 via 192.0.2.1"), std::string::npos) << routes;
  const Change of_rule{entry, Value::set(transit()), Value::set({}), 0};
  EXPECT_FALSE(attached_.remedy->offer(of_rule)) << "a rule requires manual action";
}

TEST_F(Diverted, TheRemedyKeepsAllowedRoutes) {
  make({"route add blackhole 10.64.1.64/26 proto static", "route add 10.64.1.1/32 via 10.64.0.1"});
  const Value allowed = Value::set({"blackhole 10.64.1.64/26 proto static"});
  const Change effect{*Path::parse("diverted[10.64.0.0/16]/transit"), Value::set(transit()), allowed, 0};
  const auto offer = attached_.remedy->offer(effect);
  ASSERT_TRUE(offer);
  EXPECT_EQ(offer->what_it_does, "removes 10.64.1.1/32 via 10.64.0.1 dev rail0 proto boot");
  ASSERT_TRUE(attached_.remedy->cure({effect}, within(std::chrono::seconds(5))));
  EXPECT_EQ(Value::set(transit()), allowed);
}

// A host: traffic from the address of a rail must leave by that rail.
class DivertedHost : public Diverted {
 protected:
  void SetUp() override {
    Diverted::SetUp();
    if (name_.empty()) return;
    // Both ends of the rails of this host have addresses of the pool; the rails use tables 1000 and 1001.
    applies({{"interface[up0]/address[10.64.2.1/31]", Value::present()},
             {"route[1000:0.0.0.0/0]", Value::set({"via 10.64.0.1 dev rail0"})},
             {"route[1001:0.0.0.0/0]", Value::set({"via 10.64.2.0 dev up0"})},
             {"rule[1000]", Value::text("from 10.64.0.0/32 lookup 1000")},
             {"rule[1001]", Value::text("from 10.64.2.1/32 lookup 1001")}});
    ASSERT_EQ(ip("route del 10.64.1.0/25"), 0);
    applies({{"route[main:10.64.0.0/16]", Value::set({"via 10.64.0.1 dev rail0", "via 10.64.2.0 dev up0"})}});
  }
  Texts sent() { return culprits("diverted[10.64.0.0/16]/sent"); }
  Texts seen() override { return sent(); }
  // The answer of the kernel through ip(8).
  std::string leaves_by(const std::string& from) const {
    return said("ip", "route get 10.64.1.1 from " + from);
  }
};

TEST_F(DivertedHost, TrafficFromARailsAddressLeavesByItsRail) {
  EXPECT_EQ(sent(), Texts{});
  EXPECT_NE(leaves_by("10.64.2.1").find("dev up0"), std::string::npos) << leaves_by("10.64.2.1");
}

TEST_F(DivertedHost, ReportsAForeignRuleAheadOfOurs) {
  ASSERT_EQ(ip("rule add priority 50 from 10.64.2.1 lookup 1000"), 0);
  EXPECT_NE(leaves_by("10.64.2.1").find("dev rail0"), std::string::npos) << leaves_by("10.64.2.1");
  EXPECT_EQ(sent(), (Texts{"rule 50: from 10.64.2.1/32 lookup 1000"}));
}

TEST_F(DivertedHost, ReportsAForeignRouteInARailsTable) {
  are_named(
      {{"route add 10.64.1.0/24 via 10.64.0.1 dev rail0 table 1001", "route del 10.64.1.0/24 table 1001", "",
        "10.64.1.0/24 via 10.64.0.1 dev rail0 proto boot table 1001"},
       {"route add blackhole 10.64.1.0/24 table 1001", "route del 10.64.1.0/24 table 1001", "",
        "blackhole 10.64.1.0/24 proto boot table 1001"}});
}

TEST_F(DivertedHost, ReportsARouteWithTheSameHopsAndOtherWeights) {
  const std::string by = "route add 10.64.1.0/24 nexthop via 10.64.0.1 dev rail0 weight ";
  ASSERT_EQ(ip(by + "1 nexthop via 10.64.2.0 dev up0 weight 1"), 0);
  EXPECT_EQ(sent(), Texts{});
  ASSERT_EQ(ip("route del 10.64.1.0/24"), 0);
  ASSERT_EQ(ip(by + "200 nexthop via 10.64.2.0 dev up0 weight 1"), 0);
  EXPECT_EQ(sent(),
            (Texts{"10.64.1.0/24 via 10.64.0.1 dev rail0 weight 200 via 10.64.2.0 dev up0 proto boot"}));
}

TEST_F(DivertedHost, ChecksTrafficFromAnUnspecifiedAddressToo) {
  ASSERT_EQ(ip("route add blackhole 10.64.1.0/26"), 0);
  EXPECT_NE(said("ip", "route get 10.64.1.1").find("Invalid argument"), std::string::npos);
  EXPECT_EQ(sent(), (Texts{"blackhole 10.64.1.0/26 proto boot"}));
}

TEST_F(DivertedHost, ReportsWhatBypassesTheRailsRules) {
  are_named({
      rule("lookup main", "", "from all lookup main"),
      rule("to 10.64.0.0/16 blackhole", "", "from all to 10.64.0.0/16 blackhole"),
      rule("goto 32766", "", "from all goto 32766"),
      {"rule add priority 0 lookup main", "rule del priority 0 lookup main", "",
       "rule 0: from all lookup main"},
      rule("uidrange 0-4294967294 blackhole", "", "from all uidrange 0-4294967294 blackhole"),
      rule("not from 10.64.0.0 blackhole", "", "not from 10.64.0.0/32 blackhole"),
      {"route add throw 10.64.1.0/25 table 1001", "route del throw 10.64.1.0/25 table 1001", "",
       "throw 10.64.1.0/25 proto boot table 1001"},
      {"rule del priority 0", "rule add priority 0 lookup local", "",
       "rule 0: from all lookup local is missing"},
  });
}

TEST_F(DivertedHost, IgnoresWhatLeadsTheSameWay) {
  make({"route add default via 10.64.0.1 dev rail0 table 101",
        "rule add priority 500 from 10.64.0.0 lookup 101",
        // The local rule of Cilium; rules for protocols and users other than ours.
        "rule add priority 100 lookup local", "rule del priority 0 lookup local",
        "rule add priority 60 ipproto esp blackhole", "rule add priority 61 uidrange 1000-2000 blackhole"});
  EXPECT_EQ(sent(), Texts{});
}

TEST_F(Diverted, ALargeLeafTakesFewLookups) {
  ASSERT_TRUE(make_large_leaf(name_));
  const std::vector<Path> named = large_leaf_names();
  const auto culprits_now = [&] { return observed(named).have.value(named.front()); };
  EXPECT_EQ(culprits_now(), Value::set({}));
  ASSERT_EQ(ip("route add blackhole 10.65.200.32/28"), 0);
  EXPECT_EQ(culprits_now(), Value::set({"blackhole 10.65.200.32/28 proto boot"}));
}

}  // namespace
}  // namespace lockstep
