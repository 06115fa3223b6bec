// A leaf switch on a real kernel between a host and a spine, and the foreign state that is observed there.
#pragma once

#include <algorithm>

#include "tests/unit/linux/lab.hpp"

namespace lockstep {

using Texts = std::vector<std::string>;

// A leaf switch: rail0 leads to host 10.64.0.1, up0 to a spine with 10.64.1.1 behind it.
class Diverted : public Lab {
 protected:
  void SetUp() override {
    Lab::SetUp();
    if (name_.empty()) return;
    ASSERT_EQ(shell("ip netns add " + name_ + "s"), 0);
    ASSERT_EQ(
        shell("ip link add name up0 netns " + name_ + " type veth peer name down0 netns " + name_ + "s"), 0);
    make({"link set rail0 up", "link set up0 up", "address add 10.64.0.0/31 dev rail0",
          "address add 192.0.2.0/31 dev up0", "address add 10.255.0.1/32 dev lo",
          "route add 10.64.1.0/25 via 192.0.2.1 proto bgp"});
    ASSERT_EQ(in("sysctl -w net.ipv4.ip_forward=1"), 0);
    for (const char* line :
         {"p address add 10.64.0.1/31 dev swp1", "p route add default via 10.64.0.0", "s link set lo up",
          "s link set down0 up", "s address add 192.0.2.1/31 dev down0", "s address add 10.64.1.1/32 dev lo",
          "s address add 10.64.1.70/32 dev lo", "s route add default via 192.0.2.0"})
      ASSERT_EQ(shell("ip -n " + name_ + line), 0) << line;
    await_operational(path(), {"rail0", "up0"});
    await_operational(path() + "p", {"swp1"});
    await_operational(path() + "s", {"down0"});
  }
  void TearDown() override {
    if (!name_.empty()) shell("ip netns del " + name_ + "s");
    Lab::TearDown();
  }

  int in(const std::string& line) const { return shell("ip netns exec " + name_ + " " + line); }
  // Pings an address from the host through the leaf.
  bool arrives(const std::string& address) const {
    return shell("ip netns exec " + name_ + "p ping -c 1 -W 1 " + address) == 0;
  }
  // Waits after a fault is removed: ARP retries a neighbour that did not answer only after a while.
  bool arrives_again(const std::string& address) const {
    constexpr int kTries = 5;  // of 1 s each; ARP gives up after 3 s (arp(7), mcast_solicit)
    for (int i = 0; i < kTries; ++i)
      if (arrives(address)) return true;
    return false;
  }
  // `also`: further desired entries, by which the driver distinguishes a switch from a host.
  Texts culprits(const std::string& entry, const std::vector<Path>& also = {}) {
    const auto path = *Path::parse(entry);
    std::vector<Path> wanted{path, *Path::parse("interface[rail0]"), *Path::parse("interface[up0]")};
    wanted.insert(wanted.end(), also.begin(), also.end());
    const Observation seen = observed(wanted);
    const Value value = seen.have.value(path);
    EXPECT_EQ(value.kind(), Value::Kind::list) << (seen.unread.empty() ? "" : seen.unread.front().why.text());
    Texts out;
    if (value.kind() == Value::Kind::list)
      for (const std::string_view one : value.as_list()) out.emplace_back(one);
    return out;
  }
  Texts transit() { return culprits("diverted[10.64.0.0/16]/transit"); }
  virtual Texts seen() { return transit(); }
  // A pair of unmanaged interfaces.
  static constexpr std::initializer_list<const char*> kExtra = {"link add extra0 type veth peer name extra1",
                                                                "link set extra0 up", "link set extra1 up"};
  void make(std::initializer_list<const char*> lines) const {
    for (const char* line : lines) ASSERT_EQ(ip(line), 0) << line;
  }

  // For the leaf as a switch, which forwards the traffic of the pool.
  Texts filters() { return found("transit"); }
  // For the leaf as a host, which has an address of the pool.
  Texts filters_of_host() { return found("sent"); }
  Texts found(const std::string& way) {
    return culprits("diverted[10.64.0.0/16]/filters", {*Path::parse("diverted[10.64.0.0/16]/" + way)});
  }

  struct Case {
    std::string make;
    std::string undo;
    std::string to;  // the address that becomes unreachable; empty: not tried
    std::string culprit;
  };
  static Case rule(const std::string& what, const std::string& to, const std::string& culprit) {
    return {"rule add priority 50 " + what, "rule del priority 50", to, "rule 50: " + culprit};
  }
  void are_named(std::initializer_list<Case> cases) {
    make(kExtra);
    for (const Case& one : cases) {
      SCOPED_TRACE(one.make);
      ASSERT_EQ(ip(one.make), 0);
      const Texts named = seen();
      EXPECT_NE(std::ranges::find(named, one.culprit), named.end()) << ::testing::PrintToString(named);
      EXPECT_FALSE(!one.to.empty() && arrives(one.to));
      ASSERT_EQ(ip(one.undo), 0);
      EXPECT_EQ(seen(), Texts{});
      EXPECT_TRUE(one.to.empty() || arrives_again("10.64.1.1"));
    }
  }
};

}  // namespace lockstep
