// The tables that sonic-utilities tests itself with, in a real Redis; judged by their JSON files.
#include <gtest/gtest.h>

#include "tests/unit/sonic/counter_samples.hpp"

namespace lockstep::sonic {
namespace {

Json mock_table(const std::string& file) {
  Json rows = Json::object();
  const Json all = Json::parse(text_of_file(mock_tables() / file));
  for (const auto& [key, row] : all.items())
    if (row.is_object()) rows[key] = row;
  return rows;
}

std::string text_of_value(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

struct Expected {
  std::string map;
  std::string scope;  // with % for the part of the map's name after the colon
  std::string table;
  std::string field;
  std::string counter;
};

// By hand from switches.md, section 1.3.
const Expected kExpected[] = {
    {"COUNTERS_PORT_NAME_MAP", "port", "COUNTERS", "SAI_PORT_STAT_IF_IN_OCTETS", "/rx-bytes"},
    {"COUNTERS_PORT_NAME_MAP", "port", "COUNTERS", "SAI_PORT_STAT_IF_IN_DISCARDS", "/rx-discards"},
    {"COUNTERS_PORT_NAME_MAP", "port", "COUNTERS", "SAI_PORT_STAT_PFC_4_TX_PKTS", "/pfc[4]/tx-pauses"},
    {"COUNTERS_PORT_NAME_MAP", "port", "COUNTERS", "SAI_PORT_STAT_TRIM_PACKETS", "/trimmed-packets"},
    {"COUNTERS_PORT_NAME_MAP", "port", "COUNTERS", "SAI_PORT_STAT_WRED_DROPPED_PACKETS", "/wred-drops"},
    {"COUNTERS_PORT_NAME_MAP", "port", "COUNTERS", "SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES",
     "/fec/uncorrectable"},
    {"COUNTERS_PORT_NAME_MAP", "port", "COUNTERS", "SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S7",
     "/fec/codewords[7]"},
    {"COUNTERS_PORT_NAME_MAP", "port", "COUNTERS", "EST_PORT_STAT_PFC_3_RX_PAUSE_DURATION_US",
     "/pfc[3]/rx-paused-time-estimated"},
    {"COUNTERS_PORT_NAME_MAP", "port", "COUNTERS", "SAI_PORT_STAT_PFC_3_RX_PAUSE_DURATION_US",
     "/pfc[3]/rx-paused-time"},
    {"COUNTERS_QUEUE_NAME_MAP", "queue[%]", "COUNTERS", "SAI_QUEUE_STAT_BYTES", "/bytes"},
    {"COUNTERS_QUEUE_NAME_MAP", "queue[%]", "COUNTERS", "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS",
     "/ecn-marked-packets"},
    {"COUNTERS_QUEUE_NAME_MAP", "queue[%]", "COUNTERS", "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED",
     "/watchdog/storms"},
    {"COUNTERS_QUEUE_NAME_MAP", "queue[%]", "COUNTERS", "PFC_WD_QUEUE_STATS_TX_DROPPED_PACKETS",
     "/watchdog/tx-dropped-packets"},
    {"COUNTERS_PG_NAME_MAP", "group[%]", "COUNTERS", "SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS",
     "/dropped-packets"},
    {"COUNTERS_PG_NAME_MAP", "group[%]", "USER_WATERMARKS",
     "SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES", "/headroom-watermark"},
    {"COUNTERS_QUEUE_NAME_MAP", "queue[%]", "USER_WATERMARKS", "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES",
     "/watermark"},
    {"COUNTERS_BUFFER_POOL_NAME_MAP", "pool[%]", "USER_WATERMARKS", "SAI_BUFFER_POOL_STAT_WATERMARK_BYTES",
     "/watermark"},
};

class MockCounters : public testing::Test {
 protected:
  void SetUp() override {
    LOCKSTEP_NEEDS_REDIS();
    LOCKSTEP_NEEDS_MOCK_TABLES();
  }
};

TEST_F(MockCounters, EachValueIsReadUnderItsNameAndNoOther) {
  const RedisProcess redis;
  const Json rows = mock_table("counters_db.json");
  load(redis, kCountersDatabase, rows);
  load(redis, kConfigDatabase, mock_table("config_db.json"));
  load(redis, kStateDatabase, mock_table("state_db.json"));
  SonicCounters counters = counters_of(redis);
  const auto reading = counters.read(patient());
  ASSERT_TRUE(reading) << said(reading);
  EXPECT_TRUE(reading->unreadable.empty()) << reading->unreadable.front().why;
  std::size_t compared = 0;
  for (const Expected& one : kExpected) {
    for (const auto& [name, oid] : rows.at(one.map).items()) {
      const bool is_pool = one.scope == "pool[%]";
      const std::size_t colon = name.find(':');
      std::string counter = one.scope + one.counter;
      if (const std::size_t at = counter.find('%'); at != counter.npos)
        counter.replace(at, 1, is_pool ? name : name.substr(colon + 1));
      const std::string port = is_pool ? "" : name.substr(0, colon);
      const Json row = rows.value(one.table + ":" + oid.get<std::string>(), Json::object());
      const ReadCounter* const read = reading->find(port, counter);
      const bool is_there = row.contains(one.field);
      // Cleared, and not measured.
      const bool is_cleared =
          one.table == "USER_WATERMARKS" && is_there && text_of_value(row[one.field]) == "0" &&
          !rows.value("COUNTERS:" + oid.get<std::string>(), Json::object()).contains(one.field);
      ASSERT_EQ(read != nullptr, is_there && !is_cleared) << port << " " << counter;
      if (read == nullptr) continue;
      ASSERT_TRUE(read->whole()) << counter;
      EXPECT_EQ(std::to_string(*read->whole()), text_of_value(row[one.field])) << port << " " << counter;
      ++compared;
    }
  }
  EXPECT_GT(compared, 200U);
}

TEST_F(MockCounters, GroupsAreWhatTheTablesSay) {
  const RedisProcess redis;
  load(redis, kCountersDatabase, mock_table("counters_db.json"));
  const Json config = mock_table("config_db.json");
  load(redis, kConfigDatabase, config);
  load(redis, kStateDatabase, mock_table("state_db.json"));
  SonicCounters counters = counters_of(redis);
  const auto reading = counters.read(patient());
  ASSERT_TRUE(reading) << said(reading);
  std::string states;
  for (const CounterGroup& group : reading->groups)
    states += group.name + " " + std::string(to_string(group.state)) + " " +
              std::to_string(group.interval.count()) + "\n";
  // The tables have no rows BUFFER_POOL_WATERMARK and PFCWD.
  EXPECT_EQ(
      states,
      "port read 1000\nport-buffer-drops read 60000\nport-wred read 1000\nqueue read 10000\n"
      "queue-ecn read 10000\nqueue-watermarks read 60000\ngroup-drops read 10000\n"
      "group-watermarks read 60000\npool-watermarks off 60000\nwatchdog off 600\npause-estimates off 600\n");
}

}  // namespace
}  // namespace lockstep::sonic
