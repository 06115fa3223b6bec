// Packet filters on a real kernel: the driver reports those that drop packets, as pings and counters prove,
// and does not report the rule sets that other software legitimately uses on such machines.
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <unistd.h>

#include <fstream>

#include "drivers/linux/filters/nft_walk.hpp"
#include "drivers/linux/netlink_socket.hpp"
#include "drivers/posix/in_namespace.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/unit/linux/diverted.hpp"
#include "tests/unit/linux/foreign_rules.hpp"
#include "tests/unit/linux/fuzz.hpp"

namespace lockstep {
namespace {

class Filtered : public Diverted {
 protected:
  // Replaces the rules that are loaded. nft(8) requires a block to end at the end of a line.
  void load(std::string rules) const {
    for (std::size_t at = 0; (at = rules.find("} }", at)) != rules.npos;) rules[++at] = '\n';
    std::ofstream(file()) << "flush ruleset\n" << rules << "\n";
    const std::string said = shell_output("ip netns exec " + name_ + " nft -f " + file());
    ASSERT_EQ(said, "") << rules;
  }
  void restore(const std::string& tool, const std::string& rules) const {
    std::ofstream(file()) << rules;
    const std::string said = shell_output("ip netns exec " + name_ + " " + tool + " < " + file());
    ASSERT_EQ(said, "") << rules;
  }
  std::string file() const { return ::testing::TempDir() + name_ + ".rules"; }
  void TearDown() override {
    if (!name_.empty()) ::unlink(file().c_str());
    Diverted::TearDown();
  }
  // Whether a packet from the host to the RoCE port leaves the leaf, counted by a rule after all others.
  bool roce_arrives() const {
    EXPECT_EQ(in("nft add table inet counted '{ chain last { type filter hook postrouting priority 900; udp "
                 "dport 4791 counter; }; }'"),
              0);
    EXPECT_EQ(shell("ip netns exec " + name_ + "p bash -c 'echo > /dev/udp/10.64.1.1/4791'"), 0);
    const std::string counted = shell_output("ip netns exec " + name_ + " nft list table inet counted");
    EXPECT_EQ(in("nft delete table inet counted"), 0);
    return counted.find("packets 1 ") != std::string::npos;
  }
};

struct FilterCase {
  const char* rules;
  const char* named;
  const char* lost = "10.64.1.1";  // address that no longer answers pings; null if all do
};

TEST_F(Filtered, ReportsWhatDropsAPoolsPacketsByItsHook) {
  const FilterCase cases[] = {
      {"table inet f { chain c { type filter hook forward priority 0; policy drop; } }",
       "nft inet f c (forward): policy drop"},
      {"table ip f { chain c { type filter hook forward priority 0; ip daddr 10.64.1.0/24 drop; } }",
       "nft ip f c (forward): drop"},
      {"table inet f { chain c { type filter hook prerouting priority -300; iifname \"rail*\" drop; } }",
       "nft inet f c (prerouting): drop"},
      {"table inet f { chain c { type filter hook postrouting priority 0; oifname up0 drop; } }",
       "nft inet f c (postrouting): drop"},
      {"table netdev f { chain c { type filter hook ingress device rail0 priority 0; drop; } }",
       "nft netdev f c (ingress of rail0): drop"},
      {"table inet f { chain c { type filter hook ingress device rail0 priority 0; drop; } }",
       "nft inet f c (ingress of rail0): drop"},
      {"table netdev f { chain c { type filter hook egress device up0 priority 0; policy drop; } }",
       "nft netdev f c (egress of up0): policy drop"},
      {"table inet f { chain limits { drop; }\nchain c { type filter hook forward priority 0; iif rail0 goto "
       "limits; } }",
       "nft inet f c (forward): drop in limits"},
      {"table inet f { chain c { type filter hook forward priority 0; iifname vmap { up0 : accept, rail0 : "
       "drop "
       "}; } }",
       "nft inet f c (forward): drop"},
      {"table inet f { set s { type ipv4_addr; flags interval; elements = { 10.64.1.0-10.64.1.9, "
       "10.65.0.0/16 } "
       "}\nchain c { type filter hook forward priority 0; ip daddr @s drop; } }",
       "nft inet f c (forward): drop"},
      {"table inet f { chain c { type filter hook forward priority 0; iifname . ip daddr { rail0 . "
       "10.64.1.0/24 "
       "} drop; } }",
       "nft inet f c (forward): drop"},
      {"table inet f { chain c { type filter hook forward priority 0; ip dscp 0 drop; } }",
       "nft inet f c (forward): drop"},
      {"table inet f { chain c { type filter hook forward priority 0; numgen random mod 100 < 99 drop; } }",
       "nft inet f c (forward): drop"},
      {"table inet f { chain a { type filter hook prerouting priority -150; iifname rail0 meta mark set 7; "
       "}\n"
       "chain c { type filter hook forward priority 0; meta mark 7 drop; } }",
       "nft inet f c (forward): drop"},
      {"table ip f { chain c { type nat hook prerouting priority -100; iifname rail0 dnat to 192.0.2.99; } }",
       "nft ip f c (prerouting): nat"},
      {"table ip f { chain c { type nat hook postrouting priority 100; oifname up0 masquerade; } }",
       "nft ip f c (postrouting): masquerade", nullptr},
      {"table inet f { chain c { type filter hook forward priority 0; policy drop; ip daddr != 10.64.1.1 "
       "accept; "
       "} }",
       "nft inet f c (forward): policy drop"},
  };
  for (const FilterCase& one : cases) {
    SCOPED_TRACE(one.rules);
    load(one.rules);
    EXPECT_EQ(filters(), Texts{one.named});
    EXPECT_EQ(transit(), Texts{}) << "it is no drift";
    EXPECT_FALSE(one.lost != nullptr && arrives(one.lost));
    load("");
    EXPECT_EQ(filters(), Texts{});
    EXPECT_TRUE(arrives_again("10.64.1.1"));
  }
}

// Uses a rule for one pair of ports that are not adjacent in the order of links.
TEST_F(Filtered, ReportsWhatDropsBetweenAnyTwoPorts) {
  make(kExtra);
  const auto named = [this] {
    return culprits("diverted[10.64.0.0/16]/filters",
                    {*Path::parse("diverted[10.64.0.0/16]/transit"), *Path::parse("interface[extra0]")});
  };
  ASSERT_TRUE(arrives_again("10.64.1.1"));
  for (const auto& [in, out] : {std::pair{"rail0", "up0"}, {"up0", "rail0"}}) {
    load(std::string("table inet f { chain c { type filter hook forward priority 0; iifname ") + in +
         " oifname " + out + " drop; } }");
    EXPECT_FALSE(arrives("10.64.1.1")) << in;
    EXPECT_EQ(named(), Texts{"nft inet f c (forward): drop"}) << in;
  }
}

TEST_F(Filtered, ReportsARuleForTheRocePortThoughPingsPass) {
  EXPECT_TRUE(roce_arrives());
  for (const char* rule : {"udp dport 4791 drop", "udp dport 4000-5000 reject", "udp sport > 49000 drop"}) {
    SCOPED_TRACE(rule);
    load(std::string("table inet f { chain c { type filter hook forward priority 0; ") + rule + "; } }");
    EXPECT_EQ(filters().size(), 1U);
    EXPECT_TRUE(arrives_again("10.64.1.1"));
  }
  load("table inet f { chain c { type filter hook forward priority 0; udp dport 4791 drop; } }");
  EXPECT_FALSE(roce_arrives());
}

// Rules whose effect depends on chains, marks or the state of connection tracking.
TEST_F(Filtered, ReportsIndirectLossOfRocePackets) {
  const std::string forward = "chain c { type filter hook forward priority 0; ";
  const std::string accepts = "policy drop; ct state established,related,new accept; }";
  for (const std::string& rules : std::vector<std::string>{
           forward + "policy drop; ip saddr 10.64.0.0/24 return; accept; }",
           "chain none { }\n" + forward + "policy drop; ip saddr 10.64.0.0/24 goto none; accept; }",
           "chain raw { type filter hook prerouting priority -300; udp dport 4791 notrack; }\n" + forward +
               accepts,
           "chain raw { type filter hook prerouting priority -300; ct state invalid drop; }\n" + forward +
               "}",
           forward + "ip ttl < 64 drop; }",
           "chain early { type filter hook prerouting priority -150; ip saddr 10.64.0.0/24 accept; meta mark "
           "set "
           "1; }\n" +
               forward + "meta mark 0 drop; }",
           "chain early { type filter hook prerouting priority -150; udp dport 4791 ct mark set 7; }\n" +
               forward + "ct mark 7 drop; }",
           "chain out { type filter hook prerouting priority -150; udp dport 4791 udp dport set 9; }"}) {
    SCOPED_TRACE(rules);
    load("table inet f { " + rules + "\n}");
    EXPECT_FALSE(roce_arrives());
    EXPECT_FALSE(filters().empty());
  }
  // The first packet may pass.
  load("table inet f { limit few { rate 1/hour burst 1 packets }\n" + forward +
       "policy drop; limit name few accept; }\n}");
  EXPECT_EQ(filters(), Texts{"nft inet f c (forward): policy drop"});
  // The first answer of a server (SYN and ACK), and data.
  for (const char* const flags : {"tcp flags & (syn|ack) == syn|ack drop", "tcp flags & psh == psh drop"}) {
    load("table inet f { " + forward + flags + "; }\n}");
    EXPECT_EQ(filters(), Texts{"nft inet f c (forward): drop"}) << flags;
  }
}

TEST_F(Filtered, IgnoresRulesThatMatchNoPacketOfThePool) {
  for (const char* rules :
       {"table inet f { flags dormant; chain c { type filter hook forward priority 0; policy drop; } }",
        "table inet f { chain c { drop; } }",
        "table inet f { chain c { type filter hook forward priority 0; iifname eth0 drop; ip saddr "
        "10.65.0.0/16 "
        "drop; udp dport { 53, 123, 4789 } drop; tcp dport { 22, 80 } reject; ct state invalid drop; meta "
        "mark 7 drop; ip daddr 10.64.0.0/16 accept; drop; } }",
        "table inet f { chain c { type filter hook forward priority 0; policy drop; ip saddr 10.64.0.0/16 "
        "iif { "
        "rail0, up0 } accept; } }",
        "table inet f { chain c { type filter hook forward priority 0; policy drop; ct state "
        "established,related "
        "accept; iifname vmap { rail0 : accept, up0 : accept }; } }",
        "table inet f { chain c { type filter hook prerouting priority -10; fib saddr . iif oif missing "
        "drop; tcp "
        "flags & (fin|syn|rst|ack) != syn ct state new drop; ip frag-off & 0x1fff != 0 drop; } }",
        "table inet f { chain c { type filter hook forward priority 0; vlan id 100 drop; ether type vlan "
        "drop; } }",
        "table inet f { chain c { type filter hook input priority 0; policy drop; } }",
        "table netdev f { chain c { type filter hook ingress device lo priority 0; policy drop; } }",
        "table ip6 f { chain c { type filter hook forward priority 0; policy drop; } }",
        "table inet f { set s { type ipv4_addr; flags interval; elements = { 10.63.0.0/16, 10.65.0.0/16 } }\n"
        "chain c { type filter hook forward priority 0; ip saddr @s drop; } }"}) {
    SCOPED_TRACE(rules);
    load(rules);
    EXPECT_EQ(filters(), Texts{});
    EXPECT_TRUE(arrives_again("10.64.1.1"));
    EXPECT_TRUE(roce_arrives());
  }
}

// The filters for traffic that a host receives and sends count, and not those for what it would forward.
TEST_F(Filtered, OnAHostTheHooksOfItsOwnTrafficCount) {
  load("table ip f { chain c { type filter hook forward priority 0; policy drop; } }");
  EXPECT_EQ(filters_of_host(), Texts{}) << "Docker's policy";
  load("table inet f { chain c { type filter hook input priority 0; policy drop; iifname up0 accept; } }");
  EXPECT_EQ(filters_of_host(), Texts{"nft inet f c (input): policy drop"});
  EXPECT_NE(shell("ip netns exec " + name_ + "p ping -c 1 -W 1 10.64.0.0"), 0);
  load("table inet f { chain c { type filter hook output priority 0; ip saddr 10.64.0.0 drop; } }");
  EXPECT_EQ(filters_of_host(), Texts{"nft inet f c (output): drop"});
  EXPECT_NE(in("ping -c 1 -W 1 -I 10.64.0.0 10.64.0.1"), 0);
  load("table inet f { chain c { type filter hook output priority 0; ip saddr 10.64.0.2 drop; } }");
  EXPECT_EQ(filters_of_host(), Texts{}) << "of another of the pool's addresses";
}

TEST_F(Filtered, IgnoresWhatOtherSoftwareLegitimatelyConfigures) {
  if (shell("which iptables-nft-restore") != 0)
    LOCKSTEP_NOT_TESTED_BUT_ON_CI("iptables-nft is missing (package iptables)");
  restore("iptables-nft-restore", kDocker);
  EXPECT_EQ(filters_of_host(), Texts{});
  EXPECT_EQ(filters(), Texts{"nft ip filter FORWARD (forward): policy drop"}) << "on a switch it does drop";
  EXPECT_FALSE(arrives("10.64.1.1"));
  restore("iptables-nft-restore", kKubernetes);
  EXPECT_EQ(filters_of_host(), Texts{});
  load(kFirewalld);
  EXPECT_EQ(filters_of_host(), Texts{});
  EXPECT_EQ(filters(), Texts{});
  EXPECT_TRUE(arrives_again("10.64.1.1"));
}

TEST_F(Filtered, ReportsWhatIptablesDrops) {
  if (shell("which iptables-nft") != 0)
    LOCKSTEP_NOT_TESTED_BUT_ON_CI("iptables-nft is missing (package iptables)");
  for (const char* rule : {"-i rail0 -j DROP", "-d 10.64.1.0/24 -j REJECT", "-p udp --dport 4791 -j DROP",
                           "-p tcp --syn -m conntrack --ctstate NEW -j REJECT",
                           "-i rail+ -m statistic --mode random --probability 1 -j DROP",
                           "-p udp -m multiport --dports 4791,53 -j DROP"}) {
    SCOPED_TRACE(rule);
    ASSERT_EQ(in(std::string("iptables-nft -A FORWARD ") + rule), 0);
    ASSERT_EQ(filters().size(), 1U) << ::testing::PrintToString(filters());
    EXPECT_EQ(filters().front().substr(0, 33), "nft ip filter FORWARD (forward): ");
    ASSERT_EQ(in("iptables-nft -F FORWARD"), 0);
    EXPECT_EQ(filters(), Texts{});
  }
  for (const char* rule : {"-p udp --dport 4789 -j DROP", "-p tcp --dport 22 -j REJECT",
                           "-m conntrack --ctstate INVALID -j DROP", "-m mark --mark 0x1/0x1 -j DROP"}) {
    SCOPED_TRACE(rule);
    ASSERT_EQ(in(std::string("iptables-nft -A FORWARD ") + rule), 0);
    EXPECT_EQ(filters(), Texts{});
  }
}

// Truncates and changes messages of the kernel about rules at each byte: the decoder returns an answer or an
// Error, and a walk through the decoded rules ends.
TEST_F(Filtered, CutAndMutatedMessagesAreNoUndefinedBehaviour) {
  load(
      "table inet f { set s { type ipv4_addr; flags interval; elements = { 10.64.1.0-10.64.1.9 } }\n"
      "chain d { drop; }\nchain c { type filter hook forward priority 0; policy drop; iifname . ip daddr { a "
      ". "
      "10.64.1.0/24 } jump d; ip saddr @s ct state new udp dport 1-5 meta mark set 7 fib saddr . iif oif "
      "missing "
      "reject; } }");
  std::vector<Buffer> rules;
  std::vector<Buffer> chains;
  std::vector<Buffer> elements;
  const auto read = [&](netlink::Socket& socket, unsigned message, std::string_view set,
                        std::vector<Buffer>& to) {
    netlink::Request request(static_cast<std::uint16_t>((NFNL_SUBSYS_NFTABLES << 8) | message), NLM_F_DUMP);
    request.header(nfgenmsg{1, NFNETLINK_V0, 0});  // NFPROTO_INET
    if (!set.empty()) request.put_text(NFTA_SET_ELEM_LIST_TABLE, "f").put_text(NFTA_SET_ELEM_LIST_SET, set);
    return socket.dump(
        request, within(std::chrono::seconds(5)),
        [&](const netlink::Message& one) -> Result<Done> {
          to.emplace_back(one.payload.begin(), one.payload.end());
          return Done{};
        },
        [] {});
  };
  ASSERT_TRUE(in_namespace(path(), [&] {
    auto socket = netlink::Socket::open(NETLINK_NETFILTER);
    ASSERT_TRUE(socket);
    ASSERT_TRUE(read(*socket, NFT_MSG_GETCHAIN, {}, chains));
    ASSERT_TRUE(read(*socket, NFT_MSG_GETRULE, {}, rules));
    ASSERT_TRUE(read(*socket, NFT_MSG_GETSETELEM, "s", elements));
  }));
  ASSERT_EQ(chains.size(), 2U);
  ASSERT_EQ(rules.size(), 3U);
  ASSERT_FALSE(elements.empty());
  nft::Ruleset all;
  nft::Chain chain{1, "f", "c", nft::Hook{}, true, {}};
  nft::Packet packet;
  packet.network = nft::Field::unknown(20);
  packet.transport = nft::Field::unknown(8);
  for (const Buffer& one : chains) fuzz(hex_of(one), [](const Buffer& cut) { (void)nft::decode_chain(cut); });
  for (const Buffer& one : elements)
    fuzz(hex_of(one), [](const Buffer& cut) { (void)nft::decode_elements(cut); });
  for (const Buffer& one : rules)
    fuzz(hex_of(one), [&](const Buffer& cut) {
      const auto rule = nft::decode_rule(cut);
      if (!rule || !*rule) return;
      chain.rules = {(*rule)->rule};
      (void)nft::taken_by(all, chain, packet);
    });
}

}  // namespace
}  // namespace lockstep
