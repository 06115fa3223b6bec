// Writes to CONFIG_DB that go wrong: others that write at the same time, replies that are lost, commands that
// arrive late, and a Redis that does not write.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "drivers/posix/wake_descriptor.hpp"
#include "drivers/sonic/config_store.hpp"
#include "tests/unit/sonic/faulty_redis_proxy.hpp"
#include "tests/unit/sonic/redis_process.hpp"

namespace lockstep::sonic {
namespace {

const ConfigRow kWas{{"mtu", "9100"}};
const ConfigRow kWant{{"mtu", "9216"}};

class ConfigStoreFaults : public testing::Test {
 protected:
  void SetUp() override {
    LOCKSTEP_NEEDS_REDIS();
    start({});
  }
  void start(RedisProcess::Options options) {
    redis_ = std::make_unique<RedisProcess>(std::move(options));
    redis_->cli({"SET", "CONFIG_DB_INITIALIZED", "1"});
    redis_->cli({"HSET", "PORT|Ethernet0", "mtu", "9100"});
    redis_->cli({"HSET", "PORT|Ethernet4", "mtu", "9100"});
  }
  std::unique_ptr<FaultyRedisProxy> proxy(RedisFaultPlan plan) {
    return std::make_unique<FaultyRedisProxy>(redis_->folder() + "/proxy", redis_->socket_path(),
                                              std::move(plan));
  }
  std::string mtus() const {
    return redis_->cli({"HGET", "PORT|Ethernet0", "mtu"}) + " " +
           redis_->cli({"HGET", "PORT|Ethernet4", "mtu"});
  }

  std::unique_ptr<RedisProcess> redis_;
  const std::vector<RowWrite> writes_{{"PORT", "Ethernet0", kWas, kWant}, {"PORT", "Ethernet4", kWas, kWant}};
};

std::vector<RowState> both(RowState state) { return {state, state}; }

TEST_F(ConfigStoreFaults, AnotherWriterBetweenReadingAndExecIsAConflict) {
  const std::vector<std::vector<std::string>> kOthers{{"HSET", "PORT|Ethernet4", "fec", "rs"},
                                                      {"DEL", "PORT|Ethernet4"},
                                                      {"SET", "CONFIG_DB_INITIALIZED", "0"},
                                                      {"FLUSHDB"}};
  for (const auto& other : kOthers) {
    start({});
    std::string after;
    const auto between = proxy({.command = "EXEC", .before = [&] {
                                  redis_->cli(other);
                                  after = mtus();
                                }});
    ConfigStore store(between->server(), kConfigDatabase);
    EXPECT_EQ(said(store.write(writes_, patient())),
              "conflict: another program changed one of the rows while they were being written; nothing was "
              "written")
        << other[0];
    EXPECT_TRUE(between->done());
    EXPECT_EQ(mtus(), after);
  }
}

TEST_F(ConfigStoreFaults, AnEmptiedDatabaseIsAConflict) {
  ConfigStore store(redis_->server(), kConfigDatabase);
  ASSERT_TRUE(store.read(patient()));
  redis_->cli({"FLUSHDB"});
  EXPECT_EQ(said(store.write(writes_, patient())),
            "conflict: row 'PORT|Ethernet0' changed since it was read: another program has deleted it");
}

// `config reload` empties the database while it is read: what is left is not the configuration.
TEST_F(ConfigStoreFaults, ADatabaseThatIsEmptiedWhileItIsReadIsNotInitialised) {
  const auto emptying = proxy({.command = "HGETALL", .before = [&] { redis_->cli({"FLUSHDB"}); }});
  ConfigStore store(emptying->server(), kConfigDatabase);
  EXPECT_EQ(
      said(store.read(patient())),
      "transient: CONFIG_DB is not initialised yet: SONiC is starting, or is loading its configuration");
}

TEST_F(ConfigStoreFaults, ARowThatIsDeletedWhileItIsReadIsLeftOut) {
  const auto deleting = proxy({.command = "HGETALL", .before = [&] {
                                 redis_->cli({"DEL", "PORT|Ethernet4"});
                               }});
  ConfigStore store(deleting->server(), kConfigDatabase);
  const auto stored = store.read(patient());
  ASSERT_TRUE(stored) << said(stored);
  EXPECT_EQ(stored->config.tables.at("PORT").size(), 1U);
  EXPECT_TRUE(stored->unreadable.empty());
}

TEST_F(ConfigStoreFaults, LostReplyOfAWriteThatHappenedIsSettledAsWanted) {
  const auto cutting = proxy({.command = "EXEC", .fault = RedisFault::cut_after});
  ConfigStore store(cutting->server(), kConfigDatabase);
  EXPECT_EQ(said(store.write(writes_, patient())),
            "unknown outcome: " + cutting->server().name() + ": no reply: Redis closed the connection");
  const auto states = store.settled(writes_, patient());
  ASSERT_TRUE(states) << said(states);
  EXPECT_EQ(*states, both(RowState::wanted));
  EXPECT_EQ(mtus(), "9216 9216");
}

TEST_F(ConfigStoreFaults, LostWriteThatDidNotHappenIsSettledAsFormerAndCanBeRepeated) {
  const auto cutting = proxy({.command = "EXEC", .fault = RedisFault::cut_before});
  ConfigStore store(cutting->server(), kConfigDatabase);
  EXPECT_EQ(said(store.write(writes_, patient())).substr(0, 16), "unknown outcome:");
  EXPECT_EQ(*store.settled(writes_, patient()), both(RowState::former));
  redis_->cli({"HSET", "PORT|Ethernet4", "mtu", "1500"});
  EXPECT_EQ(*store.settled(writes_, patient()), (std::vector<RowState>{RowState::former, RowState::other}));
  redis_->cli({"HSET", "PORT|Ethernet4", "mtu", "9100"});
  const auto again = store.write(writes_, patient());
  EXPECT_TRUE(again) << said(again);
  EXPECT_EQ(mtus(), "9216 9216");
}

// A tunnel holds the end of the transaction back until after the caller has given up.
TEST_F(ConfigStoreFaults, WhatWasSettledIsNotChangedByCommandsThatArriveLater) {
  const auto settle = [this](ConfigStore& store) {
    const auto states = store.settled(writes_, patient());
    return states && *states == both(RowState::former);
  };
  const auto observe = [](ConfigStore& store) {
    const auto stored = store.read(patient());
    return stored && *stored->config.find("PORT", "Ethernet0") == kWas;
  };
  for (const auto& find_out :
       {std::function<bool(ConfigStore&)>(settle), std::function<bool(ConfigStore&)>(observe)}) {
    start({});
    const WakeDescriptor wake;
    const auto tunnel =
        proxy({.command = "EXEC", .fault = RedisFault::late, .before = [&] { wake.signal(); }});
    ConfigStore store(tunnel->server(), kConfigDatabase);
    Call call = patient();
    call.wake_fd = wake.number();
    const auto written = store.write(writes_, call);
    ASSERT_TRUE(eventually([&] { return tunnel->done(); }));
    EXPECT_EQ(said(written), "unknown outcome: " + tunnel->server().name() + ": no reply: asked to stop");
    EXPECT_TRUE(find_out(store));
    tunnel->deliver_late();
    EXPECT_EQ(mtus(), "9100 9100");
  }
}

// The numbers of connections start again with Redis: the same one is another program's then.
TEST_F(ConfigStoreFaults, ARestartedRedisLosesNoOtherConnection) {
  const auto cutting = proxy({.command = "EXEC", .fault = RedisFault::cut_before});
  ConfigStore store(cutting->server(), kConfigDatabase);
  EXPECT_EQ(said(store.write(writes_, patient())).substr(0, 16), "unknown outcome:");
  redis_->restart();
  std::vector<std::unique_ptr<RedisConnection>> others;  // whose numbers include that of the lost one
  const RedisCommand id[] = {{"CLIENT", "ID"}};
  for (int i = 0; i < 30; ++i) {
    others.push_back(std::make_unique<RedisConnection>(redis_->server(), 0));
    ASSERT_TRUE(others.back()->send(id, RedisIntention::asks, patient()));
  }
  EXPECT_EQ(*store.settled(writes_, patient()), both(RowState::other));
  for (const auto& other : others) EXPECT_TRUE(other->send_next(id, RedisIntention::asks, patient()));
}

TEST_F(ConfigStoreFaults, RedisKilledBeforeExecIsUnknownAndThenSettled) {
  const auto killing = proxy({.command = "EXEC", .before = [&] { redis_->restart(); }});
  ConfigStore store(killing->server(), kConfigDatabase);
  EXPECT_EQ(said(store.write(writes_, patient())).substr(0, 16), "unknown outcome:");
  EXPECT_EQ(*store.settled(writes_, patient()), both(RowState::other));
}

TEST_F(ConfigStoreFaults, LostConnectionsBeforeExecIsSentAreTransient) {
  for (const char* const command : {"WATCH", "HGETALL"}) {
    const auto cutting = std::make_unique<FaultyRedisProxy>(
        redis_->folder() + "/" + command, redis_->socket_path(),
        RedisFaultPlan{.command = command, .fault = RedisFault::cut_before});
    ConfigStore store(cutting->server(), kConfigDatabase);
    EXPECT_EQ(said(store.write(writes_, patient())).substr(0, 10), "transient:") << command;
  }
  EXPECT_EQ(mtus(), "9100 9100");
}

// Over a new connection nothing would be watched.
TEST_F(ConfigStoreFaults, RowsThatWereReadOverALostConnectionAreNotWritten) {
  const auto closing = proxy({.command = "HGETALL", .fault = RedisFault::close_after});
  ConfigStore store(closing->server(), kConfigDatabase);
  const std::vector<RowWrite> one{writes_[0]};
  const auto written = store.write(one, patient());
  EXPECT_FALSE(written);
  EXPECT_EQ(mtus(), "9100 9100");
}

TEST_F(ConfigStoreFaults, ARedisThatDoesNotWriteIsRefusedInItsWords) {
  ConfigStore store(redis_->server(), kConfigDatabase);
  const std::string row = "write of row 'PORT|Ethernet0': Redis: ";
  redis_->cli({"REPLICAOF", "127.0.0.1", "1"});
  EXPECT_EQ(said(store.write(writes_, patient())), "refused: " + row +
                                                       "READONLY You can't write against a read only replica "
                                                       "(this Redis is a replica: write to its primary)");
  redis_->cli({"CONFIG", "SET", "replica-serve-stale-data", "no"});
  EXPECT_EQ(said(store.write(writes_, patient())).substr(0, 10), "transient:");
  EXPECT_EQ(said(store.read(patient())).substr(0, 10), "transient:");
  redis_->cli({"REPLICAOF", "NO", "ONE"});
  redis_->cli({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(said(store.write(writes_, patient())),
            "refused: " + row +
                "OOM command not allowed when used memory > 'maxmemory' (Redis has reached its maxmemory: "
                "find what "
                "fills it, or raise the limit)");
  redis_->cli({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(mtus(), "9100 9100");
  EXPECT_TRUE(store.write(writes_, patient()));
}

TEST_F(ConfigStoreFaults, ARedisThatCannotSaveIsRefusedAndSaysWhatToDo) {
  // The disk is missing, which Redis notices in the same way as a full one.
  start({.more = {"--enable-protected-configs", "yes"}});  // for CONFIG SET dir
  const std::string disk = redis_->folder() + "/disk";
  std::filesystem::create_directory(disk);
  redis_->cli({"CONFIG", "SET", "dir", disk});
  redis_->cli({"CONFIG", "SET", "save", "3600 1000000"});
  std::filesystem::remove(disk);
  redis_->cli({"BGSAVE"});
  ASSERT_TRUE(eventually([&] {
    return redis_->cli({"INFO", "persistence"}).find("rdb_last_bgsave_status:err") != std::string::npos;
  }));
  ConfigStore store(redis_->server(), kConfigDatabase);
  const std::string error = said(store.write(writes_, patient()));
  EXPECT_TRUE(error.starts_with("refused: write of row 'PORT|Ethernet0': Redis: MISCONF ")) << error;
  EXPECT_TRUE(error.ends_with(
      " (Redis cannot save its data, which mostly is a full or missing disk: make room, and see Redis' log)"))
      << error;
  EXPECT_TRUE(store.read(patient()));
  EXPECT_EQ(mtus(), "9100 9100");
}

TEST_F(ConfigStoreFaults, MissingPermissionsAreDeniedBeforeAnythingIsWritten) {
  RedisServer server = redis_->server();
  server.user = "reader";
  server.password = "word";
  const std::pair<std::string, std::string> kMissing[] = {
      {"-hset", "denied: write of row 'PORT|Ethernet0': Redis: NOPERM "},
      {"-info", "denied: INFO server: Redis: NOPERM "},
      {"-watch", "denied: WATCH: Redis: NOPERM "},
      {"-hgetall", "denied: row 'PORT|Ethernet0': Redis: NOPERM "},
      {"-exec", "denied: write of 2 changes: Redis: NOPERM "}};
  for (const auto& [rule, error] : kMissing) {
    redis_->cli({"ACL", "SETUSER", "reader", "reset", "on", ">word", "~*", "&*", "+@all", rule});
    ConfigStore store(server, kConfigDatabase);
    const std::string refused = said(store.write(writes_, patient()));
    EXPECT_TRUE(refused.starts_with(error)) << refused;
    EXPECT_TRUE(refused.ends_with(" (allow the command in the ACL of this user of Redis)")) << refused;
  }
  EXPECT_EQ(mtus(), "9100 9100");
}

// Redis checks permissions again in EXEC, and does not roll back what came before.
TEST_F(ConfigStoreFaults, AnErrorInsideExecNamesItsRowAndIsUnknown) {
  RedisServer server;
  const auto changing = proxy(
      {.command = "EXEC", .before = [&] {
         redis_->cli({"ACL", "SETUSER", "writer", "resetkeys", "~CONFIG_DB_INITIALIZED", "~PORT|Ethernet0"});
       }});
  server = changing->server();
  server.user = "writer";
  server.password = "word";
  redis_->cli({"ACL", "SETUSER", "writer", "on", ">word", "~*", "&*", "+@all"});
  ConfigStore store(server, kConfigDatabase);
  const std::string error = said(store.write(writes_, patient()));
  EXPECT_TRUE(error.starts_with("unknown outcome: write of row 'PORT|Ethernet4': Redis: NOPERM ")) << error;
  EXPECT_TRUE(error.ends_with("; the other changes of this step were written")) << error;
  EXPECT_EQ(mtus(), "9216 9100");
}

TEST_F(ConfigStoreFaults, FalseRepliesAreErrorsOfTheRightKind) {
  const std::tuple<std::string, std::string, std::string> kFalse[] = {
      {"CLIENT", "+OK\r\n", "transient: "},       {"INFO", ":1\r\n", "transient: "},
      {"WATCH", ":1\r\n", "transient: "},         {"GET", "*0\r\n", "transient: "},
      {"HGETALL", "*1\r\n+a\r\n", "transient: "}, {"HGETALL", "*2\r\n+a\r\n:1\r\n", "transient: "},
      {"HGETALL", ":1\r\n", "transient: "},       {"EXEC", "*0\r\n", "unknown outcome: "},
      {"EXEC", "+OK\r\n", "unknown outcome: "},   {"EXEC", "?\r\n", "unknown outcome: "},
      {"KEYS", ":1\r\n", "transient: "},          {"KEYS", "*1\r\n:1\r\n", "transient: "}};
  int number = 0;
  for (const auto& [command, answer, error] : kFalse) {
    start({});
    const std::string path = redis_->folder() + "/false" + std::to_string(++number);
    FaultyRedisProxy lying(path, redis_->socket_path(),
                           {.command = command, .fault = RedisFault::answer, .answer = answer});
    ConfigStore store(lying.server(), kConfigDatabase);
    const std::string got =
        command == "KEYS" ? said(store.read(patient())) : said(store.write(writes_, patient()));
    EXPECT_TRUE(got.starts_with(error)) << command << " " << answer << ": " << got;
    EXPECT_TRUE(lying.done()) << command;
  }
}

}  // namespace
}  // namespace lockstep::sonic
