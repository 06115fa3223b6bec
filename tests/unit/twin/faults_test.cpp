#include "reconciler/twin/faults.hpp"

#include <gtest/gtest.h>
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <csignal>
#include <fstream>

#include "drivers/frr/state.hpp"
#include "drivers/linux/ethtool/features.hpp"
#include "drivers/linux/session.hpp"
#include "drivers/linux/sysctl.hpp"
#include "drivers/posix/in_namespace.hpp"
#include "tests/unit/twin/live.hpp"

namespace lockstep {
namespace {

Call soon() { return Call{std::chrono::steady_clock::now() + std::chrono::seconds(5), {}, -1}; }

// One twin for all faults: two leaves, two spines, a host on each leaf. Each test breaks something else.
class Faults : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (::geteuid() != 0) return;
    cluster_ = test_cluster("x");
    TwinLayout layout = rail_pod(cluster_, 2, 2, 2);
    const auto handle = up(layout, without_lldp(), {}, {});
    ASSERT_TRUE(handle) << handle.error().text();
  }
  static void TearDownTestSuite() {
    if (cluster_.empty()) return;
    const auto gone = down(cluster_);
    EXPECT_TRUE(gone);
  }
  void SetUp() override { NEEDS_ROOT; }

  static Result<FaultLines> cause(const std::string& fault, const std::vector<std::string>& words) {
    return break_twin(cluster_, fault, words, soon());
  }
  static void expect_caused(const std::string& fault, const std::vector<std::string>& words) {
    const auto lines = cause(fault, words);
    ASSERT_TRUE(lines) << lines.error().text();
    EXPECT_FALSE(lines->empty());
    for (const std::string& line : *lines) std::printf("  %s\n", line.c_str());
  }

  static void inside(const std::string& device, const std::function<void(Session&)>& body) {
    EXPECT_TRUE(in_namespace(places(cluster_, device).netns_path, [&] {
      auto session = Session::open(soon());
      ASSERT_TRUE(session);
      body(*session);
    }));
  }
  static NetworkState network(const std::string& device) {
    NetworkState out;
    EXPECT_TRUE(in_namespace(places(cluster_, device).netns_path, [&] {
      auto socket = netlink::Socket::open(NETLINK_ROUTE);
      ASSERT_TRUE(socket);
      auto read = read_network(*socket, Wanted{}, soon());
      ASSERT_TRUE(read);
      out = *read;
    }));
    return out;
  }
  static Link link(const std::string& device, const std::string& port) {
    const NetworkState state = network(device);
    const Link* found = state.link(port);
    return found != nullptr ? *found : Link{};
  }
  static std::vector<std::string> addresses(const std::string& device, const std::string& port) {
    const NetworkState state = network(device);
    std::vector<std::string> out;
    for (const InterfaceAddress& one : state.addresses)
      if (const Link* on = state.link(one.index); on != nullptr && on->name == port && one.scope == 0)
        out.push_back(one.prefix.text());
    return out;
  }
  static std::string sysctl(const std::string& device, const std::string& name) {
    std::string out;
    inside(device, [&](Session&) { out = read_sysctl(name) ? *read_sysctl(name) : "unread"; });
    return out;
  }
  static void give_address(const std::string& device, const std::string& port, const char* prefix) {
    inside(device, [&](Session& session) {
      EXPECT_TRUE(session.set_admin(port, true));
      EXPECT_TRUE(session.add_address(port, *parse_prefix(prefix)));
    });
  }

  static std::string cluster_;
};
std::string Faults::cluster_;

TEST(FaultTable, EveryFaultIsListedOnceInOrderAndExplained) {
  std::string_view last;
  for (const Fault& one : faults()) {
    EXPECT_LT(last, one.name);
    last = one.name;
    EXPECT_TRUE(one.arguments.starts_with("DEVICE")) << one.name;
    EXPECT_FALSE(one.what.empty() || one.shown_by.empty() || one.native.empty()) << one.name;
    EXPECT_NE(one.make, nullptr);
    EXPECT_LE(one.least, one.most);
  }
}

TEST(FaultTable, RefusesUnknownFaultsAndTwins) {
  const auto unknown = break_twin("nosuchtwin", "mtuu", {"a"}, soon());
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().what.find("there is no fault 'mtuu'"), std::string::npos);
  EXPECT_FALSE(break_twin("nosuchtwin", "mtu", {"a", "b"}, soon()));
}

TEST_F(Faults, OfAgentsNeedAgents) {
  for (const Fault& one : faults()) {
    if (!one.name.starts_with("agent-")) continue;
    const auto refused = cause(std::string(one.name), {"gpu0"});
    ASSERT_FALSE(refused) << one.name;
    EXPECT_NE(refused.error().what.find("`lockstep twin up --agents`"), std::string::npos)
        << refused.error().what;
  }
  for (const char* const fault : {"hung-daemon", "killed-daemon", "resumed-daemon"}) {
    const auto refused = cause(fault, {"gpu0", "agent"});
    ASSERT_FALSE(refused) << fault;
    EXPECT_NE(refused.error().what.find("agent-killed"), std::string::npos) << refused.error().what;
  }
}

TEST_F(Faults, OfSonicNeedASonicSwitch) {
  for (const Fault& one : faults()) {
    if (!one.of_sonic) continue;
    std::vector<std::string> words{"leaf0"};
    if (one.least > 0) words.emplace_back("swp0");
    const auto refused = cause(std::string(one.name), words);
    ASSERT_FALSE(refused) << one.name;
    EXPECT_NE(refused.error().what.find("`drivers: [sonic]`"), std::string::npos) << refused.error().what;
  }
}

TEST_F(Faults, ArgumentsAreCheckedBeforeAnythingChanges) {
  EXPECT_FALSE(cause("mtu", {}));
  EXPECT_FALSE(cause("mtu", {"gpu0"}));
  EXPECT_FALSE(cause("mtu", {"gpu0", "rail0", "70000"}));
  EXPECT_FALSE(cause("mtu", {"gpu0", "rail0", "1500", "x"}));
  EXPECT_FALSE(cause("mtu", {"gpu9", "rail0"}));
  EXPECT_FALSE(cause("sysctl", {"gpu0", "kernel.hostname", "x"}));
  EXPECT_FALSE(cause("packet-loss", {"gpu0", "rail0", "101%"}));
  EXPECT_FALSE(cause("ecmp-off", {"gpu0"}));
  EXPECT_FALSE(cause("hung-daemon", {"gpu0"}));
  const auto port = cause("mtu", {"gpu0", "rail7"});
  ASSERT_FALSE(port);
  EXPECT_EQ(port.error().what, "gpu0 has no port 'rail7'; it has rail0, rail1");
  for (const char* const fault : {"link-down", "slow-link", "mtu", "address-removed"}) {
    const auto loopback = cause(fault, {"gpu0", "lo"});
    ASSERT_FALSE(loopback) << fault;
    EXPECT_EQ(loopback.error().what, "gpu0 has no port 'lo'; it has rail0, rail1");
  }
  EXPECT_FALSE(cause("link-flap", {"gpu0", "rail0", "0"}));
  const auto neighbor = cause("bgp-neighbor-shutdown", {"gpu0", "x"});
  ASSERT_FALSE(neighbor);
  EXPECT_EQ(neighbor.error().what, "gpu0 has no daemon 'bgpd'");
}

TEST_F(Faults, MtuIsReadBackFromTheKernel) {
  expect_caused("mtu", {"gpu0", "rail0", "1400"});
  EXPECT_EQ(link("gpu0", "rail0").mtu, 1400U);
  EXPECT_EQ(link("gpu0", "rail1").mtu, 1500U);
}

TEST_F(Faults, AddressesGoAndChange) {
  give_address("gpu0", "rail0", "10.0.0.1/31");
  const auto other = cause("address-removed", {"gpu0", "rail0", "9.9.9.9/32"});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().what, "gpu0: rail0 has no address 9.9.9.9/32; it has 10.0.0.1/31");
  EXPECT_FALSE(cause("wrong-address", {"gpu0", "rail0", "10.0.0.1/31"}));
  EXPECT_EQ(addresses("gpu0", "rail0"), (std::vector<std::string>{"10.0.0.1/31"}));
  expect_caused("wrong-address", {"gpu0", "rail0"});
  EXPECT_EQ(addresses("gpu0", "rail0"), (std::vector<std::string>{"192.0.2.1/31"}));
  expect_caused("address-removed", {"gpu0", "rail0"});
  EXPECT_TRUE(addresses("gpu0", "rail0").empty());
  EXPECT_FALSE(cause("address-removed", {"gpu0", "rail0"}));
}

TEST_F(Faults, LinkGoesDownAndFlapsUp) {
  inside("gpu1", [](Session& session) { EXPECT_TRUE(session.set_admin("rail1", true)); });
  inside("leaf1", [](Session& session) { EXPECT_TRUE(session.set_admin("swp1", true)); });
  ASSERT_TRUE(eventually([] { return link("gpu1", "rail1").carrier; }));
  expect_caused("link-down", {"leaf1", "swp1"});
  EXPECT_FALSE(link("leaf1", "swp1").admin_up);
  EXPECT_TRUE(eventually([] { return !link("gpu1", "rail1").carrier; }));
  expect_caused("link-flap", {"leaf1", "swp1", "2"});
  EXPECT_TRUE(link("leaf1", "swp1").admin_up);
}

TEST_F(Faults, KernelParametersChangeInThatDeviceOnly) {
  expect_caused("sysctl", {"gpu0", "net.ipv4.conf.rail1.rp_filter", "1"});
  EXPECT_EQ(sysctl("gpu0", "net.ipv4.conf.rail1.rp_filter"), "1");
  inside("leaf0", [](Session&) { EXPECT_TRUE(write_sysctl("net.ipv4.fib_multipath_hash_policy", "1")); });
  expect_caused("hash-policy", {"leaf0"});
  EXPECT_EQ(sysctl("leaf0", "net.ipv4.fib_multipath_hash_policy"), "0");
}

TEST_F(Faults, OffloadAndRateAreReadBack) {
  expect_caused("offload", {"gpu1", "rail0", "tso", "off"});
  inside("gpu1", [](Session& session) {
    auto ethtool = Ethtool::open(soon());
    ASSERT_TRUE(ethtool);
    const auto names = ethtool->names(ETH_SS_FEATURES, soon());
    const auto all = ethtool->read_all(ethtool::Kind::features, soon());
    ASSERT_TRUE(names && all);
    const auto& features = std::get<ethtool::Features>(all->at(*session.index_of("rail0")));
    EXPECT_EQ(ethtool::is_on("tso", features, *names), false);
  });
  expect_caused("slow-link", {"gpu1", "rail0", "20Mbps"});
  EXPECT_FALSE(cause("slow-link", {"gpu1", "rail0", "99Tbps"}));
  inside("gpu1", [](Session& session) {
    const auto scheduler = session.scheduler("rail0");
    ASSERT_TRUE(scheduler);
    EXPECT_EQ(scheduler->rate, 20'000'000U);
  });
}

TEST_F(Faults, PacketLossDropsPacketsUntilItEnds) {
  give_address("gpu1", "rail0", "10.1.0.1/31");
  give_address("leaf0", "swp1", "10.1.0.0/31");
  int receiver = -1;
  int sender = -1;
  inside("leaf0", [&](Session&) { receiver = ::socket(AF_INET, SOCK_DGRAM, 0); });
  inside("gpu1", [&](Session&) { sender = ::socket(AF_INET, SOCK_DGRAM, 0); });
  const Descriptor close_receiver(receiver);
  const Descriptor close_sender(sender);
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(0x0A010000);
  ASSERT_EQ(::bind(receiver, reinterpret_cast<sockaddr*>(&here), sizeof(here)), 0);
  socklen_t size = sizeof(here);
  ASSERT_EQ(::getsockname(receiver, reinterpret_cast<sockaddr*>(&here), &size), 0);
  const auto arrived = [&] {
    char byte;
    int count = 0;
    while (::recv(receiver, &byte, 1, MSG_DONTWAIT) == 1) ++count;
    return count;
  };
  const auto send = [&] {
    (void)::sendto(sender, "x", 1, 0, reinterpret_cast<sockaddr*>(&here), sizeof(here));
  };
  // Until the neighbour is resolved, packets may be lost without a fault.
  ASSERT_TRUE(eventually([&] {
    send();
    return arrived() > 0;
  }));
  arrived();
  expect_caused("packet-loss", {"leaf0", "swp1", "100%"});
  for (int i = 0; i < 100; ++i) send();
  EXPECT_EQ(arrived(), 0);
  expect_caused("packet-loss", {"leaf0", "swp1", "50%"});
  int got = 0;
  constexpr int kSent = 1000;
  for (int i = 0; i < kSent; ++i) {
    send();
    got += arrived();
  }
  EXPECT_TRUE(eventually([&] {
    got += arrived();
    return got > kSent * 4 / 10;
  }));
  EXPECT_LT(got, kSent * 6 / 10);  // 0.5 +- 6 standard deviations of 1000 draws
  expect_caused("packet-loss", {"leaf0", "swp1", "0%"});
  EXPECT_TRUE(eventually([&] {
    send();
    return arrived() > 0;
  }));
  expect_caused("packet-loss", {"leaf0", "swp1", "0%"});  // succeeds without a fault in place
}

// Finds the far end of a cable by taking its carrier down.
TEST_F(Faults, MiscabledPortsSwapTheirCables) {
  // gpu0:rail1 -- leaf1:swp0 and gpu1:rail1 -- leaf1:swp1.
  for (const char* device : {"gpu0", "gpu1"})
    inside(device, [](Session& session) { EXPECT_TRUE(session.set_admin("rail1", true)); });
  for (const char* port : {"swp0", "swp1"})
    inside("leaf1", [&](Session& session) { EXPECT_TRUE(session.set_admin(port, true)); });
  const auto follows = [&](const char* port, const char* host) {
    inside("leaf1", [&](Session& session) { EXPECT_TRUE(session.set_admin(port, false)); });
    const bool yes =
        eventually([&] { return !link(host, "rail1").carrier; }, std::chrono::milliseconds(1000));
    inside("leaf1", [&](Session& session) { EXPECT_TRUE(session.set_admin(port, true)); });
    EXPECT_TRUE(eventually([&] { return link(host, "rail1").carrier; }));
    return yes;
  };
  EXPECT_TRUE(follows("swp0", "gpu0"));
  expect_caused("miscabled", {"leaf1", "swp0", "leaf1", "swp1"});
  EXPECT_TRUE(follows("swp0", "gpu1"));
  EXPECT_TRUE(follows("swp1", "gpu0"));
  expect_caused("miscabled", {"gpu0", "rail1", "gpu1", "rail1"});
  EXPECT_TRUE(follows("swp0", "gpu0"));
  EXPECT_FALSE(cause("miscabled", {"gpu0", "rail1", "gpu0", "rail1"}));
}

TEST_F(Faults, ADaemonHangsResumesAndDies) {
  const auto bfdd = [] {
    const auto report = status(cluster_);
    DaemonState out;
    if (report)
      for (const DaemonState& one : report->daemons)
        if (one.device == "spine0" && one.name == "bfdd") out = one;
    return out;
  };
  expect_caused("hung-daemon", {"spine0", "bfdd"});
  EXPECT_TRUE(eventually([&] { return bfdd().life == DaemonLife::stopped; }));
  expect_caused("resumed-daemon", {"spine0", "bfdd"});
  EXPECT_TRUE(eventually([&] { return bfdd().life == DaemonLife::running; }));
  expect_caused("killed-daemon", {"spine0", "bfdd"});
  EXPECT_TRUE(eventually([&] { return bfdd().life == DaemonLife::ended; }));
  EXPECT_FALSE(cause("killed-daemon", {"spine0", "bfdd"}));
  // It loads the saved configuration when it restarts.
  {
    std::ofstream saved(places(cluster_, "spine0").frr_config);
    saved
        << "frr version 8.4.4\nfrr defaults datacenter\n!\ninterface swp0\n ipv6 nd ra-interval 10\nexit\n!\n"
           "bfd\n profile fast\n  receive-interval 123\n exit\n !\nexit\n!\nend\n";
  }
  const auto started = restart_daemon(cluster_, "spine0", "bfdd");
  ASSERT_TRUE(started) << started.error().text();
  auto vty = frr::Vty::connect(places(cluster_, "spine0").run_dir, "bfdd", soon());
  ASSERT_TRUE(vty);
  const auto text = vty->ask("show running-config", soon());
  ASSERT_TRUE(text);
  EXPECT_NE(text->find("receive-interval 123"), std::string::npos) << *text;
}

class RoutingFaults : public Faults {
 protected:
  static void say(const std::string& device, const std::vector<std::string>& lines) {
    auto vty = frr::Vty::connect(places(cluster_, device).run_dir, "bgpd", soon());
    ASSERT_TRUE(vty) << vty.error().text();
    for (const std::string& line : lines) {
      const auto reply = vty->say(line, frr::Intention::writes, soon());
      ASSERT_TRUE(reply) << reply.error().text();
      ASSERT_LE(reply->code, 1) << line << ": " << reply->words();
    }
  }
  // `id`: without any IPv4 address, BGP cannot choose a router id.
  static void speak(const std::string& device, const std::string& id, const std::string& asn,
                    const std::vector<std::string>& ports, const std::string& network) {
    inside(device, [&](Session& session) {
      for (const std::string& port : ports) EXPECT_TRUE(session.set_admin(port, true));
      EXPECT_TRUE(write_sysctl("net.ipv4.ip_forward", "1"));
    });
    std::vector<std::string> lines{"configure terminal", "router bgp " + asn, "no bgp ebgp-requires-policy",
                                   "no bgp network import-check", "bgp router-id 10.255.0." + id};
    for (const std::string& port : ports)
      lines.push_back("neighbor " + port + " interface remote-as external");
    lines.push_back("address-family ipv4 unicast");
    if (!network.empty()) lines.push_back("network " + network);
    lines.push_back("maximum-paths 64");
    lines.push_back("end");
    say(device, lines);
  }
  // The number of next hops of 10.9.1.0/24 in the kernel of leaf0.
  static std::size_t ways() {
    for (const Route& one : network("leaf0").routes)
      if (one.destination.text() == "10.9.1.0/24") return one.hops.size();
    return 0;
  }
};

TEST_F(RoutingFaults, PathsAreLostInTheKernelAsEachFaultDescribes) {
  speak("leaf0", "1", "65100", {"up0", "up1"}, "10.9.0.0/24");
  speak("leaf1", "2", "65101", {"up0", "up1"}, "10.9.1.0/24");
  speak("spine0", "3", "65200", {"swp0", "swp1"}, "");
  speak("spine1", "4", "65200", {"swp0", "swp1"}, "");
  ASSERT_TRUE(eventually([] { return ways() == 2; }, std::chrono::seconds(20)));

  expect_caused("lost-nexthop", {"leaf0", "10.9.1.0/24"});
  EXPECT_EQ(ways(), 1U);
  const auto believes = [] {
    auto vty = frr::Vty::connect(places(cluster_, "leaf0").run_dir, "zebra", soon());
    if (!vty) return std::string();
    const auto text = vty->ask("show ip route 10.9.1.0/24", soon());
    return text ? *text : std::string();
  };
  const std::string belief = believes();
  EXPECT_NE(belief.find("up0"), std::string::npos) << belief;
  EXPECT_NE(belief.find("up1"), std::string::npos) << belief;
  EXPECT_FALSE(cause("lost-nexthop", {"leaf0", "10.8.0.0/24"}));
  // FRR does not restore it by itself. (It does so within milliseconds if the group is changed instead.)
  EXPECT_FALSE(eventually([] { return ways() == 2; }, std::chrono::milliseconds(500)));

  // The remedy: configure bgpd for one path and, once zebra has followed, for all of them again.
  expect_caused("ecmp-off", {"leaf0"});
  EXPECT_TRUE(eventually([&] {
    const std::string now = believes();
    return now.find("up0") == std::string::npos || now.find("up1") == std::string::npos;
  }));
  EXPECT_EQ(ways(), 1U);
  say("leaf0",
      {"configure terminal", "router bgp 65100", "address-family ipv4 unicast", "maximum-paths 64", "end"});
  ASSERT_TRUE(eventually([] { return ways() == 2; }));
  expect_caused("bgp-neighbor-shutdown", {"leaf0", "up1"});
  EXPECT_TRUE(eventually([] { return ways() == 1; }));
}

}  // namespace
}  // namespace lockstep
