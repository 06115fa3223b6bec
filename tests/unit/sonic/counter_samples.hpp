// What the tests of SONiC's counters share: a small switch in a real Redis, and the tables that
// sonic-utilities tests itself with, outside the repository (shared/data/sonic-config).
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "drivers/sonic/sonic_counters.hpp"
#include "tests/unit/sonic/redis_process.hpp"
#include "tests/unit/sonic/shared_data.hpp"

namespace lockstep::sonic {

using Json = nlohmann::json;

// As SONiC's database_config.json has them.
inline constexpr int kCountersDatabase = 2;
inline constexpr int kStateDatabase = 6;

inline SonicDatabase counted_database(RedisServer server, int id, const std::string& separator) {
  return {.id = id, .separator = separator, .instance = "redis", .server = std::move(server)};
}

inline SonicCounters counters_through(RedisServer counters, RedisServer config, RedisServer state) {
  return {counted_database(std::move(counters), kCountersDatabase, ":"),
          counted_database(std::move(config), kConfigDatabase, "|"),
          counted_database(std::move(state), kStateDatabase, "|")};
}

inline SonicCounters counters_of(const RedisProcess& redis) {
  return counters_through(redis.server(), redis.server(), redis.server());
}

// Hashes by key. By redis-cli and Lua, not by the code under test.
inline void load(const RedisProcess& redis, int database, const Json& rows) {
  EXPECT_EQ(redis.cli({"-n", std::to_string(database), "EVAL",
                       "for key, row in pairs(cjson.decode(ARGV[1])) do for field, value in pairs(row) do "
                       "redis.call('HSET', key, field, tostring(value)) end end return 'loaded'",
                       "0", rows.dump()}),
            "loaded");
}

inline void set_counter(const RedisProcess& redis, const std::string& row, const std::string& field,
                        const std::string& value) {
  redis.cli({"-n", std::to_string(kCountersDatabase), "HSET", row, field, value});
}

inline void remove_counters(const RedisProcess& redis, std::vector<std::string> words) {
  words.insert(words.begin(), {"-n", std::to_string(kCountersDatabase)});
  redis.cli(words);
}

// Two ports; of the first, queue 3 and priority group 3; one pool. All groups are on, and the ASIC can count.
inline Json small_counters() {
  return {
      {"COUNTERS_PORT_NAME_MAP", {{"Ethernet0", "oid:0x1"}, {"Ethernet4", "oid:0x2"}}},
      {"COUNTERS_QUEUE_NAME_MAP", {{"Ethernet0:3", "oid:0x13"}}},
      {"COUNTERS_PG_NAME_MAP", {{"Ethernet0:3", "oid:0x23"}}},
      {"COUNTERS_BUFFER_POOL_NAME_MAP", {{"ingress_lossless_pool", "oid:0x31"}}},
      {"COUNTERS:oid:0x1",
       {{"SAI_PORT_STAT_IF_IN_OCTETS", "1000"},
        {"SAI_PORT_STAT_IF_OUT_OCTETS", "2000"},
        {"SAI_PORT_STAT_PFC_3_RX_PKTS", "7"},
        {"SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S15", "2"},
        {"SAI_PORT_STAT_ETHER_IN_PKTS_64_OCTETS", "5"}}},
      {"RATES:oid:0x1", {{"RX_BPS", "1.5e+03"}, {"FEC_PRE_BER", "2.5e-09"}, {"FEC_POST_BER", "0"}}},
      {"COUNTERS:oid:0x2", {{"SAI_PORT_STAT_IF_IN_OCTETS", "3000"}, {"SAI_PORT_STAT_PFC_3_RX_PKTS", "0"}}},
      {"COUNTERS:oid:0x13",
       {{"SAI_QUEUE_STAT_PACKETS", "50"},
        {"SAI_QUEUE_STAT_BYTES", "18446744073709551615"},
        {"SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS", "9"},
        {"SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES", "11"},
        {"PFC_WD_STATUS", "stormed"},
        {"PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED", "1"}}},
      {"USER_WATERMARKS:oid:0x13", {{"SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES", "400"}}},
      {"PERIODIC_WATERMARKS:oid:0x13", {{"SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES", "0"}}},
      {"COUNTERS:oid:0x23", {{"SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS", "0"}}},
      {"USER_WATERMARKS:oid:0x23", {{"SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES", "0"}}},
      {"COUNTERS:oid:0x31", {{"SAI_BUFFER_POOL_STAT_WATERMARK_BYTES", "4096"}}},
      {"USER_WATERMARKS:oid:0x31",
       {{"SAI_BUFFER_POOL_STAT_WATERMARK_BYTES", "8192"},
        {"SAI_BUFFER_POOL_STAT_XOFF_ROOM_WATERMARK_BYTES", "0"}}}};
}

inline Json all_groups_on() {
  Json rows;
  for (const char* const group :
       {"PORT", "PORT_BUFFER_DROP", "WRED_ECN_PORT", "QUEUE", "WRED_ECN_QUEUE", "QUEUE_WATERMARK", "PG_DROP",
        "PG_WATERMARK", "BUFFER_POOL_WATERMARK", "PFCWD"})
    rows[std::string("FLEX_COUNTER_TABLE|") + group]["FLEX_COUNTER_STATUS"] = "enable";
  rows["PFC_WD|GLOBAL"]["POLL_INTERVAL"] = "200";
  rows["PFC_WD|Ethernet0"] = {{"detection_time", "200"}, {"pfc_stat_history", "enable"}};
  return rows;
}

inline Json all_capabilities(const std::string& supported) {
  Json rows;
  for (const char* const name : {"QUEUE_COUNTER_CAPABILITIES|WRED_ECN_QUEUE_ECN_MARKED_PKT_COUNTER",
                                 "QUEUE_COUNTER_CAPABILITIES|WRED_ECN_QUEUE_ECN_MARKED_BYTE_COUNTER",
                                 "QUEUE_COUNTER_CAPABILITIES|WRED_ECN_QUEUE_WRED_DROPPED_PKT_COUNTER",
                                 "QUEUE_COUNTER_CAPABILITIES|WRED_ECN_QUEUE_WRED_DROPPED_BYTE_COUNTER",
                                 "PORT_COUNTER_CAPABILITIES|WRED_ECN_PORT_WRED_GREEN_DROP_COUNTER",
                                 "PORT_COUNTER_CAPABILITIES|WRED_ECN_PORT_WRED_YELLOW_DROP_COUNTER",
                                 "PORT_COUNTER_CAPABILITIES|WRED_ECN_PORT_WRED_RED_DROP_COUNTER",
                                 "PORT_COUNTER_CAPABILITIES|WRED_ECN_PORT_WRED_TOTAL_DROP_COUNTER"})
    rows[name]["isSupported"] = supported;
  return rows;
}

inline void load_small_switch(const RedisProcess& redis) {
  load(redis, kCountersDatabase, small_counters());
  load(redis, kConfigDatabase, all_groups_on());
  load(redis, kStateDatabase, all_capabilities("true"));
}

// None: it is absent.
inline std::optional<std::uint64_t> count_of(const CounterReading& reading, const std::string& port,
                                             const std::string& name) {
  const ReadCounter* const counter = reading.find(port, name);
  return counter == nullptr ? std::nullopt : counter->whole();
}

// "port/rx-bytes=1000 ..." of one port, in the order of names.
inline std::string counters_said(const CounterReading& reading, const std::string& port) {
  std::string out;
  for (const auto& [id, counter] : reading.counters) {
    if (id.port != port) continue;
    const auto whole = counter.whole();
    const double real = whole ? 0 : std::get<double>(counter.value);
    std::array<char, 40> text{};
    if (!whole) std::snprintf(text.data(), text.size(), "%g", real);
    out += id.name + "=" + (whole ? std::to_string(*whole) : std::string(text.data())) + "\n";
  }
  return out;
}

inline std::filesystem::path mock_tables() { return sonic_yang_data() / "../sonic-config/mock_tables"; }

}  // namespace lockstep::sonic

#define LOCKSTEP_NEEDS_MOCK_TABLES()                                                                        \
  if (!std::filesystem::exists(::lockstep::sonic::mock_tables() / "counters_db.json"))                      \
  LOCKSTEP_NOT_TESTED("SONiC's example databases are not at " + ::lockstep::sonic::mock_tables().string() + \
                      " (LOCKSTEP_SHARED_DATA)")
