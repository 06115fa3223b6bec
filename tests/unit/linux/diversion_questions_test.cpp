// Which addresses of a pool are looked up, and for which packets.
#include <gtest/gtest.h>
#include <linux/fib_rules.h>
#include <linux/lwtunnel.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>

#include "drivers/linux/diversion/atoms.hpp"
#include "drivers/linux/diversion/culprits.hpp"
#include "drivers/linux/diversion/questions.hpp"

namespace lockstep {
namespace {

IpPrefix prefix(const char* text) { return *IpPrefix::parse(text); }

std::vector<std::string> atoms(const char* pool, const std::vector<const char*>& cuts) {
  std::vector<IpPrefix> prefixes;
  for (const char* one : cuts) prefixes.push_back(prefix(one));
  std::vector<std::string> out;
  for (const IpAddress& one : diversion::atoms_of(prefix(pool), prefixes)) out.push_back(one.text());
  std::ranges::sort(out);
  return out;
}

using Texts = std::vector<std::string>;

TEST(Atoms, EachPrefixHasAnAddressThatNoLongerPrefixCovers) {
  EXPECT_EQ(atoms("10.64.0.0/16", {}), (Texts{"10.64.0.0"}));
  EXPECT_EQ(atoms("10.64.0.0/16", {"10.64.0.0/25", "10.64.0.64/26"}),
            (Texts{"10.64.0.0", "10.64.0.128", "10.64.0.64"}));
  EXPECT_EQ(atoms("10.64.0.0/24", {"10.64.0.0/25", "10.64.0.128/25"}), (Texts{"10.64.0.0", "10.64.0.128"}))
      << "the pool has no address of its own left";
  EXPECT_EQ(atoms("10.64.0.0/24", {"10.64.0.5/32", "10.64.0.4/32", "10.64.0.4/31", "0.0.0.0/0", "fd00::/8"}),
            (Texts{"10.64.0.0", "10.64.0.4", "10.64.0.5"}));
  EXPECT_EQ(atoms("255.255.255.0/24", {"255.255.255.255/32", "255.255.255.254/31"}),
            (Texts{"255.255.255.0", "255.255.255.254", "255.255.255.255"}));
}

// The longest prefix that covers an address, by exhaustive search, as an independent check of atoms_of().
IpPrefix longest(const IpAddress& address, const std::vector<IpPrefix>& all) {
  IpPrefix best = prefix("0.0.0.0/0");
  for (const IpPrefix& one : all)
    if (one.contains(address) && one.length >= best.length) best = one;
  return best;
}

TEST(Atoms, EveryLongestPrefixIsRepresentedByOneAnswer) {
  std::uint32_t state = 12345;
  const auto random = [&](std::uint32_t below) { return (state = state * 1664525 + 1013904223) / 7 % below; };
  for (int round = 0; round < 200; ++round) {
    std::vector<IpPrefix> cuts;
    for (std::uint32_t i = random(12); i > 0; --i)
      cuts.push_back(
          IpPrefix{IpAddress::v4(0x0A400000 + random(256)), static_cast<std::uint8_t>(24 + random(9))}
              .network());
    const IpPrefix pool = prefix("10.64.0.0/24");
    std::set<IpPrefix> of_answers;
    const auto answers = diversion::atoms_of(pool, cuts);
    for (const IpAddress& one : answers) of_answers.insert(longest(one, cuts));
    EXPECT_EQ(of_answers.size(), answers.size());
    for (std::uint32_t i = 0; i < 256; ++i)
      EXPECT_TRUE(of_answers.contains(longest(IpAddress::v4(0x0A400000 + i), cuts))) << "round " << round;
  }
}

// The lookups for hand-written tables: port 1 leads to 10.64.0.1, port 2 to all of 10.64.1.0/24.
class Questions : public ::testing::Test {
 protected:
  Questions() {
    for (const std::uint32_t index : {1U, 2U}) {
      Link& port = network_.links.emplace_back();
      port.index = index;
      port.name = "swp" + std::to_string(index);
      port.admin_up = port.carrier = true;
    }
    network_.addresses = {{.index = 1, .prefix = prefix("10.64.0.0/31")},
                          {.index = 2, .prefix = prefix("10.64.3.1/32")}};
    add_route("10.64.0.0/31", RTPROT_KERNEL, 1);
    add_route("10.64.1.0/24", RTPROT_BGP, 2);
  }
  void add_route(const char* destination, std::uint8_t protocol, std::uint32_t port) {
    Route& out = network_.routes.emplace_back();
    out.destination = prefix(destination);
    out.table = RT_TABLE_MAIN;
    out.protocol = protocol;
    out.type = RTN_UNICAST;
    out.hops.emplace_back().index = port;
  }
  Rule& add_rule() {
    Rule& out = network_.rules.emplace_back();
    out.family = AF_INET;
    out.action = FR_ACT_BLACKHOLE;
    out.protocol = RTPROT_BOOT;
    return out;
  }
  std::vector<diversion::Asked> asked() const {
    return diversion::transit_questions(diversion::Ground(network_, {}, {1, 2}, {}), prefix("10.64.0.0/16"));
  }
  NetworkState network_;
};

TEST_F(Questions, LooksUpEachAtomOnceWithoutRulesThatDistinguishPackets) {
  EXPECT_EQ(asked().size(), 5U) << "the rest of the pool, 10.64.0.0/31, 10.64.1.0/24 and two own addresses";
  add_rule();
  EXPECT_EQ(asked().size(), 5U) << "it tells none apart, and none is asked twice";
  add_rule().ip_protocol = IPPROTO_UDP;
  EXPECT_EQ(asked().size(), 20U) << "plain, RoCE, TCP, and UDP as the rule says";
  add_rule().ip_protocol = IPPROTO_GRE;
  EXPECT_EQ(asked().size(), 20U) << "which the kernel looks up for nobody";
}

TEST_F(Questions, NeverUsesAnAddressOfTheDeviceAsSource) {
  add_rule().from = prefix("10.64.3.0/30");
  const auto all = asked();
  EXPECT_TRUE(std::ranges::any_of(all, &diversion::Asked::made_up));
  for (const auto& one : all) EXPECT_NE(one.question.from->text(), "10.64.3.1");
  network_.rules.front().from = prefix("10.64.1.0/24");
  EXPECT_TRUE(std::ranges::none_of(asked(), &diversion::Asked::made_up)) << "port 2's is of these";
}

// Not every kernel has MPLS and segment routing. The lookup therefore answers with a route that leads a
// network of the pool the same way and encapsulates its packets.
TEST_F(Questions, ReportsARouteThatEncapsulatesPackets) {
  Rule& main = add_rule();
  main.priority = 32766;
  main.table = RT_TABLE_MAIN;
  main.action = FR_ACT_TO_TBL;
  main.protocol = RTPROT_KERNEL;
  const auto named = [&](std::uint16_t encapsulation) {
    add_route("10.64.1.0/26", RTPROT_STATIC, 2);
    network_.routes.back().hops.front().encapsulation = encapsulation;
    const Route wraps = network_.routes.back();
    const diversion::Ground ground(network_, {}, {1, 2}, {});
    network_.routes.pop_back();
    const std::vector<diversion::Asked> asked{{{.to = prefix("10.64.1.1/32").address, .from = {}}}};
    return diversion::culprits(ground, prefix("10.64.0.0/16"), asked, {{0, wraps}});
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(named(LWTUNNEL_ENCAP_NONE), Texts{});
  EXPECT_EQ(named(LWTUNNEL_ENCAP_MPLS), Texts{"10.64.1.0/26 encap mpls dev swp2 proto static"});
  EXPECT_EQ(named(LWTUNNEL_ENCAP_SEG6), Texts{"10.64.1.0/26 encap seg6 dev swp2 proto static"});
}

// Not every kernel has VRFs and bonds, so they are set in the tables. The desired ones are named in the scope
// of the observation (tests/cases/compile/allowed-state).
TEST_F(Questions, ReportsAPortThatIsEnslavedToAnotherDevice) {
  const auto captured = [&](const char* kind) {
    Link& master = network_.links.emplace_back();
    master.index = 9;
    master.name = "over";
    master.kind = kind;
    network_.links[0].master = 9;
    const diversion::Ground ground(network_, {}, {1, 2}, {});
    network_.links.pop_back();
    return diversion::captured_ports(ground, prefix("10.64.0.0/16"));
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(captured("vrf"), Texts{"swp1 is under over (vrf)"});
  EXPECT_EQ(captured("bond"), Texts{"swp1 is under over (bond)"});
  EXPECT_EQ(captured("bridge"), Texts{"swp1 is under over (bridge)"});
  EXPECT_EQ(diversion::captured_ports(diversion::Ground(network_, {}, {2}, {}), prefix("10.64.0.0/16")),
            Texts{})
      << "a port that is not wanted";
}

}  // namespace
}  // namespace lockstep
