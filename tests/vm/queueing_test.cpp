// Traffic classes of a port by ETS, as configured by the linux driver, on a kernel with ETS, flower and
// skbedit.
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include <algorithm>

#include "drivers/linux/queueing/carrier.hpp"
#include "drivers/linux/session.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/vm/class_packets.hpp"
#include "tests/vm/egress_lab.hpp"

namespace lockstep {
namespace {

constexpr std::uint32_t kEtsMajor = 0x4C5C;

std::vector<std::string> all_but(const std::vector<std::string>& some, int end) {
  std::vector<std::string> out;
  for (int one = 0; one < end; ++one)
    if (std::ranges::find(some, std::to_string(one)) == some.end()) out.push_back(std::to_string(one));
  return out;
}

// Entries as compiled from specs: all DSCPs and priorities are in a class.
const Entries kRoce = {{"interface[rail0]/rate", Value::integer(100'000'000)},
                       {"interface[rail0]/class[0]", Value::present()},
                       {"interface[rail0]/class[0]/dscp", Value::set(all_but({"24", "26", "48"}, 64))},
                       {"interface[rail0]/class[0]/priority", Value::set(all_but({"3", "6"}, 8))},
                       {"interface[rail0]/class[0]/share", Value::integer(400)},
                       {"interface[rail0]/class[0]/strict", Value::boolean(false)},
                       {"interface[rail0]/class[3]", Value::present()},
                       {"interface[rail0]/class[3]/dscp", Value::set({"24", "26"})},
                       {"interface[rail0]/class[3]/ecn-max", Value::integer(400'000)},
                       {"interface[rail0]/class[3]/ecn-min", Value::integer(100'000)},
                       {"interface[rail0]/class[3]/ecn-probability", Value::integer(50)},
                       {"interface[rail0]/class[3]/priority", Value::set({"3"})},
                       {"interface[rail0]/class[3]/share", Value::integer(600)},
                       {"interface[rail0]/class[3]/strict", Value::boolean(false)},
                       {"interface[rail0]/class[6]", Value::present()},
                       {"interface[rail0]/class[6]/dscp", Value::set({"48"})},
                       {"interface[rail0]/class[6]/ecn-max", Value::integer(20'000)},
                       {"interface[rail0]/class[6]/ecn-min", Value::integer(10'000)},
                       {"interface[rail0]/class[6]/ecn-probability", Value::integer(1000)},
                       {"interface[rail0]/class[6]/max-rate", Value::integer(50'000'000)},
                       {"interface[rail0]/class[6]/priority", Value::set({"6"})},
                       {"interface[rail0]/class[6]/strict", Value::boolean(true)}};

// Classes 0 and 3 with these shares and a strict class 6 on a port that sends 100 bytes per millisecond.
Entries slow(std::int64_t share0, std::int64_t share3) {
  return {{"interface[rail0]/rate", Value::integer(800'000)},
          {"interface[rail0]/class[0]", Value::present()},
          {"interface[rail0]/class[0]/dscp", Value::set({"0"})},
          {"interface[rail0]/class[0]/share", Value::integer(share0)},
          {"interface[rail0]/class[3]", Value::present()},
          {"interface[rail0]/class[3]/dscp", Value::set({"26"})},
          {"interface[rail0]/class[3]/share", Value::integer(share3)},
          {"interface[rail0]/class[6]", Value::present()},
          {"interface[rail0]/class[6]/dscp", Value::set({"48"})},
          {"interface[rail0]/class[6]/strict", Value::boolean(true)}};
}

class Ets : public EgressLab {
 protected:
  void SetUp() override {
    const auto carrier = software_carrier(soon());
    ASSERT_TRUE(carrier) << carrier.error().text();
    ASSERT_EQ(*carrier, Carrier::ets);
    EgressLab::SetUp();
  }
  static void tc(const std::string& line) {
    ASSERT_TRUE(
        in_namespace("/run/netns/sender", [&] { EXPECT_EQ(std::system(("tc " + line).c_str()), 0); }));
  }
  static std::set<std::string> qdiscs() {
    std::set<std::string> out;
    EXPECT_TRUE(in_namespace("/run/netns/sender", [&] {
      auto socket = netlink::Socket::open(NETLINK_ROUTE);
      ASSERT_TRUE(socket);
      const auto all = read_qdiscs(*socket, soon());
      ASSERT_TRUE(all);
      for (const Qdisc& one : *all)
        if (one.handle != 0) out.insert(one.kind);
    }));
    return out;
  }
  // The bands by which such frames leave, counted from 1.
  static std::set<std::uint32_t> bands_of(const Frames& frames) {
    std::set<std::uint32_t> out;
    EXPECT_TRUE(in_namespace("/run/netns/sender", [&] { out = classes_of("rail0", frames, kEtsMajor, 1); }));
    return out;
  }
  void expect_as_wanted(const Entries& wanted) {
    for (const Change& one : differing(*near_.driver, wanted))
      ADD_FAILURE() << one.path.text() << " is " << one.was.to_string();
  }
};

TEST_F(Ets, ClassesAreBandsThatReadBackAsDesired) {
  EXPECT_EQ(converge(kRoce), kRoce.size());
  expect_as_wanted(kRoce);
  EXPECT_EQ(qdiscs(), (std::set<std::string>{"bfifo", "clsact", "ets", "red", "tbf"}));
  const Tree made = observed(*near_.driver).have;
  ChangeSet again;
  for (const auto& [entry, want] : kRoce) again.push_back({path(entry), want, want, 0});
  apply(*near_.driver, again);
  EXPECT_EQ(observed(*near_.driver).have.to_string(), made.to_string());
}

TEST_F(Ets, EachEntryChangesAndChangesBack) {
  converge(kRoce);
  const std::vector<std::pair<std::string, Value>> others = {
      {"interface[rail0]/rate", Value::integer(200'000'000)},
      {"interface[rail0]/class[0]/share", Value::integer(300)},
      {"interface[rail0]/class[0]/strict", Value::boolean(true)},
      {"interface[rail0]/class[3]/dscp", Value::set({"24", "26", "28"})},
      {"interface[rail0]/class[3]/priority", Value::set({"3", "4"})},
      {"interface[rail0]/class[3]/ecn-max", Value::integer(500'000)},
      {"interface[rail0]/class[6]/ecn-max", Value::integer(30'000)},
      {"interface[rail0]/class[6]/max-rate", Value::integer(20'000'000)}};
  for (const auto& [entry, want] : others) {
    converge({{entry, want}});
    EXPECT_EQ(value(entry), want) << entry;
    converge(kRoce);
    expect_as_wanted(kRoce);
  }
  for (const std::string gone : {"rate", "class[6]/max-rate", "class[0]/share"}) {
    const Path entry = path("interface[rail0]/" + gone);
    apply(*near_.driver, {{entry, Value::integer(1), Value{}, 0}});
    EXPECT_EQ(value(entry.text()), Value{}) << gone << ": " << value(entry.text()).to_string();
    converge(kRoce);
    expect_as_wanted(kRoce);
  }
}

TEST_F(Ets, RemovesMarkersAndClassesAndKeepsTheRate) {
  converge(kRoce);
  ChangeSet gone;
  for (const char* entry : {"ecn-max", "ecn-min", "ecn-probability"})
    for (const char* number : {"3", "6"})
      gone.push_back({path("interface[rail0]/class[" + std::string(number) + "]/" + entry), {}, Value{}, 0});
  apply(*near_.driver, gone);
  EXPECT_EQ(qdiscs(), (std::set<std::string>{"bfifo", "clsact", "ets", "tbf"}));
  EXPECT_EQ(value("interface[rail0]/class[6]/max-rate"), Value::integer(50'000'000));
  gone.clear();
  for (const char* number : {"0", "3", "6"})
    gone.push_back({path("interface[rail0]/class[" + std::string(number) + "]"), {}, Value{}, 0});
  apply(*near_.driver, gone);
  EXPECT_EQ(qdiscs(), (std::set<std::string>{"clsact", "tbf"}));
  EXPECT_EQ(value("interface[rail0]/rate"), Value::integer(100'000'000));
  EXPECT_TRUE(observed(*near_.driver).have.of_row(row("interface[*]/class[*]")).empty());
  converge(kRoce);
  expect_as_wanted(kRoce);
}

TEST_F(Ets, DetectsAndRepairsManualChanges) {
  converge(kRoce);
  for (const std::string by_hand :
       {// Without a map, all priorities go to the last band.
        "qdisc change dev rail0 parent 4c53:1 handle 4c5c: ets bands 3 strict 1 quanta 36000 24000",
        "class change dev rail0 classid 4c5c:2 ets quantum 3000",
        "qdisc replace dev rail0 parent 4c5c:3 handle 77: pfifo", "qdisc del dev rail0 parent 4c5c:2",
        "qdisc change dev rail0 root handle 4c53: tbf rate 50mbit burst 64kb limit 512kb",
        "qdisc change dev rail0 parent 4c5c:1 handle 4c5a: tbf rate 40mbit burst 64kb limit 512kb",
        "qdisc replace dev rail0 root handle 1: htb", "qdisc del dev rail0 root",
        "filter del dev rail0 egress pref 82", "filter del dev rail0 egress pref 83 protocol ipv6",
        "filter del dev rail0 egress pref 80",
        "filter replace dev rail0 egress pref 82 handle 0x1b protocol ip flower ip_tos 0x68/0xfc action "
        "skbedit priority 8 continue",
        "filter replace dev rail0 egress pref 82 handle 0x1b protocol ip flower ip_tos 0x68/0xfc action "
        "skbedit mark 1",
        "qdisc del dev rail0 clsact"}) {
    tc(by_hand);
    EXPECT_FALSE(differing(*near_.driver, kRoce).empty()) << by_hand;
    converge(kRoce);
    expect_as_wanted(kRoce);
    ASSERT_FALSE(HasFailure()) << by_hand;
  }
}

TEST_F(Ets, ForeignFiltersStayAndRemainInEffect) {
  tc("qdisc add dev rail0 clsact");
  tc("filter add dev rail0 egress pref 10 protocol ip flower dst_ip 192.0.2.1 action skbedit mark 7 "
     "continue");
  tc("filter add dev rail0 egress pref 99 protocol ip flower ip_tos 0x68/0xfc action skbedit priority 6");
  converge(kRoce);
  // The last filter decides.
  EXPECT_EQ(bands_of({.dscp = 26}), std::set{1U});
  tc("filter del dev rail0 egress pref 99");
  tc("filter del dev rail0 egress pref 10");  // fails unless it is there
  expect_as_wanted(kRoce);
}

// Bands: class 6, then 3, then 0.
TEST_F(Ets, APacketIsInTheBandOfItsDscpWhateverItsPriority) {
  converge(kRoce);
  for (const bool v6 : {false, true})
    for (const int priority : {0, 3, 6}) {
      const auto bands = [&](int dscp) { return bands_of({.v6 = v6, .dscp = dscp, .priority = priority}); };
      EXPECT_EQ(bands(26), std::set{2U});
      EXPECT_EQ(bands(24), std::set{2U});
      EXPECT_EQ(bands(48), std::set{1U});
      EXPECT_EQ(bands(0), std::set{3U});
      EXPECT_EQ(bands(63), std::set{3U});
    }
}

TEST_F(Ets, APacketWithoutADscpOfAClassIsInTheBandOfItsPriority) {
  converge(slow(400, 600));
  converge({{"interface[rail0]/class[3]/priority", Value::set({"3", "4"})}});
  EXPECT_EQ(value("interface[rail0]/class[0]/priority"), Value::set(all_but({"3", "4"}, 8)));
  const auto bands = [&](int dscp, int priority) { return bands_of({.dscp = dscp, .priority = priority}); };
  EXPECT_EQ(bands(10, 3), std::set{2U});
  EXPECT_EQ(bands(10, 4), std::set{2U});
  EXPECT_EQ(bands(10, 5), std::set{3U});
  EXPECT_EQ(bands(0, 3), std::set{3U});
}

// Packets of class 0 wait; later packets of class 6 leave first.
TEST_F(Ets, StrictGoesBeforeShares) {
  constexpr int kWaiting = 200;
  constexpr int kStrict = 20;
  converge(slow(500, 500));
  send(0, 0, kWaiting);
  send(48, 0, kStrict);
  const std::vector<Arrival> all = receive(kWaiting + kStrict);
  const auto is_strict = [](const Arrival& one) { return one.dscp == 48; };
  const auto first = std::ranges::find_if(all, is_strict);
  const auto last = std::ranges::find_if(all.rbegin(), all.rend(), is_strict).base();
  // Only packets that left during sending can lie between them.
  const auto between = (last - first) - kStrict;
  EXPECT_GT(all.end() - last, 2 * between + kStrict);
}

// Shares that do not add up to 100 % are relative to their sum; small shares make short turns.
TEST_F(Ets, SharesAreOfBytesWhileBothClassesWait) {
  constexpr std::size_t kEach = 240;
  // Packets before the first one that surely waited: the bucket, and what left during sending.
  constexpr std::size_t kBefore = 2 * kBucket / kFrame;
  for (const auto& [share0, share3] : {std::pair{50, 150}, {90, 60}}) {
    converge(slow(share0, share3));
    for (std::size_t sent = 0; sent < kEach; sent += 10) {
      send(0, 0, 10);
      send(26, 0, 10);
    }
    const std::vector<Arrival> all = receive(2 * kEach);
    // Up to the point where one of the two has no packets left.
    const int first_done = share0 > share3 ? 0 : 26;
    const auto last = std::ranges::find(all.rbegin(), all.rend(), first_done, &Arrival::dscp).base();
    ASSERT_GT(last - all.begin(), static_cast<std::ptrdiff_t>(kBefore + 100));
    const auto of_class_0 =
        std::count_if(all.begin() + kBefore, last, [](const Arrival& one) { return one.dscp == 0; });
    const auto percent =
        100.0 * static_cast<double>(of_class_0) / static_cast<double>(last - all.begin() - kBefore);
    EXPECT_NEAR(percent, 100.0 * share0 / (share0 + share3), 5);
  }
}

TEST_F(Ets, RedMarksInItsClassOnly) {
  constexpr int kPackets = 120;
  constexpr std::int64_t kThreshold = 20'000;
  converge(both(slow(500, 500), marker(kThreshold, kThreshold, 1000)));
  send(0, kEct0, kPackets);
  for (const Arrival& one : receive(kPackets)) EXPECT_FALSE(one.marked);
  send(26, kEct0, kPackets);
  const std::vector<Arrival> all = receive(kPackets);
  const auto first = std::ranges::find(all, true, &Arrival::marked);
  EXPECT_NE(first, all.end());
  EXPECT_GE((first - all.begin()) * kFrame, kThreshold);
}

TEST_F(Ets, AMaxRateLimitsItsClassOnly) {
  constexpr int kPackets = 90;
  Entries wanted = slow(500, 500);
  wanted["interface[rail0]/rate"] = Value::integer(100'000'000);
  wanted["interface[rail0]/class[6]/max-rate"] = Value::integer(80'000);
  converge(wanted);
  send(48, 0,
       kPackets);  // 28 beyond its bucket, 0.1 s each, so that many still wait when the others are sent
  send(0, 0, kPackets);
  const std::vector<Arrival> all = receive(2 * kPackets);
  EXPECT_EQ(all.back().dscp, 48);
  const auto others = std::ranges::find(all.rbegin(), all.rend(), 0, &Arrival::dscp).base();
  EXPECT_GE(all.end() - others, 10);
}

TEST_F(Ets, RefusesAMaxRateForAClassWithAShare) {
  converge(kRoce);
  const std::string before = observed(*near_.driver).have.to_string();
  const auto receipt = near_.driver->apply(
      {{path("interface[rail0]/class[3]/max-rate"), {}, Value::integer(1'000'000), 0}}, Guard{}, soon());
  ASSERT_TRUE(receipt);
  ASSERT_TRUE(receipt->outcomes[0].error);
  EXPECT_EQ(receipt->outcomes[0].error->kind, ErrorKind::refused);
  EXPECT_NE(receipt->outcomes[0].error->what.find("would hold up the others"), std::string::npos);
  EXPECT_EQ(observed(*near_.driver).have.to_string(), before);
}

// As after a change of the kernel: classes of HTB are read, and the next change replaces them.
TEST_F(Ets, ReadsAndTakesOverClassesOfHtb) {
  PortScheduler scheduler;
  scheduler.rate = 100'000'000;
  scheduler.classes[0].dscp = {0};
  scheduler.classes[0].share = 400;
  scheduler.classes[3].dscp = {26};
  scheduler.classes[3].share = 600;
  ASSERT_TRUE(in_namespace("/run/netns/sender", [&] {
    auto session = Session::open(soon());
    ASSERT_TRUE(session);
    const auto set = session->set_scheduler("rail0", scheduler, Carrier::htb);
    ASSERT_TRUE(set) << set.error().text();
  }));
  EXPECT_TRUE(qdiscs().contains("htb"));
  const Entries wanted = {{"interface[rail0]/class[0]/share", Value::integer(400)},
                          {"interface[rail0]/class[3]/dscp", Value::set({"26"})},
                          {"interface[rail0]/class[3]/share", Value::integer(600)}};
  expect_as_wanted(wanted);
  converge({{"interface[rail0]/class[3]/priority", Value::set({"3"})}});
  EXPECT_EQ(qdiscs(), (std::set<std::string>{"bfifo", "clsact", "ets", "tbf"}));
  expect_as_wanted(wanted);
}

}  // namespace
}  // namespace lockstep
