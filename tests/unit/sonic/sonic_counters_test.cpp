// Counters of a switch from a real Redis: names, values, what is absent, and what goes wrong meanwhile.
#include "drivers/sonic/sonic_counters.hpp"

#include <gtest/gtest.h>

#include "tests/unit/sonic/counter_samples.hpp"
#include "tests/unit/sonic/faulty_redis_proxy.hpp"

namespace lockstep::sonic {
namespace {

class SonicCounterReadings : public testing::Test {
 protected:
  void SetUp() override { LOCKSTEP_NEEDS_REDIS(); }

  static CounterReading read_or_fail(SonicCounters& counters) {
    auto reading = counters.read(patient());
    EXPECT_TRUE(reading) << said(reading);
    return reading ? *std::move(reading) : CounterReading{};
  }
};

TEST_F(SonicCounterReadings, NamesWhatEachTableHas) {
  const RedisProcess redis;
  load_small_switch(redis);
  SonicCounters counters = counters_of(redis);
  redis.commands();  // those of load_small_switch
  const CounterReading reading = read_or_fail(counters);
  for (const std::string& command : redis.commands())
    EXPECT_TRUE(command.starts_with("HGETALL ")) << command << ": it must not write";
  EXPECT_EQ(counters_said(reading, "Ethernet0"),
            "group[3]/dropped-packets=0\n"
            "port/fec/codewords[15]=2\n"
            "port/fec/post-ber=0\n"
            "port/fec/pre-ber=2.5e-09\n"
            "port/pfc[3]/rx-pauses=7\n"
            "port/rx-bytes=1000\n"
            "port/rx-bytes-per-second=1500\n"
            "port/tx-bytes=2000\n"
            "queue[3]/bytes=18446744073709551615\n"
            "queue[3]/ecn-marked-packets=9\n"
            "queue[3]/packets=50\n"
            "queue[3]/recent-watermark=0\n"
            "queue[3]/watchdog/stormed=1\n"
            "queue[3]/watchdog/storms=1\n"
            "queue[3]/watermark=400\n");
  EXPECT_EQ(counters_said(reading, "Ethernet4"), "port/pfc[3]/rx-pauses=0\nport/rx-bytes=3000\n");
  EXPECT_EQ(counters_said(reading, ""), "pool[ingress_lossless_pool]/watermark=8192\n");
  EXPECT_TRUE(reading.unreadable.empty());
  const ReadCounter* const pauses = reading.find("Ethernet0", "port/pfc[3]/rx-pauses");
  ASSERT_NE(pauses, nullptr);
  EXPECT_EQ(pauses->native, "SAI_PORT_STAT_PFC_3_RX_PKTS");
  EXPECT_EQ(pauses->object, "oid:0x1");
  EXPECT_EQ(reading.groups.at(pauses->group).name, "port");
  EXPECT_NE(redis.cli({"INFO", "server"}).find(reading.keeper), std::string::npos);
}

// watermarkorch writes 0 for each object, also where the ASIC measures nothing.
TEST_F(SonicCounterReadings, ClearedWatermarksThatNobodyMeasuresAreAbsent) {
  const RedisProcess redis;
  load_small_switch(redis);
  SonicCounters counters = counters_of(redis);
  EXPECT_EQ(read_or_fail(counters).find("Ethernet0", "group[3]/headroom-watermark"), nullptr);
  set_counter(redis, "COUNTERS:oid:0x23", "SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES", "0");
  const CounterReading reading = read_or_fail(counters);
  const ReadCounter* const watermark = reading.find("Ethernet0", "group[3]/headroom-watermark");
  ASSERT_NE(watermark, nullptr);
  EXPECT_EQ(watermark->whole(), 0U);
}

TEST_F(SonicCounterReadings, AbsentCountersAreNotZeroAndHaveAReason) {
  const RedisProcess redis;
  load_small_switch(redis);
  remove_counters(redis, {"DEL", "COUNTERS:oid:0x23"});
  remove_counters(redis, {"HDEL", "COUNTERS:oid:0x13", "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS"});
  SonicCounters counters = counters_of(redis);
  CounterReading reading = read_or_fail(counters);
  EXPECT_EQ(reading.find("Ethernet0", "queue[3]/ecn-marked-packets"), nullptr);
  EXPECT_EQ(why_absent(reading, "Ethernet0", "queue[3]/ecn-marked-packets"), "the device does not report it");
  EXPECT_EQ(why_absent(reading, "Ethernet0", "group[3]/dropped-packets"),
            "COUNTERS_PG_NAME_MAP names oid:0x23, which has no row COUNTERS:oid:0x23");
  EXPECT_EQ(why_absent(reading, "Ethernet0", "queue[4]/bytes"),
            "the device counts for no queue[4] of Ethernet0");
  EXPECT_EQ(why_absent(reading, "Ethernet8", "port/rx-bytes"), "the device counts for no port Ethernet8");
  EXPECT_EQ(why_absent(reading, "Ethernet0", "rdma/tx-cnps"), "this kind of device does not count it");
  EXPECT_EQ(why_absent(reading, "Ethernet0", "port/rx-bites"), "there is no counter of this name");
  EXPECT_EQ(why_absent(reading, "Ethernet0", "port/rx-bytes"), "") << "it is there";

  load(redis, kConfigDatabase, {{"FLEX_COUNTER_TABLE|WRED_ECN_QUEUE", {{"FLEX_COUNTER_STATUS", "disable"}}}});
  EXPECT_EQ(why_absent(read_or_fail(counters), "Ethernet0", "queue[3]/ecn-marked-packets"),
            "the switch does not read the group queue-ecn; FLEX_COUNTER_TABLE|WRED_ECN_QUEUE "
            "FLEX_COUNTER_STATUS=enable turns it on");
  load(redis, kStateDatabase, all_capabilities("false"));
  EXPECT_EQ(why_absent(read_or_fail(counters), "Ethernet0", "queue[3]/ecn-marked-packets"),
            "this device cannot count it (QUEUE_COUNTER_CAPABILITIES of STATE_DB)");
}

TEST_F(SonicCounterReadings, WhatIsNoNumberIsReported) {
  const RedisProcess redis;
  load_small_switch(redis);
  const std::vector<std::string> garbage{
      "", "N/A", "-1", "0x10", "nan", "inf", "1e400", "12 ", "99999999999999999999"};
  SonicCounters counters = counters_of(redis);
  for (const std::string& text : garbage) {
    set_counter(redis, "COUNTERS:oid:0x1", "SAI_PORT_STAT_PFC_3_RX_PKTS", text);
    const CounterReading reading = read_or_fail(counters);
    EXPECT_EQ(reading.find("Ethernet0", "port/pfc[3]/rx-pauses"), nullptr) << text;
    ASSERT_EQ(reading.unreadable.size(), 1U) << text;
    EXPECT_EQ(reading.unreadable[0].id, (CounterId{"Ethernet0", "port/pfc[3]/rx-pauses"}));
    EXPECT_EQ(why_absent(reading, "Ethernet0", "port/pfc[3]/rx-pauses"),
              "COUNTERS:oid:0x1 has '" + text + "' in SAI_PORT_STAT_PFC_3_RX_PKTS, which is no number");
    EXPECT_NE(reading.find("Ethernet0", "port/rx-bytes"), nullptr) << "the others stay";
  }
  set_counter(redis, "COUNTERS:oid:0x1", "SAI_PORT_STAT_PFC_3_RX_PKTS", "1.25e+03");  // as Lua may write it
  set_counter(redis, "COUNTERS:oid:0x13", "PFC_WD_STATUS", "asleep");
  const CounterReading reading = read_or_fail(counters);
  EXPECT_EQ(count_of(reading, "Ethernet0", "port/pfc[3]/rx-pauses"), 1250U);
  ASSERT_EQ(reading.unreadable.size(), 1U);
  EXPECT_EQ(reading.unreadable[0].id.name, "queue[3]/watchdog/stormed");
}

TEST_F(SonicCounterReadings, NamesThatNameNoObjectAreReported) {
  const RedisProcess redis;
  load_small_switch(redis);
  const std::string map = "COUNTERS_QUEUE_NAME_MAP";
  set_counter(redis, map, "Ethernet0", "oid:0x14");
  set_counter(redis, map, "Ethernet0:x", "oid:0x15");
  set_counter(redis, map, "Ethernet0:5", "COUNTERS_PORT_NAME_MAP");
  set_counter(redis, map, "Ethernet0:6", "oid:0x");
  set_counter(redis, map, "", "");  // as orchagent leaves it
  SonicCounters counters = counters_of(redis);
  const CounterReading reading = read_or_fail(counters);
  std::string reports;
  for (const UnreadableCounter& one : reading.unreadable) reports += one.why + "\n";
  EXPECT_EQ(reports, map + " has 'Ethernet0' = 'oid:0x14', which names no object\n" + map +
                         " has 'Ethernet0:5' = 'COUNTERS_PORT_NAME_MAP', which names no object\n" + map +
                         " has 'Ethernet0:6' = 'oid:0x', which names no object\n" + map +
                         " has 'Ethernet0:x' = 'oid:0x15', which names no object\n");
  EXPECT_NE(reading.find("Ethernet0", "queue[3]/packets"), nullptr);
}

TEST_F(SonicCounterReadings, RowsThatAreNoHashesAreReported) {
  const RedisProcess redis;
  load_small_switch(redis);
  remove_counters(redis, {"SET", "RATES:oid:0x2", "text"});
  SonicCounters counters = counters_of(redis);
  const CounterReading reading = read_or_fail(counters);
  ASSERT_EQ(reading.unreadable.size(), 1U);
  EXPECT_EQ(reading.unreadable[0].why.substr(0, 31), "RATES:oid:0x2: Redis: WRONGTYPE");
  remove_counters(redis, {"SET", "COUNTERS_PG_NAME_MAP", "text"});
  EXPECT_EQ(said(counters.read(patient())).substr(0, 40), "refused: COUNTERS_PG_NAME_MAP: Redis: WR");
}

TEST_F(SonicCounterReadings, ASwitchWithoutPortsIsStarting) {
  const RedisProcess redis;
  load_small_switch(redis);
  SonicCounters counters = counters_of(redis);
  ASSERT_TRUE(counters.read(patient()));
  remove_counters(redis, {"FLUSHDB"});
  EXPECT_EQ(said(counters.read(patient())),
            "transient: COUNTERS_DB has no ports (COUNTERS_PORT_NAME_MAP): SONiC is starting, or orchagent "
            "is down");
}

TEST_F(SonicCounterReadings, PortsOfWhichNoneHasAnObjectAreReported) {
  const RedisProcess redis;
  load(redis, kCountersDatabase, {{"COUNTERS_PORT_NAME_MAP", {{"", ""}}}});
  SonicCounters counters = counters_of(redis);
  EXPECT_EQ(said(counters.read(patient())).substr(0, 36), "transient: COUNTERS_DB has no ports ");
  set_counter(redis, "COUNTERS_PORT_NAME_MAP", "Ethernet0", "soon");
  const CounterReading reading = read_or_fail(counters);
  ASSERT_EQ(reading.unreadable.size(), 1U);
  EXPECT_EQ(reading.unreadable[0].why,
            "COUNTERS_PORT_NAME_MAP has 'Ethernet0' = 'soon', which names no object");
}

// database_config.json says what is between a table and its key.
TEST_F(SonicCounterReadings, TakesTheSeparatorAndTheNumberOfTheDatabase) {
  const RedisProcess redis;
  load(redis, 9,
       {{"COUNTERS_PORT_NAME_MAP", {{"Ethernet0", "oid:0x1"}}},
        {"COUNTERS|oid:0x1", {{"SAI_PORT_STAT_IF_IN_OCTETS", "5"}}},
        {"COUNTERS:oid:0x1", {{"SAI_PORT_STAT_IF_IN_OCTETS", "6"}}}});
  SonicCounters counters(counted_database(redis.server(), 9, "|"),
                         counted_database(redis.server(), kConfigDatabase, "|"),
                         counted_database(redis.server(), kStateDatabase, "|"));
  EXPECT_EQ(count_of(read_or_fail(counters), "Ethernet0", "port/rx-bytes"), 5U);
  DatabaseConfig config{.file = "database_config.json", .databases = {}};
  EXPECT_EQ(said(SonicCounters::of(config)).substr(0, 13), "invalid spec:");
}

// orchagent restarts between the name maps and the values: the OIDs are other ports' now.
TEST_F(SonicCounterReadings, OidsThatChangeWhileTheyAreReadAreResolvedAgain) {
  const RedisProcess redis;
  load_small_switch(redis);
  const FaultyRedisProxy config(redis.folder() + "/config", redis.socket_path(),
                                {.command = "HGETALL", .before = [&] {
                                   set_counter(redis, "COUNTERS_PORT_NAME_MAP", "Ethernet0", "oid:0x2");
                                   set_counter(redis, "COUNTERS_PORT_NAME_MAP", "Ethernet4", "oid:0x1");
                                 }});
  SonicCounters counters = counters_through(redis.server(), config.server(), redis.server());
  const CounterReading reading = read_or_fail(counters);
  EXPECT_TRUE(config.done());
  EXPECT_EQ(count_of(reading, "Ethernet0", "port/rx-bytes"), 3000U);
  EXPECT_EQ(count_of(reading, "Ethernet4", "port/rx-bytes"), 1000U);
}

TEST_F(SonicCounterReadings, NamesThatNeverRestAreTransient) {
  const RedisProcess redis;
  load_small_switch(redis);
  int count = 0;
  const FaultyRedisProxy proxy(redis.folder() + "/proxy", redis.socket_path(),
                               {.command = "INFO",
                                .applies = [] { return true; },
                                .before =
                                    [&] {
                                      set_counter(redis, "COUNTERS_PORT_NAME_MAP", "Ethernet8",
                                                  "oid:0x8" + std::to_string(++count));
                                    }});
  SonicCounters counters = counters_through(proxy.server(), redis.server(), redis.server());
  EXPECT_EQ(said(counters.read(patient())),
            "transient: the names of COUNTERS_DB change while they are read: the switch is building its "
            "counters anew");
  EXPECT_EQ(count, 2 * kReadingTries);
}

TEST_F(SonicCounterReadings, GroupsThatCannotBeReadAreUnknownAndCountersAreRead) {
  const RedisProcess redis;
  load_small_switch(redis);
  RedisServer gone = redis.server();
  gone.socket_path += ".gone";
  SonicCounters counters = counters_through(redis.server(), gone, gone);
  const CounterReading reading = read_or_fail(counters);
  EXPECT_EQ(count_of(reading, "Ethernet0", "port/rx-bytes"), 1000U);
  for (const CounterGroup& group : reading.groups) {
    EXPECT_EQ(group.state, CounterGroup::State::unknown) << group.name;
    EXPECT_NE(group.why.find("No such file or directory"), std::string::npos) << group.why;
  }
}

TEST_F(SonicCounterReadings, HostileRepliesAreErrors) {
  const RedisProcess redis;
  load_small_switch(redis);
  std::string many = "*400000\r\n";
  for (int i = 0; i < 200'000; ++i)
    many += "$9\r\nE" + std::to_string(10'000'000 + i) + "\r\n$12\r\noid:0x" + std::to_string(100'000 + i) +
            "\r\n";
  const std::pair<std::string, std::string> kHostile[] = {
      {"*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n",
       "transient: COUNTERS_PORT_NAME_MAP: not the reply of Redis"},
      {"*2\r\n:1\r\n:2\r\n", "transient: COUNTERS_PORT_NAME_MAP: not the reply of Redis"},
      {"$2\r\nno\r\n", "transient: COUNTERS_PORT_NAME_MAP: not the reply of Redis"},
      {"$1000000000\r\n" + std::string(kReplyBytes, 'x'), "replies of more than 64 MiB"},
      {many, "refused: COUNTERS_DB names 200003 objects; at most 60000 can be read"},
  };
  int number = 0;
  for (const auto& [answer, why] : kHostile) {
    const FaultyRedisProxy proxy(redis.folder() + "/hostile" + std::to_string(++number), redis.socket_path(),
                                 {.command = "HGETALL", .fault = RedisFault::answer, .answer = answer});
    SonicCounters counters = counters_through(proxy.server(), redis.server(), redis.server());
    const std::string error = said(counters.read(patient()));
    EXPECT_NE(error.find(why), std::string::npos) << number << ": " << error;
    EXPECT_TRUE(counters.read(patient())) << "the next reading is a new one";
  }
}

TEST_F(SonicCounterReadings, EndsAtTheDeadlineAndWhenStopped) {
  const RedisProcess redis;
  load_small_switch(redis);
  SonicCounters counters = counters_of(redis);
  ASSERT_TRUE(counters.read(patient()));
  std::stop_source stop;
  stop.request_stop();
  Call stopped = patient();
  stopped.stop = stop.get_token();
  EXPECT_EQ(said(counters.read(stopped)).substr(0, 10), "cancelled:");
  redis.signal(SIGSTOP);
  const auto reading = counters.read(within(std::chrono::milliseconds(100)));
  redis.signal(SIGCONT);
  EXPECT_EQ(said(reading).substr(0, 10), "transient:") << said(reading);
  EXPECT_TRUE(counters.read(patient()));
}

// A switch of 64 ports with 8 queues and 8 priority groups each.
TEST_F(SonicCounterReadings, NeedsFewRoundTripsForManyPorts) {
  const RedisProcess redis;
  load_small_switch(redis);
  Json rows;
  int next = 0x1000;
  for (int port = 0; port < 64; ++port) {
    const std::string name = "Ethernet" + std::to_string(port * 8);
    const auto add = [&](const char* map, const std::string& key, const Json& row) {
      const std::string oid = "oid:0x" + std::to_string(++next);
      rows[map][key] = oid;
      rows["COUNTERS:" + oid] = row;
    };
    add("COUNTERS_PORT_NAME_MAP", name, {{"SAI_PORT_STAT_IF_IN_OCTETS", std::to_string(port)}});
    for (int i = 0; i < 8; ++i) {
      const std::string key = name + ":" + std::to_string(i);
      add("COUNTERS_QUEUE_NAME_MAP", key, {{"SAI_QUEUE_STAT_BYTES", std::to_string(port * 100 + i)}});
      add("COUNTERS_PG_NAME_MAP", key,
          {{"SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS", std::to_string(port * 1000 + i)}});
    }
  }
  load(redis, kCountersDatabase, rows);
  SonicCounters counters = counters_of(redis);
  const CounterReading reading = read_or_fail(counters);
  EXPECT_EQ(counters.round_trips(), 6U);  // name maps, CONFIG_DB, STATE_DB, three times 500 objects
  for (int port = 0; port < 64; ++port) {
    const std::string name = "Ethernet" + std::to_string(port * 8);
    EXPECT_EQ(count_of(reading, name, "port/rx-bytes"), port);
    for (int i = 0; i < 8; ++i) {
      const std::string index = "[" + std::to_string(i) + "]";
      EXPECT_EQ(count_of(reading, name, "queue" + index + "/bytes"), port * 100 + i);
      EXPECT_EQ(count_of(reading, name, "group" + index + "/dropped-packets"), port * 1000 + i);
    }
  }
}

}  // namespace
}  // namespace lockstep::sonic
