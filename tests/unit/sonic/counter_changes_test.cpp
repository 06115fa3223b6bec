// What changed between two readings of a switch in a real Redis, and what was reset in between.
#include <gtest/gtest.h>

#include "tests/unit/sonic/counter_samples.hpp"

namespace lockstep::sonic {
namespace {

class SonicCounterChanges : public testing::Test {
 protected:
  void SetUp() override {
    LOCKSTEP_NEEDS_REDIS();
    redis_ = std::make_unique<RedisProcess>();
    load_small_switch(*redis_);
    counters_ = std::make_unique<SonicCounters>(counters_of(*redis_));
    before_ = read();
  }

  CounterReading read() {
    auto reading = counters_->read(patient());
    EXPECT_TRUE(reading) << said(reading);
    return reading ? *std::move(reading) : CounterReading{};
  }
  void set(const std::string& row, const std::string& field, const std::string& value) {
    set_counter(*redis_, row, field, value);
  }
  // "Ethernet0 port/rx-bytes +5" of what is not simply unchanged, one on each line.
  std::string changed() {
    const auto changes = changes_between(before_, read());
    EXPECT_TRUE(changes) << said(changes);
    std::string out;
    for (const CounterChange& one : changes->changes) {
      if (one.by == 0U) continue;
      out += one.id.port + " " + one.id.name + " ";
      out += one.by ? "+" + std::to_string(*one.by) : std::string(to_string(one.continuity));
      out += "\n";
    }
    for (const CounterId& id : changes->appeared) out += id.port + " " + id.name + " appeared\n";
    for (const CounterId& id : changes->vanished) out += id.port + " " + id.name + " vanished\n";
    return out;
  }

  std::unique_ptr<RedisProcess> redis_;
  std::unique_ptr<SonicCounters> counters_;
  CounterReading before_;
};

TEST_F(SonicCounterChanges, CountsHaveDifferencesGaugesAndWatermarksHaveNone) {
  set("COUNTERS:oid:0x1", "SAI_PORT_STAT_IF_IN_OCTETS", "1250");
  set("RATES:oid:0x1", "RX_BPS", "9000");
  set("USER_WATERMARKS:oid:0x13", "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES", "900");
  set("COUNTERS:oid:0x13", "PFC_WD_STATUS", "operational");
  EXPECT_EQ(changed(), "Ethernet0 port/rx-bytes +250\n");
}

TEST_F(SonicCounterChanges, ACounterThatFellWasResetWithItsObject) {
  set("COUNTERS:oid:0x1", "SAI_PORT_STAT_IF_IN_OCTETS", "4");     // fell
  set("COUNTERS:oid:0x1", "SAI_PORT_STAT_PFC_3_RX_PKTS", "9");    // was reset as well, and passed 7 already
  set("COUNTERS:oid:0x2", "SAI_PORT_STAT_IF_IN_OCTETS", "3500");  // another port
  EXPECT_EQ(changed(),
            "Ethernet0 port/fec/codewords[15] reset: another counter of the same object fell\n"
            "Ethernet0 port/pfc[3]/rx-pauses reset: another counter of the same object fell\n"
            "Ethernet0 port/rx-bytes reset: it fell\n"
            "Ethernet0 port/tx-bytes reset: another counter of the same object fell\n"
            "Ethernet4 port/rx-bytes +500\n");
}

// The watchdog starts its counts anew without the queue's.
TEST_F(SonicCounterChanges, GroupsOfAnObjectAreResetApart) {
  set("COUNTERS:oid:0x13", "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED", "0");
  set("COUNTERS:oid:0x13", "SAI_QUEUE_STAT_PACKETS", "60");
  EXPECT_EQ(changed(),
            "Ethernet0 queue[3]/packets +10\n"
            "Ethernet0 queue[3]/watchdog/storms reset: it fell\n");
}

TEST_F(SonicCounterChanges, ANewOidIsANewCount) {
  set("COUNTERS_PORT_NAME_MAP", "Ethernet4", "oid:0x99");
  set("COUNTERS:oid:0x99", "SAI_PORT_STAT_IF_IN_OCTETS", "5000");
  set("COUNTERS:oid:0x99", "SAI_PORT_STAT_IF_OUT_OCTETS", "1");
  EXPECT_EQ(changed(),
            "Ethernet4 port/rx-bytes reset: the device has a new object for it\n"
            "Ethernet4 port/tx-bytes appeared\n"
            "Ethernet4 port/pfc[3]/rx-pauses vanished\n");
}

// After a restart two ports have exchanged their OIDs, and both counters are higher than before.
TEST_F(SonicCounterChanges, ExchangedOidsGiveNoDifference) {
  set("COUNTERS_PORT_NAME_MAP", "Ethernet0", "oid:0x2");
  set("COUNTERS_PORT_NAME_MAP", "Ethernet4", "oid:0x1");
  set("COUNTERS:oid:0x1", "SAI_PORT_STAT_IF_IN_OCTETS", "9000");
  set("COUNTERS:oid:0x2", "SAI_PORT_STAT_IF_IN_OCTETS", "9000");
  const std::string said_changes = changed();
  EXPECT_EQ(said_changes.find("+"), std::string::npos) << said_changes;
  EXPECT_NE(said_changes.find("Ethernet0 port/rx-bytes reset: the device has a new object"),
            std::string::npos);
}

TEST_F(SonicCounterChanges, ARestartedRedisResetsAll) {
  redis_->restart();
  load_small_switch(*redis_);
  set("COUNTERS:oid:0x1", "SAI_PORT_STAT_IF_IN_OCTETS", "1250");
  const auto changes = changes_between(before_, read());
  ASSERT_TRUE(changes) << said(changes);
  EXPECT_GT(changes->changes.size(), 5U);
  for (const CounterChange& one : changes->changes) {
    EXPECT_EQ(one.continuity, CounterContinuity::keeper_restarted) << one.id.name;
    EXPECT_EQ(one.by, std::nullopt) << one.id.name;
  }
}

// syncd leaves the last values when a group is turned off.
TEST_F(SonicCounterChanges, AGroupThatIsOffDoesNotCount) {
  load(*redis_, kConfigDatabase, {{"FLEX_COUNTER_TABLE|PORT", {{"FLEX_COUNTER_STATUS", "disable"}}}});
  set("COUNTERS:oid:0x13", "SAI_QUEUE_STAT_PACKETS", "51");
  EXPECT_EQ(changed(),
            "Ethernet0 port/fec/codewords[15] not counted: its group is off\n"
            "Ethernet0 port/pfc[3]/rx-pauses not counted: its group is off\n"
            "Ethernet0 port/rx-bytes not counted: its group is off\n"
            "Ethernet0 port/tx-bytes not counted: its group is off\n"
            "Ethernet0 queue[3]/packets +1\n"
            "Ethernet4 port/pfc[3]/rx-pauses not counted: its group is off\n"
            "Ethernet4 port/rx-bytes not counted: its group is off\n");
}

TEST_F(SonicCounterChanges, TheSecondReadingMustBeLater) {
  const CounterReading after = read();
  EXPECT_TRUE(changes_between(before_, after));
  EXPECT_EQ(said(changes_between(after, before_)),
            "invalid spec: the second reading of counters is not later than the first");
}

}  // namespace
}  // namespace lockstep::sonic
