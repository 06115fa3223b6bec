// The ports through which the kernel sends, compared with `ip route get` in the same namespace.
#include "drivers/linux/first_hops.hpp"

#include "drivers/posix/in_namespace.hpp"
#include "tests/unit/linux/lab.hpp"

namespace lockstep {
namespace {

using Ports = std::set<std::string>;

class FirstHopsOf : public Lab {
 protected:
  void SetUp() override {
    Lab::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    bring_up();
    ASSERT_EQ(ip("link add rail1 type veth peer name other"), 0);
    ASSERT_EQ(ip("link set rail1 up") + ip("link set other up"), 0);
    ASSERT_EQ(ip("address add 10.64.0.1/31 dev rail0") + ip("address add 10.64.1.1/31 dev rail1"), 0);
    ASSERT_EQ(ip("-6 address add 2001:db8::1/127 dev rail0 nodad"), 0);
  }
  std::vector<Ports> found(const std::vector<std::string>& addresses) const {
    std::vector<IpAddress> asked;
    for (const std::string& one : addresses) asked.push_back(*IpAddress::parse(one));
    Result<std::vector<Ports>> out = std::vector<Ports>{};
    EXPECT_TRUE(in_namespace(path(), [&] { out = first_hops(asked, within(std::chrono::seconds(5))); }));
    EXPECT_TRUE(out) << (out ? "" : out.error().text());
    return out ? *out : std::vector<Ports>(addresses.size());
  }
  // The port that ip(8) reports for one flow; empty if none.
  std::string by_ip(const std::string& address) const {
    const std::string answer = said("ip", "route get " + address);
    const auto at = answer.find(" dev ");
    if (at == std::string::npos || answer.starts_with("local")) return "";
    return answer.substr(at + 5, answer.find_first_of(" \n", at + 5) - at - 5);
  }
};

TEST_F(FirstHopsOf, AnAddressMatchIpRouteGet) {
  ASSERT_EQ(ip("route add 10.65.0.0/16 via 10.64.0.0"), 0);
  ASSERT_EQ(ip("route add 10.66.0.0/16 via 10.64.1.0"), 0);
  ASSERT_EQ(ip("route add blackhole 10.67.0.0/16"), 0);
  ASSERT_EQ(ip("route add 10.65.9.0/24 dev rail1 table 100") + ip("rule add to 10.65.9.0/24 lookup 100"), 0);
  ASSERT_EQ(ip("-6 route add 2001:db8:1::/48 via 2001:db8::"), 0);
  const std::vector<std::string> asked{"10.64.0.0", "10.65.1.2", "10.66.1.2", "10.65.9.1",    "2001:db8:1::9",
                                       "10.67.0.1", "10.99.0.1", "10.64.0.1", "2001:db8:9::1"};
  const std::vector<Ports> ports = found(asked);
  ASSERT_EQ(ports.size(), asked.size());
  std::size_t with_port = 0;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const std::string port = by_ip(asked[i]);
    EXPECT_EQ(ports[i], port.empty() ? Ports{} : Ports{port}) << asked[i];
    with_port += port.empty() ? 0 : 1;
  }
  EXPECT_EQ(with_port, 5U);
}

// A connection may take any of them: ip(8) reports one at a time.
TEST_F(FirstHopsOf, ARouteWithSeveralHopsAreAllOfThem) {
  ASSERT_EQ(ip("route add 10.65.0.0/16 nexthop via 10.64.0.0 nexthop via 10.64.1.0"), 0);
  std::vector<std::string> asked{"10.65.1.2"};
  if (ip("nexthop add id 1 via 10.64.0.0 dev rail0") == 0) {
    ASSERT_EQ(ip("nexthop add id 2 via 10.64.1.0 dev rail1") + ip("nexthop add id 3 group 1/2"), 0);
    ASSERT_EQ(ip("route add 10.66.0.0/16 nhid 3"), 0);
    asked.push_back("10.66.1.2");
  }
  for (const Ports& ports : found(asked)) EXPECT_EQ(ports, (Ports{"rail0", "rail1"}));
  Ports by_flow;
  for (int port = 1; port <= 64; ++port) {
    const std::string answer = said("ip", "route get 10.66.1.2 ipproto tcp sport " + std::to_string(port));
    for (const char* const one : {"rail0", "rail1"})
      if (answer.find(std::string(" dev ") + one + " ") != std::string::npos) by_flow.insert(one);
  }
  for (const std::string& one : by_flow) EXPECT_TRUE(found({asked.back()}).front().contains(one));
}

// Stands for a VLAN (tested with a macvlan, which more kernels have).
TEST_F(FirstHopsOf, AStackedPortIncludeTheLowerPort) {
  ASSERT_EQ(ip("link add link rail0 name upper type macvlan"), 0);
  ASSERT_EQ(ip("link set upper up") + ip("address add 10.70.0.1/24 dev upper"), 0);
  const std::vector<Ports> ports = found({"10.70.0.2", "10.64.0.0"});
  EXPECT_EQ(ports[0], (Ports{"rail0", "upper"}));
  EXPECT_EQ(ports[1], Ports{"rail0"}) << "the other end of a veth is not below it";
}

TEST_F(FirstHopsOf, APortWithMembersIncludeTheMembers) {
  if (ip("link add br0 type bridge") != 0) LOCKSTEP_NOT_TESTED("this kernel has no bridges (CONFIG_BRIDGE)");
  ASSERT_EQ(ip("link set br0 up") + ip("link set rail1 master br0"), 0);
  ASSERT_EQ(ip("address add 10.71.0.1/24 dev br0"), 0);
  EXPECT_EQ(found({"10.71.0.2"}).front(), (Ports{"br0", "rail1"}));
}

}  // namespace
}  // namespace lockstep
