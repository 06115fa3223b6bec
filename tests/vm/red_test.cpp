// ECN by RED in HTB classes, as configured by the linux driver, on a kernel with RED and without ETS.
#include <gtest/gtest.h>
#include <linux/pkt_sched.h>

#include <algorithm>

#include "drivers/linux/ecn_red.hpp"
#include "drivers/linux/kernel_state.hpp"
#include "drivers/linux/traffic_control.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/vm/egress_lab.hpp"

namespace lockstep {
namespace {

constexpr int kRdma = 26;   // a DSCP of class 3
constexpr int kOthers = 0;  // a DSCP of class 0
// The queue is empty for the first 64 KiB, the bucket of the class, and then grows with nearly each packet:
// the port sends 50 bytes per millisecond.
constexpr int kPackets = 120;
const Entries kPort = {{"interface[rail0]/rate", Value::integer(400'000)},
                       {"interface[rail0]/class[0]", Value::present()},
                       {"interface[rail0]/class[0]/dscp", Value::set({"0"})},
                       {"interface[rail0]/class[0]/share", Value::integer(500)},
                       {"interface[rail0]/class[3]", Value::present()},
                       {"interface[rail0]/class[3]/dscp", Value::set({"26"})},
                       {"interface[rail0]/class[3]/share", Value::integer(500)}};

class Red : public EgressLab {
 protected:
  void SetUp() override {
    EgressLab::SetUp();
    const Observation seen = observed(*near_.driver);
    for (const RowId one : {row("interface[*]/class[*]/ecn-max"), row("interface[*]/class[*]/ecn-min"),
                            row("interface[*]/class[*]/ecn-probability")})
      for (const Incapable& cannot : seen.incapable) ASSERT_NE(cannot.row, one) << cannot.reason;
  }

  // Manually sets a red qdisc with any parameters at class 3.
  void replace_by_hand(std::uint32_t handle, const RedParameters& red) {
    ASSERT_TRUE(in_namespace("/run/netns/sender", [&] {
      auto socket = netlink::Socket::open(NETLINK_ROUTE);
      ASSERT_TRUE(socket);
      const auto links = read_links(*socket, soon());
      ASSERT_TRUE(links);
      for (const Link& one : *links) {
        if (one.name != "rail0") continue;
        auto request = red_request(one.index, handle, 0x4C530013, red);
        const auto answer = socket->change(request, soon());
        ASSERT_TRUE(answer);
        EXPECT_EQ(answer->code, 0) << answer->extack;
      }
    }));
  }

  // Sends a burst and receives all of it; returns, in order, which packets are marked.
  std::vector<bool> burst(int dscp, int ecn) {
    send(dscp, ecn, kPackets);
    std::vector<bool> out;
    for (const Arrival& one : receive(kPackets)) out.push_back(one.marked);
    return out;
  }
};

std::ptrdiff_t count(const std::vector<bool>& marked) {
  return std::count(marked.begin(), marked.end(), true);
}

TEST_F(Red, AddsChangesAndRemovesThresholdsAndASecondApplyIsEmpty) {
  converge(kPort);
  const Tree bare = observed(*near_.driver).have;
  const Entries first = marker(100'000, 400'000, 100);
  EXPECT_EQ(converge(first), 3U);
  for (const auto& [entry, want] : first) EXPECT_EQ(value(entry), want) << entry;
  EXPECT_EQ(converge(first), 0U);
  const Tree made = observed(*near_.driver).have;

  const Entries second = marker(1, 1 << 29, 1000);
  EXPECT_EQ(converge(second), 3U);
  EXPECT_EQ(converge(second), 0U);
  EXPECT_EQ(converge(first), 3U) << "the change undone";
  EXPECT_EQ(observed(*near_.driver).have.to_string(), made.to_string());

  ChangeSet gone;
  for (const auto& [entry, was] : first) gone.push_back({path(entry), was, Value{}, 0});
  apply(*near_.driver, gone);
  EXPECT_EQ(observed(*near_.driver).have.to_string(), bare.to_string());
  apply(*near_.driver, gone);
  EXPECT_EQ(observed(*near_.driver).have.to_string(), bare.to_string());
}

TEST_F(Red, EveryProbabilityReadsBack) {
  converge(kPort);
  for (const std::int64_t share : {0, 1, 7, 50, 999, 1000}) {
    converge(marker(1000, 2000, share));
    EXPECT_EQ(value("interface[rail0]/class[3]/ecn-probability"), Value::integer(share));
  }
}

TEST_F(Red, AnIncompleteOrInvertedMarkerIsRefusedAndChangesNothing) {
  converge(kPort);
  const std::string before = observed(*near_.driver).have.to_string();
  Entries parts = marker(100'000, 400'000, 100);
  parts.erase("interface[rail0]/class[3]/ecn-min");
  for (const Entries& wrong : {parts, marker(400'000, 100'000, 100), marker(0, 0xFFFFFFFF, 100)}) {
    ChangeSet changes;
    for (const auto& [entry, want] : wrong) changes.push_back({path(entry), Value{}, want, 0});
    const auto receipt = near_.driver->apply(changes, Guard{}, soon());
    ASSERT_TRUE(receipt);
    for (const Receipt::Outcome& one : receipt->outcomes) {
      ASSERT_TRUE(one.error);
      EXPECT_EQ(one.error->kind, ErrorKind::invalid_spec) << one.error->text();
    }
  }
  EXPECT_EQ(observed(*near_.driver).have.to_string(), before);
}

TEST_F(Red, AForeignRedIsDriftAndIsRepaired) {
  const Entries wanted = both(kPort, marker(100'000, 400'000, 100));
  converge(wanted);
  RedParameters dropping = red_for({100'000, 400'000, 10});
  dropping.flags = TC_RED_ECN;  // drops packets that cannot be marked
  RedParameters averaging = red_for({100'000, 400'000, 10});
  averaging.weight_log = 5;
  for (const RedParameters& one : {dropping, averaging}) {
    replace_by_hand(0x4C570000, one);
    EXPECT_EQ(converge(wanted), 3U);
    EXPECT_EQ(converge(wanted), 0U);
  }
  replace_by_hand(0x00770000, red_for({100'000, 400'000, 10}));
  EXPECT_EQ(converge(wanted), 3U) << "a queue under another's handle";
  EXPECT_EQ(converge(wanted), 0U);
}

TEST_F(Red, AForeignQueueStaysWhereNoMarkerIsDesired) {
  converge(kPort);
  replace_by_hand(0x00770000, red_for({100'000, 100'000, 10}));
  converge({{"interface[rail0]/class[0]/share", Value::integer(400)},
            {"interface[rail0]/class[3]/share", Value::integer(600)}});
  EXPECT_EQ(value("interface[rail0]/class[3]/ecn-min"), Value{});
  const Observation now = observed(*near_.driver);
  EXPECT_TRUE(now.notes.empty()) << now.notes.front();
  ASSERT_TRUE(in_namespace("/run/netns/sender", [&] {
    auto socket = netlink::Socket::open(NETLINK_ROUTE);
    ASSERT_TRUE(socket);
    const auto qdiscs = read_qdiscs(*socket, soon());
    ASSERT_TRUE(qdiscs);
    EXPECT_EQ(std::count_if(qdiscs->begin(), qdiscs->end(),
                            [](const Qdisc& one) { return one.handle == 0x00770000 && one.red; }),
              1);
  }));
}

TEST_F(Red, TheObservationReportsTheMarkerInUse) {
  converge(both(kPort, marker(100'000, 400'000, 100)));
  EXPECT_EQ(observed(*near_.driver).notes, std::vector<std::string>{"ECN is marked by RED, class by class"});
}

TEST_F(Red, NothingIsMarkedBelowTheLowerThreshold) {
  converge(both(kPort, marker(kPackets * kFrame, kPackets * kFrame, 1000)));
  EXPECT_EQ(count(burst(kRdma, kEct0)), 0);
}

TEST_F(Red, EveryPacketIsMarkedAboveTheUpperThreshold) {
  constexpr std::int64_t kThreshold = 20'000;
  converge(both(kPort, marker(kThreshold, kThreshold, 1000)));
  const std::vector<bool> marked = burst(kRdma, kEct0);
  const auto first = std::find(marked.begin(), marked.end(), true);
  // The packets of the bucket and those below the threshold come before the first mark.
  EXPECT_GE((first - marked.begin()) * kFrame, kThreshold);
  // From here on the queue is above the threshold, even if the port sent for half a second meanwhile.
  constexpr std::int64_t kSentMeanwhile = 25'000;
  constexpr auto kSurely = static_cast<std::size_t>((kBucket + kThreshold + kSentMeanwhile) / kFrame + 1);
  static_assert(kSurely < kPackets);
  for (std::size_t i = kSurely; i < marked.size(); ++i) EXPECT_TRUE(marked[i]) << "packet " << i;
}

TEST_F(Red, OnlyTheClassWithThresholdsMarks) {
  converge(both(kPort, marker(5'000, 5'000, 1000)));
  EXPECT_EQ(count(burst(kOthers, kEct0)), 0);
  EXPECT_GT(count(burst(kRdma, kEct0)), 0);
}

TEST_F(Red, BetweenTheThresholdsTheProbabilityApplies) {
  // One percent at 512 MiB is one in a million at the 60 KB that wait here.
  converge(both(kPort, marker(0, 1 << 29, 10)));
  EXPECT_LE(count(burst(kRdma, kEct0)), 1);
  converge(marker(0, kPackets * kFrame, 1000));
  const auto some = count(burst(kRdma, kEct0));
  EXPECT_GT(some, 1);
  EXPECT_LT(some, kPackets);
}

TEST_F(Red, PacketsThatCannotBeMarkedAreNotDropped) {
  converge(both(kPort, marker(5'000, 5'000, 1000)));
  EXPECT_EQ(count(burst(kRdma, 0)), 0);  // all of them arrive, or burst() fails
}

}  // namespace
}  // namespace lockstep
