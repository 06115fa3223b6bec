// config_db.json and the rows of Redis, golden and hostile.
#include "drivers/sonic/config_db.hpp"

#include <gtest/gtest.h>

namespace lockstep::sonic {
namespace {

ConfigDb parsed(std::string_view text) {
  Result<ConfigDb> config = parse_config_db(text);
  EXPECT_TRUE(config) << (config ? "" : config.error().text());
  return config ? *std::move(config) : ConfigDb{};
}

std::string refusal(std::string_view text) {
  const Result<ConfigDb> config = parse_config_db(text);
  EXPECT_FALSE(config) << text;
  if (config) return {};
  EXPECT_EQ(config.error().kind, ErrorKind::invalid_spec);
  return config.error().text();
}

constexpr std::string_view kFabric = R"({
    "BUFFER_PG": {
        "Ethernet0|3-4": {
            "profile": "pg_lossless_100000_5m_profile"
        }
    },
    "INTERFACE": {
        "Ethernet0": {},
        "Ethernet0|10.0.0.0/31": {}
    },
    "PORT": {
        "Ethernet0": {
            "lanes": "1,2",
            "mtu": "9100",
            "speed": "100000"
        }
    },
    "VLAN": {
        "Vlan10": {
            "dhcp_servers": [
                "192.0.0.1",
                "192.0.0.2"
            ],
            "none": []
        }
    }
}
)";

TEST(ConfigDb, FileIsReadAndPrintedAsItWas) {
  const ConfigDb config = parsed(kFabric);
  EXPECT_EQ(config_db_json(config), kFabric);
  ASSERT_NE(config.find("PORT", "Ethernet0"), nullptr);
  EXPECT_EQ(config.find("PORT", "Ethernet0")->at("mtu"), ConfigField("9100"));
  EXPECT_EQ(config.find("VLAN", "Vlan10")->at("dhcp_servers"),
            ConfigField(ConfigList{"192.0.0.1", "192.0.0.2"}));
  EXPECT_TRUE(config.find("INTERFACE", "Ethernet0")->empty());
  EXPECT_EQ(config.find("INTERFACE", "Ethernet4"), nullptr);
  EXPECT_EQ(config.find("LOOPBACK", "Loopback0"), nullptr);
  EXPECT_EQ(parsed("{}"), ConfigDb{});
}

TEST(ConfigDb, IntegersAndTheFieldNullAreWhatSonicMakesOfThem) {
  EXPECT_EQ(parsed(R"({"PORT":{"Ethernet0":{"mtu":9100,"offset":-3}}})"),
            parsed(R"({"PORT":{"Ethernet0":{"mtu":"9100","offset":"-3"}}})"));
  EXPECT_EQ(parsed(R"({"INTERFACE":{"Ethernet0":{"NULL":"NULL"}}})"),
            parsed(R"({"INTERFACE":{"Ethernet0":{}}})"));
  // BUFFER_PG has this text as a value.
  EXPECT_EQ(
      parsed(R"({"BUFFER_PG":{"Ethernet0|3":{"profile":"NULL"}}})").find("BUFFER_PG", "Ethernet0|3")->size(),
      1U);
}

TEST(ConfigDb, ErrorsNameTableKeyAndField) {
  const std::pair<std::string_view, std::string_view> kWrong[] = {
      {R"([])", "CONFIG_DB: the file is an object of tables, not array"},
      {R"({"bgpraw":""})", "table 'bgpraw': a table is an object of rows, not string"},
      {R"({"PORT":{"Ethernet0":"up"}})",
       "table 'PORT', key 'Ethernet0': a row is an object of fields, not string"},
      {R"({"P|A":{"x":{}}})", "table 'P|A': the name of a table has |, which parts it from keys"},
      {R"({"":{"x":{}}})", "CONFIG_DB: the name of a table is empty"},
      {R"({"PORT":{"":{}}})", "table 'PORT': the name of a key is empty"},
      {R"({"PORT":{"E":{"":"1"}}})", "table 'PORT', key 'E': the name of a field is empty"},
      {R"({"PORT":{"E":{"up":true}}})",
       "table 'PORT', key 'E', field 'up': a value is a text, an integer or a list of texts, not true "
       "without "
       "quotes"},
      {R"({"PORT":{"E":{"up":1.5}}})",
       "table 'PORT', key 'E', field 'up': a value is a text, an integer or a list of texts, not a fraction "
       "without quotes"},
      {R"({"PORT":{"E":{"up":null}}})",
       "table 'PORT', key 'E', field 'up': a value is a text, an integer or a list of texts, not null"},
      {R"({"PORT":{"E":{"up":{"a":"b"}}}})",
       "table 'PORT', key 'E', field 'up': a value is a text, an integer or a list of texts, not object"},
      {R"({"PORT":{"E":{"l":["1",2]}}})", "table 'PORT', key 'E', field 'l': a list has texts, not number"},
      {R"({"PORT":{"E":{"l":[["1"]]}}})", "table 'PORT', key 'E', field 'l': a list has texts, not array"},
      {R"({"PORT":{"E":{"l":["1,2"]}}})",
       "table 'PORT', key 'E', field 'l': a text of a list has a comma, which parts texts in Redis"},
      {R"({"PORT":{"E":{"l@":"1,2"}}})",
       "table 'PORT', key 'E', field 'l@': the name of a field ends in @, which marks lists in Redis: write "
       "a "
       "list"},
      {R"({"PORT":{"E":{"NULL":"x"}}})",
       "table 'PORT', key 'E', field 'NULL': the field NULL stands for a row without fields, and is NULL"},
      {R"({"PORT":{"E":{"a":"\u0000"}}})",
       "table 'PORT', key 'E', field 'a': the value has a character of the number zero"},
      {R"({"PORT":{"E":{"a":"1","a":"2"}}})", "table 'PORT', key 'E', field 'a': written twice"},
      {R"({"PORT":{"E":{"a":"1"},"E":{}}})", "table 'PORT', key 'E': written twice"},
      {R"({"PORT":{"E":{}},"VLAN":{"V":{}},"PORT":{"F":{}}})", "table 'PORT': written twice"},
      {R"({"PORT":{"\u001b[2J":{"a":true}}})",
       "table 'PORT', key '\\x1b[2J', field 'a': a value is a text, an integer or a list of texts, not true "
       "without quotes"},
  };
  for (const auto& [text, what] : kWrong) EXPECT_EQ(refusal(text), what);
}

TEST(ConfigDb, HostileFilesAreRefused) {
  for (const std::string_view text :
       {"", "{", "nothing", "{\"PORT\":{\"E\":{\"a\":\"\xff\"}}}", "\xff\xfe", "{}{}"})
    EXPECT_EQ(refusal(text), "not JSON") << text;
  const std::string deep = std::string(100000, '[');
  EXPECT_EQ(refusal(deep), "JSON nested deeper than 8 levels");
  EXPECT_EQ(refusal(R"({"A":{"B":{"C":{"D":{"E":{"F":{"G":{"H":1}}}}}}}})").substr(0, 40),
            "table 'A', key 'B', field 'C': a value i");
  EXPECT_EQ(refusal("{\"A\":{\"B\":{\"C\":[" + std::string(5'000'000, ',') + "]}}}"),
            "JSON of more than 4000000 values");
  const std::string name(100'000, 'n');
  EXPECT_LT(refusal("{\"" + name + "\":1}").size(), 200U);
  // Every prefix of a good file ends in an error, or is the file.
  for (std::size_t cut = 0; cut < kFabric.size(); ++cut)
    EXPECT_EQ(static_cast<bool>(parse_config_db(kFabric.substr(0, cut))), cut + 1 >= kFabric.size()) << cut;
}

TEST(ConfigDb, RowsOfRedisGoBothWays) {
  const ConfigRow row{{"a", "1,2"}, {"list", ConfigList{"x", "y"}}, {"one", ConfigList{"x"}}, {"empty", ""}};
  const RedisHash hash{{"a", "1,2"}, {"list@", "x,y"}, {"one@", "x"}, {"empty", ""}};
  EXPECT_EQ(*redis_hash(row), hash);
  EXPECT_EQ(*row_of_redis_hash(hash), row);
  EXPECT_EQ(*redis_hash({}), (RedisHash{{"NULL", "NULL"}}));
  EXPECT_EQ(*row_of_redis_hash({{"NULL", "NULL"}}), ConfigRow{});
  // A row that was without fields, and got one.
  EXPECT_EQ(*row_of_redis_hash({{"NULL", "NULL"}, {"vrf_name", "Vrf1"}}), (ConfigRow{{"vrf_name", "Vrf1"}}));
  // Redis can't tell a list without texts from one of an empty text.
  EXPECT_EQ(*redis_hash({{"l", ConfigList{}}}), (RedisHash{{"l@", ""}}));
  EXPECT_EQ(*row_of_redis_hash({{"l@", ""}}), (ConfigRow{{"l", ConfigList{""}}}));
  EXPECT_EQ(*redis_hash({{"l", ConfigList{"", ""}}}), (RedisHash{{"l@", ","}}));
}

TEST(ConfigDb, RowsThatRedisCouldNotReturnAreRefused) {
  EXPECT_EQ(redis_hash({{"l", ConfigList{"a,b"}}}).error().text(), "field 'l': a text of a list has a comma");
  EXPECT_EQ(redis_hash({{"l@", "a"}}).error().text(), "no field can be called 'l@'");
  EXPECT_EQ(redis_hash({{"NULL", "a"}}).error().text(), "no field can be called 'NULL'");
  EXPECT_EQ(redis_hash({{"", "a"}}).error().text(), "no field can be called ''");
  EXPECT_EQ(row_of_redis_hash({{"", "a"}}).error().text(), "a field without a name");
  EXPECT_EQ(row_of_redis_hash({{"@", "a"}}).error().text(), "a field without a name");
  EXPECT_EQ(row_of_redis_hash({{"l", "a"}, {"l@", "b"}}).error().text(),
            "field 'l' is there as a text and as a list");
  EXPECT_EQ(row_of_redis_hash({{"l", "\xff"}}).error().text(), "field 'l' has a byte that is not UTF-8");
  EXPECT_EQ(row_of_redis_hash({{"l", std::string("\0", 1)}}).error().text(),
            "field 'l' has a character of the number zero");
}

TEST(ConfigDb, NamesOfRowsInRedis) {
  EXPECT_EQ(redis_name("QUEUE", "Ethernet0|3-4"), "QUEUE|Ethernet0|3-4");
  EXPECT_EQ(row_of_redis_name("QUEUE|Ethernet0|3-4"),
            (std::pair<std::string, std::string>("QUEUE", "Ethernet0|3-4")));
  for (const char* const name : {"CONFIG_DB_INITIALIZED", "", "|", "|a", "PORT|"})
    EXPECT_EQ(row_of_redis_name(name), std::nullopt) << name;
}

}  // namespace
}  // namespace lockstep::sonic
