// Events of a real Redis as a descriptor.
#include "drivers/sonic/keyspace_watch.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include "tests/unit/sonic/redis_process.hpp"

namespace lockstep::sonic {
namespace {

class KeyspaceWatches : public testing::Test {
 protected:
  void SetUp() override { LOCKSTEP_NEEDS_REDIS(); }
};

bool is_readable(const KeyspaceWatch& watch) {
  pollfd wait{watch.descriptor(), POLLIN, 0};
  return ::poll(&wait, 1, 0) == 1;
}

// Whether a change is reported within the time that eventually() gives it.
bool reports(KeyspaceWatch& watch) {
  return eventually([&] { return is_readable(watch) && *watch.drain(); });
}

Result<KeyspaceWatch> opened(const RedisProcess& redis, KeyspaceWatchOptions options = {}) {
  return KeyspaceWatch::open(redis.server(), kConfigDatabase, options, patient());
}

TEST_F(KeyspaceWatches, FirstDrainSaysThatSomethingChangedAndThenEachChangeDoes) {
  const RedisProcess redis;
  auto watch = opened(redis);
  ASSERT_TRUE(watch) << watch.error().text();
  EXPECT_EQ(watch->doubt(), "");
  EXPECT_TRUE(is_readable(*watch));
  EXPECT_TRUE(*watch->drain());
  EXPECT_FALSE(is_readable(*watch));
  EXPECT_FALSE(*watch->drain());
  for (const std::vector<std::string>& change :
       {std::vector<std::string>{"HSET", "PORT|Ethernet0", "mtu", "9100"},
        {"HDEL", "PORT|Ethernet0", "mtu"},
        {"SET", "CONFIG_DB_INITIALIZED", "1"},
        {"DEL", "CONFIG_DB_INITIALIZED"}}) {
    redis.cli(change);
    EXPECT_TRUE(reports(*watch)) << change[0];
    EXPECT_FALSE(is_readable(*watch)) << change[0];
  }
}

TEST_F(KeyspaceWatches, OtherDatabasesDoNotWake) {
  const RedisProcess redis;
  auto watch = opened(redis);
  ASSERT_TRUE(watch) << watch.error().text();
  EXPECT_TRUE(*watch->drain());
  redis.cli(
      {"EVAL", "redis.call('SELECT', 6) redis.call('HSET', 'PORT_TABLE|Ethernet0', 'mtu', '9100')", "0"});
  // Events come in order: after that of database 4 there is none.
  redis.cli({"HSET", "PORT|Ethernet0", "mtu", "9100"});
  ASSERT_TRUE(eventually([&] { return is_readable(*watch); }));
  RedisConnection counter(redis.server(), kConfigDatabase);
  EXPECT_TRUE(*watch->drain());
  EXPECT_FALSE(is_readable(*watch));
  redis.cli(
      {"EVAL", "redis.call('SELECT', 6) redis.call('HSET', 'PORT_TABLE|Ethernet0', 'mtu', '9200')", "0"});
  redis.cli({"PING"});
  EXPECT_FALSE(is_readable(*watch));
}

TEST_F(KeyspaceWatches, ARedisThatReportsNothingIsRefusedOrSet) {
  const RedisProcess redis({.more = {"--notify-keyspace-events", "Ex"}});
  const auto refused = opened(redis);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::refused);
  EXPECT_EQ(refused.error().text(),
            redis.server().name() +
                " does not report changes of keys: notify-keyspace-events is 'xE', and "
                "needs K and A; SONiC sets KEA");
  EXPECT_EQ(redis.cli({"CONFIG", "GET", "notify-keyspace-events"}), "notify-keyspace-events\nxE");
  auto watch = opened(redis, {.may_set_events = true});
  ASSERT_TRUE(watch) << watch.error().text();
  EXPECT_EQ(redis.cli({"CONFIG", "GET", "notify-keyspace-events"}), "notify-keyspace-events\nAKE");
  EXPECT_TRUE(*watch->drain());
  redis.cli({"HSET", "PORT|Ethernet0", "mtu", "9100"});
  EXPECT_TRUE(reports(*watch));
  redis.cli({"CONFIG", "SET", "notify-keyspace-events", "Kgh"});
  EXPECT_TRUE(opened(redis));
  redis.cli({"CONFIG", "SET", "notify-keyspace-events", "Kh"});
  EXPECT_FALSE(opened(redis));
}

TEST_F(KeyspaceWatches, SaysWhereTheSettingCannotBeRead) {
  const RedisProcess redis({.more = {"--rename-command", "CONFIG", ""}});
  auto watch = opened(redis);
  ASSERT_TRUE(watch) << watch.error().text();
  EXPECT_EQ(watch->doubt(),
            redis.server().name() +
                ": whether changes are reported is not known; see that notify-keyspace-events "
                "has K and A: CONFIG GET: Redis: ERR unknown command 'CONFIG'");
  EXPECT_TRUE(*watch->drain());
  redis.cli({"HSET", "PORT|Ethernet0", "mtu", "9100"});
  EXPECT_TRUE(reports(*watch));
}

TEST_F(KeyspaceWatches, ALostConnectionWakesAndIsAnError) {
  RedisProcess redis;
  auto watch = opened(redis);
  ASSERT_TRUE(watch) << watch.error().text();
  EXPECT_TRUE(*watch->drain());
  redis.restart();
  ASSERT_TRUE(eventually([&] { return is_readable(*watch); }));
  const auto drained = watch->drain();
  ASSERT_FALSE(drained);
  EXPECT_EQ(drained.error().kind, ErrorKind::transient);
  EXPECT_FALSE(watch->drain());
}

}  // namespace
}  // namespace lockstep::sonic
