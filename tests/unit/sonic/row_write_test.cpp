// The commands of a row's write, applied to a hash as Redis does.
#include "drivers/sonic/row_write.hpp"

#include <gtest/gtest.h>

#include <random>

namespace lockstep::sonic {
namespace {

// False: the row was empty after one of the commands, or the command is none of these.
bool stays_while(const std::vector<RedisCommand>& commands, RedisHash& hash) {
  for (const RedisCommand& command : commands) {
    if (command[0] == "HSET") {
      for (std::size_t i = 2; i + 1 < command.size(); i += 2) hash[command[i]] = command[i + 1];
    } else if (command[0] == "HDEL") {
      for (std::size_t i = 2; i < command.size(); ++i) hash.erase(command[i]);
    } else {
      return false;
    }
    if (hash.empty()) return false;
  }
  return true;
}

ConfigRow any_row(std::mt19937& random) {
  ConfigRow row;
  for (const char* const field : {"a", "b", "c"}) {
    const auto kind = random() % 4;
    if (kind == 0) row[field] = std::to_string(random() % 2);
    if (kind == 1) row[field] = ConfigList{std::to_string(random() % 2), "x"};
  }
  return row;
}

TEST(RowWrites, AnyRowBecomesAnyOtherWithoutBeingEmptyInBetween) {
  std::mt19937 random(7);
  for (int round = 0; round < 5000; ++round) {
    const ConfigRow was = any_row(random);
    const ConfigRow want = any_row(random);
    const bool is_new = random() % 4 == 0;
    RedisHash hash = is_new ? RedisHash{} : *redis_hash(was);
    if (!is_new && random() % 4 == 0) hash["NULL"] = "NULL";  // beside other fields
    const std::vector<RowWrite> writes{{"T", "k", is_new ? std::nullopt : std::optional(was), want}};
    const auto stored = stored_writes(writes);
    ASSERT_TRUE(stored);
    const auto commands = row_commands(stored->front(), hash);
    ASSERT_LE(commands.size(), 2U);
    for (const RedisCommand& command : commands)
      for (std::size_t i = 2; command[0] == "HSET" && i < command.size(); i += 2)
        EXPECT_TRUE(!hash.contains(command[i]) || hash.at(command[i]) != command[i + 1])
            << "sets what is there";
    ASSERT_TRUE(stays_while(commands, hash)) << round;
    EXPECT_EQ(*row_of_redis_hash(hash), want) << round;
    EXPECT_TRUE(row_commands(stored->front(), hash).empty());
  }
}

TEST(RowWrites, DifferencesNameFieldsAndNoValues) {
  const ConfigRow row{{"passkey", "secret"}};
  EXPECT_EQ(difference(row, row), "");
  EXPECT_EQ(difference(std::nullopt, std::nullopt), "");
  EXPECT_EQ(difference(row, ConfigRow{{"passkey", "other"}}), "field 'passkey' has changed");
  EXPECT_EQ(difference(row, ConfigRow{{"passkey", ConfigList{"secret"}}}), "field 'passkey' has changed");
  EXPECT_EQ(difference(row, ConfigRow{}), "field 'passkey' is gone");
  EXPECT_EQ(difference(ConfigRow{}, row), "field 'passkey' is new");
  EXPECT_EQ(difference(row, std::nullopt), "another program has deleted it");
  EXPECT_EQ(difference(std::nullopt, row), "another program has created it");
}

}  // namespace
}  // namespace lockstep::sonic
