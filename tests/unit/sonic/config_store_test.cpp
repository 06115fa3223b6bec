// CONFIG_DB in a real Redis: what is read, and which commands a write is.
#include "drivers/sonic/config_store.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "tests/unit/sonic/redis_process.hpp"
#include "tests/unit/sonic/shared_data.hpp"

namespace lockstep::sonic {
namespace {

using Commands = std::vector<std::string>;

class ConfigStores : public testing::Test {
 protected:
  void SetUp() override { LOCKSTEP_NEEDS_REDIS(); }
};

struct InitialisedRedis : RedisProcess {
  InitialisedRedis() { cli({"SET", "CONFIG_DB_INITIALIZED", "1"}); }
};

StoredConfig read_all(ConfigStore& store) {
  Result<StoredConfig> stored = store.read(patient());
  EXPECT_TRUE(stored) << said(stored);
  return stored ? *std::move(stored) : StoredConfig{};
}

std::vector<RowWrite> new_rows(const ConfigDb& config) {
  std::vector<RowWrite> writes;
  for (const auto& [table, rows] : config.tables)
    for (const auto& [key, row] : rows) writes.push_back({table, key, std::nullopt, row});
  return writes;
}

TEST_F(ConfigStores, RenderedConfigsOfSonicAreReadAsTheyWereWritten) {
  const std::filesystem::path folder = sonic_yang_data() / "../sonic-config/rendered";
  if (!std::filesystem::is_directory(folder))
    LOCKSTEP_NOT_TESTED("SONiC's rendered configurations are not at " + folder.string());
  const InitialisedRedis redis;
  ConfigStore store(redis.server(), kConfigDatabase);
  std::size_t rows = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    auto json = nlohmann::json::parse(text_of_file(entry.path()));
    // Templates leave tables without rows, which are not in Redis.
    for (auto table = json.begin(); table != json.end();)
      table = table->empty() ? json.erase(table) : std::next(table);
    const auto config = parse_config_db(json.dump());
    ASSERT_TRUE(config) << entry.path() << ": " << said(config);
    redis.cli({"FLUSHDB"});
    redis.cli({"SET", "CONFIG_DB_INITIALIZED", "1"});
    const std::vector<RowWrite> writes = new_rows(*config);
    const auto written = store.write(writes, patient());
    ASSERT_TRUE(written) << entry.path() << ": " << said(written);
    EXPECT_EQ(redis.cli({"DBSIZE"}), std::to_string(writes.size() + 1));
    const StoredConfig stored = read_all(store);
    EXPECT_EQ(stored.config, *config) << entry.path();
    EXPECT_TRUE(stored.unreadable.empty());
    rows += writes.size();
  }
  EXPECT_GT(rows, 1000U);
}

TEST_F(ConfigStores, RowsAreWrittenAsSonicHoldsThem) {
  const InitialisedRedis redis;
  ConfigStore store(redis.server(), kConfigDatabase);
  const std::vector<RowWrite> writes{
      {"INTERFACE", "Ethernet0", std::nullopt, ConfigRow{}},
      {"VLAN", "Vlan10", std::nullopt,
       ConfigRow{{"vlanid", "10"}, {"servers", ConfigList{"10.0.0.1", "10.0.0.2"}}}},
      {"SWITCH_HASH", "GLOBAL", std::nullopt, ConfigRow{{"ecmp_hash", ConfigList{}}}},
      {"BUFFER_PG", "Ethernet0|3-4", std::nullopt, ConfigRow{{"profile", "NULL"}}}};
  const auto written = store.write(writes, patient());
  ASSERT_TRUE(written) << said(written);
  EXPECT_EQ(redis.cli({"HGETALL", "INTERFACE|Ethernet0"}), "NULL\nNULL");
  EXPECT_EQ(redis.cli({"HGET", "VLAN|Vlan10", "servers@"}), "10.0.0.1,10.0.0.2");
  EXPECT_EQ(redis.cli({"HGET", "VLAN|Vlan10", "vlanid"}), "10");
  EXPECT_EQ(redis.cli({"HKEYS", "SWITCH_HASH|GLOBAL"}), "ecmp_hash@");
  EXPECT_EQ(redis.cli({"HGETALL", "BUFFER_PG|Ethernet0|3-4"}), "profile\nNULL");
  // An empty list is one empty text in Redis, and means the same: nothing is to be written, and no conflict.
  redis.commands();
  const std::vector<RowWrite> again{{"SWITCH_HASH", "GLOBAL", ConfigRow{{"ecmp_hash", ConfigList{}}},
                                     ConfigRow{{"ecmp_hash", ConfigList{""}}}}};
  EXPECT_TRUE(store.write(again, patient()));
  EXPECT_EQ(redis.commands(),
            (Commands{"WATCH CONFIG_DB_INITIALIZED SWITCH_HASH|GLOBAL", "HGETALL SWITCH_HASH|GLOBAL"}));
}

TEST_F(ConfigStores, ReadsWhatOthersWroteAndReportsWhatIsNoRow) {
  const InitialisedRedis redis;
  redis.cli({"HSET", "INTERFACE|Ethernet0", "NULL", "NULL"});
  redis.cli({"HSET", "INTERFACE|Ethernet4", "NULL", "NULL", "vrf_name", "Vrf1"});
  redis.cli({"HSET", "VLAN|Vlan10", "servers@", "a,b"});
  redis.cli({"SET", "PORT|Ethernet0", "text"});
  redis.cli({"SADD", "PORT|Ethernet4", "member"});
  redis.cli({"HSET", "PORT|Ethernet8", "mtu", "\xff"});
  redis.cli({"HSET", "PORT|Ethernet12", "x", "1", "x@", "1"});
  redis.cli({"HSET", "PORT", "mtu", "9100"});
  redis.cli({"HSET", "|Ethernet0", "mtu", "9100"});
  ConfigStore store(redis.server(), kConfigDatabase);
  const StoredConfig stored = read_all(store);
  EXPECT_EQ(stored.config, *parse_config_db(R"({"INTERFACE":{"Ethernet0":{},"Ethernet4":{"vrf_name":"Vrf1"}},
                                                "VLAN":{"Vlan10":{"servers":["a","b"]}}})"));
  std::string reasons;
  for (const UnreadableRow& row : stored.unreadable) reasons += row.name + ": " + row.why + "\n";
  EXPECT_EQ(reasons,
            "PORT: is not TABLE|key\n"
            "PORT|Ethernet0: is not a hash in Redis\n"
            "PORT|Ethernet12: field 'x' is there as a text and as a list\n"
            "PORT|Ethernet4: is not a hash in Redis\n"
            "PORT|Ethernet8: field 'mtu' has a byte that is not UTF-8\n"
            "|Ethernet0: is not TABLE|key\n");
}

TEST_F(ConfigStores, NothingIsReadOrWrittenBeforeSonicHasInitialised) {
  const RedisProcess redis;
  ConfigStore store(redis.server(), kConfigDatabase);
  const std::string error =
      "transient: CONFIG_DB is not initialised yet: SONiC is starting, or is loading its configuration";
  const std::vector<RowWrite> writes{{"PORT", "Ethernet0", std::nullopt, ConfigRow{{"mtu", "9100"}}}};
  for (const char* const value : {"", "0"}) {
    EXPECT_EQ(said(store.read(patient())), error);
    EXPECT_EQ(said(store.write(writes, patient())), error);
    redis.cli({"SET", "CONFIG_DB_INITIALIZED", value});
    EXPECT_EQ(said(store.read(patient())), error) << value;
    EXPECT_EQ(said(store.write(writes, patient())), error) << value;
  }
  EXPECT_EQ(redis.cli({"EXISTS", "PORT|Ethernet0"}), "0");
  redis.cli({"SET", "CONFIG_DB_INITIALIZED", "1"});
  EXPECT_TRUE(store.write(writes, patient()));
  EXPECT_EQ(read_all(store).config.find("PORT", "Ethernet0")->at("mtu"), ConfigField("9100"));
}

TEST_F(ConfigStores, OnlyFieldsThatDifferAreWrittenAndRowsNeverBecomeEmpty) {
  const InitialisedRedis redis;
  redis.cli({"HSET", "PORT|Ethernet0", "lanes", "1,2", "mtu", "9100", "fec", "rs", "index", "1"});
  redis.cli({"HSET", "PORT|Ethernet4", "mtu", "9100"});
  redis.cli({"HSET", "INTERFACE|Ethernet0", "NULL", "NULL"});
  redis.cli({"HSET", "INTERFACE|Ethernet4", "NULL", "NULL", "vrf_name", "Vrf1"});
  redis.cli({"HSET", "QUEUE|Ethernet0|3", "scheduler", "s0"});
  redis.commands();
  ConfigStore store(redis.server(), kConfigDatabase);
  const ConfigRow port{{"lanes", "1,2"}, {"mtu", "9100"}, {"fec", "rs"}, {"index", "1"}};
  const std::vector<RowWrite> writes{
      {"PORT", "Ethernet0", port,
       ConfigRow{{"lanes", "1,2"}, {"mtu", "9216"}, {"index", "1"}, {"speed", "100000"}}},
      {"PORT", "Ethernet4", ConfigRow{{"mtu", "9100"}}, ConfigRow{}},
      {"INTERFACE", "Ethernet0", ConfigRow{}, ConfigRow{{"vrf_name", "Vrf1"}}},
      {"INTERFACE", "Ethernet4", ConfigRow{{"vrf_name", "Vrf1"}}, ConfigRow{{"vrf_name", "Vrf2"}}},
      {"QUEUE", "Ethernet0|3", ConfigRow{{"scheduler", "s0"}}, std::nullopt},
      {"QUEUE", "Ethernet0|4", std::nullopt, std::nullopt}};
  const auto written = store.write(writes, patient());
  ASSERT_TRUE(written) << said(written);
  Commands commands = redis.commands();
  ASSERT_GT(commands.size(), 7U);
  commands.erase(commands.begin(), commands.begin() + 7);  // WATCH, and a HGETALL for each row
  EXPECT_EQ(commands,
            (Commands{"MULTI", "HSET PORT|Ethernet0 mtu 9216 speed 100000", "HDEL PORT|Ethernet0 fec",
                      "HSET PORT|Ethernet4 NULL NULL", "HDEL PORT|Ethernet4 mtu",
                      "HSET INTERFACE|Ethernet0 vrf_name Vrf1", "HDEL INTERFACE|Ethernet0 NULL",
                      "HSET INTERFACE|Ethernet4 vrf_name Vrf2", "DEL QUEUE|Ethernet0|3"}));
  EXPECT_EQ(store.connection().round_trips(), 2U);
  EXPECT_EQ(store.connection().openings(), 1U);
  EXPECT_EQ(*store.settled(writes, patient()), std::vector<RowState>(writes.size(), RowState::wanted));
}

TEST_F(ConfigStores, AThousandRowsAreTwoRoundTripsAndAsManyAreReadInThree) {
  const InitialisedRedis redis;
  ConfigStore store(redis.server(), kConfigDatabase);
  std::vector<RowWrite> writes;
  for (int i = 0; i < 1000; ++i)
    writes.push_back(
        {"QUEUE", "Ethernet" + std::to_string(i) + "|3", std::nullopt, ConfigRow{{"scheduler", "s0"}}});
  const auto written = store.write(writes, patient());
  ASSERT_TRUE(written) << said(written);
  EXPECT_EQ(store.connection().round_trips(), 2U);
  EXPECT_EQ(read_all(store).config.tables.at("QUEUE").size(), 1000U);
  EXPECT_EQ(store.connection().round_trips(), 5U);
}

TEST_F(ConfigStores, OthersNeverSeeAnEmptyRow) {
  const InitialisedRedis redis;
  redis.cli({"HSET", "INTERFACE|Ethernet0", "NULL", "NULL"});
  std::atomic<bool> ended = false;
  std::atomic<int> empty = 0;
  std::atomic<int> seen = 0;
  std::thread reader([&] {
    RedisConnection other(redis.server(), kConfigDatabase);
    const RedisCommand get[] = {{"HGETALL", "INTERFACE|Ethernet0"}};
    while (!ended) {
      const auto replies = other.send(get, RedisIntention::asks, patient());
      if (!replies || (*replies)[0].elements.empty()) ++empty;
      ++seen;
    }
  });
  ConfigStore store(redis.server(), kConfigDatabase);
  const std::vector<ConfigRow> rows{{}, {{"a", "1"}}, {{"b", ConfigList{"1"}}}};
  for (std::size_t i = 0; i < 150; ++i) {
    const std::vector<RowWrite> writes{{"INTERFACE", "Ethernet0", rows[i % 3], rows[(i + 1) % 3]}};
    const auto written = store.write(writes, patient());
    EXPECT_TRUE(written) << said(written);
  }
  ended = true;
  reader.join();
  EXPECT_EQ(empty, 0);
  EXPECT_GT(seen, 50);
}

TEST_F(ConfigStores, ConflictsNameTheRowAndTheFieldAndWriteNothing) {
  const InitialisedRedis redis;
  redis.cli({"HSET", "PORT|Ethernet0", "mtu", "9100", "fec", "rs"});
  redis.cli({"SET", "PORT|Ethernet8", "text"});
  ConfigStore store(redis.server(), kConfigDatabase);
  const ConfigRow want{{"mtu", "1"}};
  const std::string row = "conflict: row 'PORT|Ethernet0' changed since it was read: ";
  const std::pair<RowWrite, std::string> kStale[] = {
      {{"PORT", "Ethernet0", ConfigRow{{"mtu", "9000"}, {"fec", "rs"}}, want},
       row + "field 'mtu' has changed"},
      {{"PORT", "Ethernet0", ConfigRow{{"mtu", "9100"}}, want}, row + "field 'fec' is new"},
      {{"PORT", "Ethernet0", ConfigRow{{"mtu", "9100"}, {"fec", "rs"}, {"x", "y"}}, want},
       row + "field 'x' is gone"},
      {{"PORT", "Ethernet0", std::nullopt, want}, row + "another program has created it"},
      {{"PORT", "Ethernet4", ConfigRow{{"mtu", "9100"}}, std::nullopt},
       "conflict: row 'PORT|Ethernet4' changed since it was read: another program has deleted it"},
      {{"PORT", "Ethernet8", std::nullopt, want},
       "conflict: row 'PORT|Ethernet8': another program has made it something else than a hash"}};
  for (const auto& [stale, error] : kStale) {
    const std::vector<RowWrite> writes{{"VLAN", "Vlan1", std::nullopt, ConfigRow{}}, stale};
    EXPECT_EQ(said(store.write(writes, patient())), error);
    EXPECT_EQ(redis.cli({"EXISTS", "VLAN|Vlan1"}), "0");
  }
  EXPECT_EQ(redis.cli({"HGETALL", "PORT|Ethernet0"}), "mtu\n9100\nfec\nrs");
}

TEST_F(ConfigStores, WhatNoRowCanBeIsRefusedBeforeRedisIsAsked) {
  ConfigStore store({.socket_path = "/nonexistent"}, kConfigDatabase);
  const std::pair<RowWrite, std::string> kWrong[] = {
      {{"", "a", std::nullopt, ConfigRow{}},
       "row '|a': no table, or a key is empty, or the table's name has |"},
      {{"A|B", "c", std::nullopt, ConfigRow{}},
       "row 'A|B|c': no table, or a key is empty, or the table's name has |"},
      {{"A", "b", std::nullopt, ConfigRow{{"x@", "1"}}}, "row 'A|b': no field can be called 'x@'"},
      {{"VLAN", "Vlan1", std::nullopt, ConfigRow{}}, "row 'VLAN|Vlan1' is written twice in one step"}};
  for (const auto& [wrong, error] : kWrong) {
    const std::vector<RowWrite> writes{{"VLAN", "Vlan1", std::nullopt, ConfigRow{}}, wrong};
    EXPECT_EQ(said(store.write(writes, patient())), "invalid spec: " + error);
    EXPECT_EQ(said(store.settled(writes, patient())), "invalid spec: " + error);
  }
  EXPECT_TRUE(store.write({}, patient()));
  std::vector<RowWrite> many;
  for (std::size_t i = 0; i <= kRowsPerWrite; ++i)
    many.push_back({"VLAN", "Vlan" + std::to_string(i), std::nullopt, ConfigRow{}});
  EXPECT_EQ(said(store.write(many, patient())),
            "invalid spec: 2001 rows in one step; at most 2000 can be written at once");
}

TEST_F(ConfigStores, ReadsWhileRedisIsKilledAndStartsAgain) {
  InitialisedRedis redis;
  redis.cli({"HSET", "PORT|Ethernet0", "mtu", "9100"});
  ConfigStore store(redis.server(), kConfigDatabase);
  EXPECT_EQ(read_all(store).config.tables.size(), 1U);
  redis.restart();  // SONiC's Redis keeps nothing, and its database container loads the file again
  EXPECT_EQ(said(store.read(patient())).substr(0, 41), "transient: CONFIG_DB is not initialised y");
  redis.cli({"SET", "CONFIG_DB_INITIALIZED", "1"});
  EXPECT_TRUE(read_all(store).config.tables.empty());
  redis.signal(SIGSTOP);
  const auto hung = store.read(within(std::chrono::milliseconds(100)));
  EXPECT_EQ(said(hung), "transient: " + redis.server().name() + ": no reply: the deadline passed");
}

}  // namespace
}  // namespace lockstep::sonic
