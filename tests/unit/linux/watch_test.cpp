#include "drivers/linux/watch.hpp"

#include <poll.h>

#include "tests/unit/linux/lab.hpp"

namespace lockstep {
namespace {

class Watch : public Lab {
 protected:
  void SetUp() override {
    Lab::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    // Late events of the kernel must precede the watch: waits for the carrier, and disables IPv6, whose
    // duplicate address detection takes up to 2 s (RFC 4862, 5.4.2).
    ASSERT_EQ(shell("ip netns exec " + name_ + " sysctl -w net.ipv6.conf.all.disable_ipv6=1"), 0);
    bring_up();
    if (HasFatalFailure()) return;
    auto opened = attached_.watch();
    ASSERT_TRUE(opened);
    watcher_ = *std::move(opened);
  }
  bool wakes(int milliseconds) const {
    pollfd wait{watcher_->descriptor(), POLLIN, 0};
    return ::poll(&wait, 1, milliseconds) == 1;
  }
  // Drains all pending events: the kernel reports a change before the call that made it returns.
  void settle() const {
    while (wakes(0)) ASSERT_TRUE(watcher_->drain());
  }

  std::shared_ptr<Watcher> watcher_;
};

TEST_F(Watch, WakesForEachKindOfManualChange) {
  constexpr int kLimit = 2000;
  for (const std::string line :
       {"link set rail0 mtu 1400", "address add 10.64.0.1/31 dev rail0", "route add 192.0.2.0/24 dev rail0",
        "rule add from 192.0.2.1 lookup 100", "nexthop add id 1 dev rail0",
        "neighbor add 10.64.0.0 lladdr 02:00:00:00:00:01 dev rail0", "neighbor delete 10.64.0.0 dev rail0"}) {
    EXPECT_FALSE(wakes(0)) << "before: " << line;
    ASSERT_EQ(ip(line), 0) << line;
    EXPECT_TRUE(wakes(kLimit)) << line;
    const auto drained = watcher_->drain();
    ASSERT_TRUE(drained);
    EXPECT_EQ(drained->devices, std::vector<std::string>{"gpu1"}) << line;
    EXPECT_FALSE(drained->all) << line;
    settle();
  }
  ASSERT_EQ(tc("qdisc add dev rail0 root tbf rate 100mbit burst 64k limit 512k"), 0);
  EXPECT_TRUE(wakes(kLimit));
  settle();
  ASSERT_EQ(shell("ip netns exec " + name_ + " sysctl -w net.ipv4.conf.rail0.rp_filter=1"), 0);
  EXPECT_TRUE(wakes(kLimit));
  settle();
  ASSERT_EQ(shell("ip netns exec " + name_ + " ethtool -K rail0 gro on"), 0);
  EXPECT_TRUE(wakes(kLimit)) << "an offload";
  settle();
  ASSERT_EQ(ip("link set rail0 down"), 0);
  EXPECT_TRUE(wakes(kLimit));
}

TEST_F(Watch, IgnoresNeighbourUpdatesByArp) {
  ASSERT_EQ(ip("address add 192.0.2.1/24 dev rail0"), 0);
  ASSERT_EQ(shell("ip -n " + name_ + "p address add 192.0.2.2/24 dev swp1"), 0);
  settle();
  for (const std::string to : {"192.0.2.2", "192.0.2.3"})
    ASSERT_EQ(shell("ip netns exec " + name_ + " bash -c 'echo > /dev/udp/" + to + "/9'"), 0);
  const auto neighbours = [this] { return said("ip", "neighbor show dev rail0"); };
  for (int i = 0; i < 500 && neighbours().find("REACHABLE") == std::string::npos; ++i) ::poll(nullptr, 0, 10);
  EXPECT_NE(neighbours().find("192.0.2.2 lladdr"), std::string::npos) << neighbours();
  EXPECT_NE(neighbours().find("192.0.2.3"), std::string::npos) << neighbours();
  EXPECT_FALSE(wakes(0));
}

TEST_F(Watch, StaysQuietWhenIdleAndAboutOtherNamespaces) {
  const auto idle = watcher_->drain();
  ASSERT_TRUE(idle);
  EXPECT_FALSE(idle->any());
  ASSERT_EQ(shell("ip -n " + name_ + "p address add 192.0.2.1/32 dev lo"), 0);
  EXPECT_FALSE(wakes(0));
}

// The watcher of the old namespace ends; one that is opened afterwards watches the new namespace.
TEST_F(Watch, EndsWithItsNamespaceEvenIfAnotherTakesItsName) {
  ASSERT_EQ(shell("ip netns del " + name_), 0);
  EXPECT_TRUE(wakes(2000));
  const auto gone = watcher_->drain();
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().kind, ErrorKind::transient);
  EXPECT_FALSE(attached_.watch());

  ASSERT_EQ(shell("ip netns add " + name_), 0);
  auto again = attached_.watch();
  ASSERT_TRUE(again);
  watcher_ = *std::move(again);
  settle();
  // Both in one command, as in a script: the name refers to another namespace when the watcher checks it.
  ASSERT_EQ(shell("ip netns del " + name_ + "; ip netns add " + name_), 0);
  EXPECT_TRUE(wakes(2000));
  EXPECT_FALSE(watcher_->drain());

  again = attached_.watch();
  ASSERT_TRUE(again);
  watcher_ = *std::move(again);
  settle();
  ASSERT_EQ(ip("link set lo up"), 0);
  EXPECT_TRUE(wakes(2000));
  const auto changed = watcher_->drain();
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->devices, std::vector<std::string>{"gpu1"});
}

TEST_F(Watch, IgnoresNamespacesThatOthersCreate) {
  const std::string other = name_ + "x";
  ASSERT_EQ(shell("ip netns add " + other), 0);
  const auto made = watcher_->drain();
  EXPECT_EQ(shell("ip netns del " + other), 0);
  ASSERT_TRUE(made);
  EXPECT_FALSE(made->any());
  EXPECT_TRUE(watcher_->drain());
}

TEST(WatchNamespace, RefusesAPathThatIsNotANamespace) {
  EXPECT_FALSE(watch_namespace("/run/netns/lslinux-no-such", "gpu1"));
  EXPECT_FALSE(watch_namespace("/etc/passwd", "gpu1"));
}

}  // namespace
}  // namespace lockstep
