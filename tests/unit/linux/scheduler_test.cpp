#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "drivers/linux/queueing/carrier.hpp"
#include "drivers/posix/in_namespace.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/needs.hpp"
#include "tests/unit/linux/lab.hpp"

namespace lockstep {
namespace {

// HTB, for kernels without ETS; tests/vm/queueing_test.cpp and mqprio_test.cpp test ETS and mqprio.
class EgressScheduler : public Lab {
 protected:
  void SetUp() override {
    Lab::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const auto carrier = software_carrier(within(std::chrono::seconds(5)));
    ASSERT_TRUE(carrier) << carrier.error().text();
    if (*carrier != Carrier::htb)
      LOCKSTEP_NOT_TESTED("classes by HTB: this kernel has ETS, which carries them here");
  }
  static constexpr int kPackets = 3;
  // Sends UDP to a port without a listener: it leaves through the scheduler all the same.
  void send(int family, const char* to, int dscp) const {
    ASSERT_TRUE(in_namespace(path(), [&] {
      const Descriptor socket(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
      const int tos = dscp << 2;
      sockaddr_in four{};
      sockaddr_in6 six{};
      four.sin_family = AF_INET;
      six.sin6_family = AF_INET6;
      four.sin_port = six.sin6_port = htons(9);  // discard (RFC 863)
      const bool is_v6 = family == AF_INET6;
      ASSERT_EQ(::inet_pton(family, to, is_v6 ? static_cast<void*>(&six.sin6_addr) : &four.sin_addr), 1);
      ASSERT_EQ(::setsockopt(socket.number(), is_v6 ? IPPROTO_IPV6 : IPPROTO_IP, is_v6 ? IPV6_TCLASS : IP_TOS,
                             &tos, sizeof(tos)),
                0);
      const auto* address =
          is_v6 ? reinterpret_cast<const sockaddr*>(&six) : reinterpret_cast<const sockaddr*>(&four);
      for (int i = 0; i < kPackets; ++i)
        ASSERT_EQ(::sendto(socket.number(), "x", 1, 0, address, is_v6 ? sizeof(six) : sizeof(four)), 1);
    }));
  }
};

const std::vector<std::pair<std::string, Value>> kRoce = {
    {"interface[rail0]/rate", Value::integer(1'000'000'000)},
    {"interface[rail0]/class[0]", Value::present()},
    {"interface[rail0]/class[0]/dscp", Value::set({"0"})},
    {"interface[rail0]/class[0]/share", Value::integer(400)},
    {"interface[rail0]/class[3]", Value::present()},
    {"interface[rail0]/class[3]/dscp", Value::set({"26", "24"})},
    {"interface[rail0]/class[3]/share", Value::integer(600)},
    {"interface[rail0]/class[6]", Value::present()},
    {"interface[rail0]/class[6]/dscp", Value::set({"48"})},
    {"interface[rail0]/class[6]/strict", Value::boolean(true)},
    {"interface[rail0]/class[6]/max-rate", Value::integer(50'000'000)}};

TEST_F(EgressScheduler, ARateAloneIsATokenBucketThatCanChangeAndBeRemoved) {
  applies({{"interface[rail0]/rate", Value::integer(1'000'000'000)}});
  EXPECT_NE(said("tc", "qdisc show dev rail0").find("tbf 4c53: root"), std::string::npos);
  EXPECT_NE(said("tc", "qdisc show dev rail0").find("rate 1Gbit"), std::string::npos);
  applies({{"interface[rail0]/rate",
            Value::integer(100'000'000'000)}});  // more bytes per second than 32 bits hold
  EXPECT_EQ(value("interface[rail0]/rate"), Value::integer(100'000'000'000));
  applies({{"interface[rail0]/rate", {}}});
  EXPECT_EQ(value("interface[rail0]/rate"), Value{});
  EXPECT_EQ(said("tc", "qdisc show dev rail0").find("tbf"), std::string::npos);
}

TEST_F(EgressScheduler, DetectsAndRepairsAManuallyChangedRate) {
  applies({{"interface[rail0]/rate", Value::integer(1'000'000'000)}});
  ASSERT_EQ(tc("qdisc del dev rail0 root"), 0);
  ASSERT_EQ(tc("qdisc add dev rail0 root tbf rate 100mbit burst 64k limit 512k"), 0);
  EXPECT_EQ(value("interface[rail0]/rate"), Value::integer(100'000'000));
  applies({{"interface[rail0]/rate", Value::integer(1'000'000'000)}});
  EXPECT_EQ(value("interface[rail0]/rate"), Value::integer(1'000'000'000));
  ASSERT_EQ(tc("qdisc del dev rail0 root"), 0);
  EXPECT_EQ(value("interface[rail0]/rate"), Value{});
}

TEST_F(EgressScheduler, ClassesReadBackAsDesired) {
  applies(kRoce);
  for (const auto& [leaf, want] : kRoce) EXPECT_EQ(value(leaf), want) << leaf;
  EXPECT_EQ(value("interface[rail0]/class[3]/max-rate"), Value{});
  EXPECT_EQ(value("interface[rail0]/class[6]/share"), Value{});
  const std::string classes = said("tc", "class show dev rail0");
  EXPECT_NE(classes.find("4c53:13 parent 4c53:1"), std::string::npos) << classes;
  EXPECT_NE(classes.find("rate 570Mbit"), std::string::npos) << classes;  // 60 % of what CNPs leave
  const std::string first = observed().revision;
  applies(kRoce);
  EXPECT_EQ(observed().revision, first);
}

TEST_F(EgressScheduler, TheClassOfAllOtherDscpsNeedsNoFilters) {
  std::vector<std::string> others;
  for (int dscp = 0; dscp < 64; ++dscp)
    if (dscp != 24 && dscp != 26 && dscp != 48) others.push_back(std::to_string(dscp));
  auto all = kRoce;
  all[2].second = Value::set(others);
  applies(all);
  for (const auto& [leaf, want] : all) EXPECT_EQ(value(leaf), want) << leaf;
  const std::string filters = said("tc", "filter show dev rail0 parent 4c53:");
  EXPECT_NE(filters.find("flowid 4c53:13"), std::string::npos);
  EXPECT_EQ(filters.find("flowid 4c53:10"), std::string::npos);
  const std::string first = observed().revision;
  applies(all);
  EXPECT_EQ(observed().revision, first);
  // Manually removes half of a filter: DSCP 48 over IPv6 is no longer in its class.
  ASSERT_EQ(tc("filter del dev rail0 parent 4c53: pref 77 protocol ipv6"), 0);
  EXPECT_EQ(value("interface[rail0]/class[6]/dscp"), Value{});
  applies(all);
  for (const auto& [leaf, want] : all) EXPECT_EQ(value(leaf), want) << leaf;
}

TEST_F(EgressScheduler, SharesAndDscpsChangeInPlace) {
  applies(kRoce);
  applies({{"interface[rail0]/class[0]/share", Value::integer(300)},
           {"interface[rail0]/class[3]/dscp", Value::set({"26"})},
           {"interface[rail0]/class[3]/share", Value::integer(700)}});
  EXPECT_EQ(value("interface[rail0]/class[0]/share"), Value::integer(300));
  EXPECT_EQ(value("interface[rail0]/class[3]/share"), Value::integer(700));
  EXPECT_EQ(value("interface[rail0]/class[3]/dscp"), Value::set({"26"}));
  EXPECT_EQ(value("interface[rail0]/class[6]/max-rate"), Value::integer(50'000'000));
  applies({{"interface[rail0]/class[6]", {}}});
  EXPECT_EQ(value("interface[rail0]/class[6]"), Value{});
  EXPECT_EQ(value("interface[rail0]/class[6]/dscp"), Value{});
  EXPECT_EQ(value("interface[rail0]/class[3]"), Value::present());
}

TEST_F(EgressScheduler, RemovingClassesKeepsTheRate) {
  applies(kRoce);
  applies({{"interface[rail0]/class[0]", {}},
           {"interface[rail0]/class[3]", {}},
           {"interface[rail0]/class[6]", {}}});
  EXPECT_EQ(value("interface[rail0]/rate"), Value::integer(1'000'000'000));
  EXPECT_TRUE(observed().have.of_row(row("interface[*]/class[*]")).empty());
  EXPECT_NE(said("tc", "qdisc show dev rail0").find("tbf"), std::string::npos);
  applies(kRoce);
  for (const auto& [leaf, want] : kRoce) EXPECT_EQ(value(leaf), want) << leaf;
}

TEST_F(EgressScheduler, DetectsAndRestoresAManuallyRemovedDscp) {
  applies(kRoce);
  ASSERT_EQ(tc("class change dev rail0 parent 4c53:1 classid 4c53:13 htb rate 100mbit ceil 2gbit prio 1"), 0);
  EXPECT_EQ(value("interface[rail0]/class[3]/share"), Value::integer(105));
  applies({{"interface[rail0]/class[3]/share", Value::integer(600)}});
  EXPECT_EQ(value("interface[rail0]/class[3]/share"), Value::integer(600));
  ASSERT_EQ(tc("filter del dev rail0 parent 4c53: pref 76 protocol ip"), 0);
  ASSERT_EQ(tc("filter del dev rail0 parent 4c53: pref 77 protocol ipv6"), 0);
  EXPECT_EQ(value("interface[rail0]/class[3]/dscp"), Value{});
  applies({{"interface[rail0]/class[3]/dscp", Value::set({"24", "26"})}});
  EXPECT_EQ(value("interface[rail0]/class[3]/dscp"), Value::set({"24", "26"}));
}

TEST_F(EgressScheduler, ForeignIngressQdiscStays) {
  ASSERT_EQ(tc("qdisc add dev rail0 clsact"), 0);
  applies(kRoce);
  applies({{"interface[rail0]/rate", Value::integer(500'000'000)}});
  EXPECT_NE(said("tc", "qdisc show dev rail0").find("clsact"), std::string::npos);
}

// The port with its classes and resolved neighbours, so that packets leave at once.
class SentByClass : public EgressScheduler {
 protected:
  void SetUp() override {
    EgressScheduler::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    applies(kRoce);
    ASSERT_EQ(ip("address add 10.64.0.1/31 dev rail0"), 0);
    ASSERT_EQ(ip("address add 2001:db8::1/64 dev rail0 nodad"), 0);
    bring_up();
    ASSERT_EQ(shell("ip -n " + name_ + "p address add 10.64.0.0/31 dev swp1"), 0);
    ASSERT_EQ(shell("ip -n " + name_ + "p address add 2001:db8::2/64 dev swp1 nodad"), 0);
    ASSERT_EQ(ip("neighbour add 10.64.0.0 lladdr 02:00:00:00:00:01 dev rail0"), 0);
    ASSERT_EQ(ip("neighbour add 2001:db8::2 lladdr 02:00:00:00:00:01 dev rail0"), 0);
  }
  int sent(const std::string& minor) const {
    const std::string text = said("tc", "-s class show dev rail0 classid 4c53:" + minor);
    const std::size_t at = text.find("bytes ");
    return at == std::string::npos ? -1 : std::atoi(text.c_str() + at + 6);
  }
};

TEST_F(SentByClass, PacketsGoToTheClassOfTheirDscp) {
  const int before = sent("13");
  send(AF_INET, "10.64.0.0", 26);
  EXPECT_GE(sent("13"), before + kPackets);
  const int after_four = sent("13");
  send(AF_INET6, "2001:db8::2", 26);
  EXPECT_GE(sent("13"), after_four + kPackets);
  const int strict = sent("16");
  send(AF_INET, "10.64.0.0", 48);
  EXPECT_GE(sent("16"), strict + kPackets);
}

// A foreign filter ahead of ours, and one in place of ours with more conditions: the counters of the kernel
// show where packets went.
TEST_F(SentByClass, AForeignFilterAheadOfOursIsDetectedAndRepaired) {
  const std::string ahead =
      "filter add dev rail0 parent 4c53: pref 5 protocol ip u32 match ip dsfield 0x68 0xfc flowid 4c53:10";
  ASSERT_EQ(tc(ahead), 0);
  const int before = sent("10");
  send(AF_INET, "10.64.0.0", 26);
  EXPECT_GE(sent("10"), before + kPackets);
  EXPECT_EQ(value("interface[rail0]/class[3]/dscp"), Value::set({"24"}));
  applies({{"interface[rail0]/class[3]/dscp", Value::set({"24", "26"})}});
  const auto is_right = [&] {
    const int in_class = sent("13");
    send(AF_INET, "10.64.0.0", 26);
    return sent("13") >= in_class + kPackets;
  };
  EXPECT_TRUE(is_right());
  ASSERT_EQ(tc("filter del dev rail0 parent 4c53: pref 76 protocol ip"), 0);
  ASSERT_EQ(
      tc("filter add dev rail0 parent 4c53: pref 76 protocol ip handle ::1b u32 match ip dsfield 0x68 0xfc "
         "indev lo flowid 4c53:13"),
      0);
  EXPECT_FALSE(is_right());
  EXPECT_EQ(value("interface[rail0]/class[3]/dscp"), Value{});
  applies({{"interface[rail0]/class[3]/dscp", Value::set({"24", "26"})}});
  EXPECT_TRUE(is_right());
}

TEST(PortScheduler, RefusesImpossibleValues) {
  PortScheduler scheduler;
  scheduler.rate = 12;
  EXPECT_FALSE(check(scheduler, {}));
  scheduler.rate = 1'000'000'004;  // not a whole number of bytes
  EXPECT_FALSE(check(scheduler, {}));
  scheduler.rate = 1'000'000'000;
  EXPECT_TRUE(check(scheduler, {}));
  scheduler.classes[3].dscp = {26};
  scheduler.classes[4].dscp = {26};
  EXPECT_FALSE(check(scheduler, {}));
  scheduler.classes[4].dscp = {64};
  EXPECT_FALSE(check(scheduler, {}));
  scheduler.classes.erase(4);
  scheduler.classes[8];
  EXPECT_FALSE(check(scheduler, {}));
}

}  // namespace
}  // namespace lockstep
