// The network configuration of a port, saved and restored in a namespace.
#include "drivers/linux/devlink/port_network.hpp"

#include <gtest/gtest.h>

#include "drivers/linux/devlink/attempts.hpp"
#include "drivers/posix/in_namespace.hpp"
#include "tests/unit/linux/lab.hpp"

namespace lockstep {
namespace {

using devlink_map::Attempts;
using devlink_map::PortNetwork;

TEST(Attempts, ReportTheFirstErrorAndTheOthersOnceEach) {
  Attempts all;
  all.add(Result<Done>(Done{}));
  EXPECT_TRUE(all.outcome());
  all.add(Result<Done>(Error{ErrorKind::refused, "no memory"}));
  all.add(Result<bool>(true));
  all.add(Result<bool>(Error{ErrorKind::transient, "too late"}));
  all.add(Result<Done>(Error{ErrorKind::refused, "no memory"}));
  const auto outcome = all.outcome();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::refused);
  EXPECT_EQ(outcome.error().text(), "no memory; and too late");
}

class PortNetworkLab : public Lab {
 protected:
  void SetUp() override {
    Lab::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    ASSERT_EQ(ip("link set rail0 mtu 1400 up"), 0);
    ASSERT_EQ(ip("address add 192.0.2.1/24 dev rail0"), 0);
  }
  PortNetwork kept() {
    std::optional<Result<PortNetwork>> out;
    EXPECT_TRUE(in_namespace(path(), [&] { out = PortNetwork::of({"rail0"}, within(kSoon)); }));
    EXPECT_TRUE(out && *out);
    return out && *out ? **out : PortNetwork();
  }
  Result<Done> put_back(const PortNetwork& network) {
    Result<Done> out = Done{};
    EXPECT_TRUE(in_namespace(path(), [&] { out = network.put_back(within(kSoon)); }));
    return out;
  }
  // Recreates the port, as a reload does.
  void make_anew() {
    ASSERT_EQ(ip("link del rail0"), 0);
    ASSERT_EQ(ip("link add name rail0 type veth peer name swp1 netns " + name_ + "p"), 0);
    ASSERT_EQ(shell("ip -n " + name_ + "p link set swp1 up"), 0);
  }
  bool has(const std::string& words) {
    return said("ip", "address show dev rail0").find(words) != std::string::npos;
  }

  static constexpr std::chrono::seconds kSoon{5};
};

TEST_F(PortNetworkLab, DoesNotRestoreAnAddressWithALifetime) {
  ASSERT_EQ(ip("address add 192.0.2.9/24 dev rail0 valid_lft 600 preferred_lft 300"), 0);
  const PortNetwork before = kept();
  make_anew();
  const auto back = put_back(before);
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_TRUE(has("inet 192.0.2.1/24"));
  EXPECT_FALSE(has("192.0.2.9"));
}

TEST_F(PortNetworkLab, ReportsWhatTheKernelRefusesAndRestoresTheRest) {
  ASSERT_EQ(ip("address add 2001:db8::1/64 dev rail0 nodad"), 0);
  ASSERT_EQ(ip("route add 198.51.100.0/24 via 192.0.2.2 proto 76 table 1001"), 0);
  const PortNetwork before = kept();
  make_anew();
  ASSERT_EQ(shell("ip netns exec " + name_ + " sysctl -w net.ipv6.conf.rail0.disable_ipv6=1"), 0);
  const auto back = put_back(before);
  ASSERT_FALSE(back);
  EXPECT_NE(back.error().text().find("2001:db8::1"), std::string::npos) << back.error().text();
  EXPECT_TRUE(has("mtu 1400"));
  EXPECT_TRUE(has("inet 192.0.2.1/24"));
  EXPECT_TRUE(has(",UP")) << said("ip", "address show dev rail0");
  EXPECT_NE(said("ip", "route show table 1001").find("198.51.100.0/24 via 192.0.2.2"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
