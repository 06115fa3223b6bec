// The driver against a real Redis that holds a switch's databases: what it observes, and what is there when a
// change goes wrong at each of its transactions. The oracle is redis-cli; states are judged by SONiC's
// models.
#include "drivers/sonic/driver.hpp"

#include <poll.h>

#include <csignal>

#include "drivers/sonic/builtin_rules.hpp"
#include "drivers/sonic/config_store.hpp"
#include "drivers/sonic/state_check.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/unit/sonic/changes.hpp"
#include "tests/unit/sonic/faulty_redis_proxy.hpp"
#include "tests/unit/sonic/redis_process.hpp"
#include "tests/unit/sonic/shared_data.hpp"

namespace lockstep::sonic {
namespace {

constexpr const char* kLeaf = R"({
  "DEVICE_METADATA": {"localhost": {"hwsku": "ACS-SN5600", "frr_mgmt_framework_config": "true"}},
  "PORT": {"Ethernet0": {"lanes": "0,1", "speed": "400000", "mtu": "9100", "admin_status": "up"},
           "Ethernet8": {"lanes": "8,9", "speed": "400000", "mtu": "9100", "admin_status": "up"}},
  "DSCP_TO_TC_MAP": {"AZURE": {"0": "0", "26": "1", "48": "6"}},
  "TC_TO_QUEUE_MAP": {"AZURE": {"0": "0", "1": "1", "6": "6"}},
  "PORT_QOS_MAP": {"Ethernet0": {"dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE"},
                   "Ethernet8": {"dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE"}},
  "BUFFER_POOL": {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "30000000"}}})";

// A lossless class on both ports, in place of class 1.
ChangeSet lossless() {
  ChangeSet out;
  for (const std::string port : {"Ethernet0", "Ethernet8"}) {
    out.push_back(change("interface[" + port + "]/class[1]", Value{}));
    const ChangeSet one = lossless_class(port);
    out.insert(out.end(), one.begin(), one.end());
  }
  return out;
}

class SonicDriver : public testing::Test {
 protected:
  void SetUp() override {
    LOCKSTEP_NEEDS_REDIS();
    fresh();
  }
  void fresh(RedisProcess::Options options = {}) {
    redis = std::make_unique<RedisProcess>(std::move(options));
    load(*parse_config_db(kLeaf));
  }
  void load(const ConfigDb& config) {
    for (const auto& [table, rows] : config.tables)
      for (const auto& [key, row] : rows) {
        std::vector<std::string> words{"HSET", redis_name(table, key)};
        const RedisHash hash = *redis_hash(row);
        for (const auto& [field, value] : hash) words.insert(words.end(), {field, value});
        redis->cli(words);
      }
    redis->cli({"SET", "CONFIG_DB_INITIALIZED", "1"});
  }
  std::unique_ptr<FaultyRedisProxy> proxy(RedisFaultPlan plan) const {
    return std::make_unique<FaultyRedisProxy>(redis->folder() + "/proxy", redis->socket_path(),
                                              std::move(plan));
  }
  static Attached attach(const RedisServer& server) {
    return make_sonic_driver({.device = "leaf0", .databases = usual_databases(server)});
  }
  static Observation observed(const Attached& attached) {
    auto seen = attached.driver->observe(Scope{}, "", patient());
    EXPECT_TRUE(seen) << said(seen);
    return seen ? *std::move(seen) : Observation{};
  }
  // What redis-cli says is there.
  ConfigDb there() const {
    ConfigDb config;
    std::istringstream keys(redis->cli({"KEYS", "*|*"}));
    for (std::string key; std::getline(keys, key);) {
      RedisHash hash;
      const auto json = nlohmann::json::parse(redis->cli({"--json", "HGETALL", key}));
      for (const auto& [field, value] : json.items()) hash[field] = value.get<std::string>();
      const auto name = row_of_redis_name(key);
      config.tables[name->first][name->second] = *row_of_redis_hash(hash);
    }
    return config;
  }
  void expect_valid(const std::string& when) const {
    const ConfigDb config = there();
    const ConfigFindings findings = std::filesystem::is_directory(sonic_yang_data() / "yang-models")
                                        ? sonic_models().check(config)
                                        : check_by_builtin_rules(config);
    EXPECT_TRUE(findings.valid()) << when << ": " << said(findings);
  }
  static std::size_t satisfied(const ChangeSet& changes, const Tree& have) {
    return static_cast<std::size_t>(std::ranges::count_if(
        changes, [&have](const Change& one) { return have.value(one.path) == one.want; }));
  }

  std::unique_ptr<RedisProcess> redis;
};

TEST_F(SonicDriver, AChangeIsMadeReadBackAndASecondOneIsEmpty) {
  const Attached leaf = attach(redis->server());
  const ChangeSet changes = lossless();
  const auto receipt = leaf.driver->apply(changes, {}, patient());
  ASSERT_TRUE(receipt) << said(receipt);
  for (const auto& outcome : receipt->outcomes) EXPECT_FALSE(outcome.error) << outcome.path.text();
  EXPECT_EQ(satisfied(changes, observed(leaf).have), changes.size());
  expect_valid("at the end");
  EXPECT_EQ(redis->cli({"HGET", "PORT|Ethernet8", "admin_status"}), "up");
  const ConfigDb before = there();
  redis->commands();
  EXPECT_TRUE(leaf.driver->apply(changes, {}, patient()));
  for (const std::string& command : redis->commands())
    EXPECT_TRUE(command.starts_with("HGETALL") || command.starts_with("KEYS")) << command;
  EXPECT_EQ(there(), before);
}

TEST_F(SonicDriver, WhatIsNoRowIsNoReasonToSeeNothing) {
  redis->cli({"SET", "foo", "1"});
  redis->cli({"HSET", "PORT", "mtu", "9100"});
  const Observation seen = observed(attach(redis->server()));
  EXPECT_TRUE(seen.unread.empty());
  EXPECT_EQ(seen.have.value(*Path::parse("interface[Ethernet0]/mtu")), Value::integer(9100));
  EXPECT_EQ(seen.notes.size(), 2U);
}

// A port that somebody else shuts down in the middle stays down.
TEST_F(SonicDriver, OnlyPortsThatThisChangeHasShutDownComeUpAgain) {
  const auto between = proxy({.command = "EXEC", .skip = 2, .before = [this] {
                                redis->cli({"HSET", "PORT|Ethernet8", "admin_status", "down"});
                                redis->cli({"HSET", "PORT_QOS_MAP|Ethernet0", "pfc_enable", "4"});
                              }});
  (void)attach(between->server()).driver->apply(lossless(), {}, patient());
  ASSERT_TRUE(between->done());
  EXPECT_EQ(redis->cli({"HGET", "PORT|Ethernet8", "admin_status"}), "down");
  EXPECT_EQ(redis->cli({"HGET", "PORT|Ethernet0", "admin_status"}), "up");
}

// At each transaction in turn: the connection is lost before it, after it, or Redis is killed (and comes back
// with what it had: SONiC's Redis does not save between). What is there is valid; what is said to be done is;
// the next run finishes.
TEST_F(SonicDriver, AFailureAtEachTransactionLeavesAValidStateThatIsToldAndTheNextRunFinishes) {
  const ChangeSet changes = lossless();
  std::size_t transactions = 0;
  for (const RedisFault fault : {RedisFault::cut_before, RedisFault::cut_after, RedisFault::close_after}) {
    for (std::size_t number = 0;; ++number) {
      fresh();
      const auto between = proxy({.command = "EXEC", .skip = number, .fault = fault});
      const std::string when =
          "transaction " + std::to_string(number) + ", fault " + std::to_string(static_cast<int>(fault));
      const auto receipt = attach(between->server()).driver->apply(changes, {}, patient());
      if (!between->done()) break;
      transactions = std::max(transactions, number + 1);
      expect_valid(when);
      const Attached leaf = attach(redis->server());
      const Tree have = observed(leaf).have;
      if (receipt) {
        for (std::size_t i = 0; i < changes.size(); ++i) {
          const auto& error = receipt->outcomes[i].error;
          EXPECT_EQ(have.value(changes[i].path) == changes[i].want || error.has_value(), true)
              << when << ": " << changes[i].path.text() << " is said to be done";
          if (error) {
            EXPECT_NE(error->kind, ErrorKind::transient) << when << ": it would be tried again unseen";
          }
        }
      } else {
        EXPECT_EQ(number, 0U) << when << ": " << said(receipt);
      }
      ASSERT_TRUE(leaf.driver->apply(changes, {}, patient())) << when;
      EXPECT_EQ(satisfied(changes, observed(leaf).have), changes.size()) << when;
      expect_valid(when + ", at the end");
      EXPECT_EQ(redis->cli({"HGET", "PORT|Ethernet0", "admin_status"}), "up") << when;
      EXPECT_EQ(redis->cli({"HGET", "PORT|Ethernet8", "admin_status"}), "up") << when;
    }
  }
  EXPECT_GT(transactions, 4U);
  std::printf("%zu transactions\n", transactions);
}

TEST_F(SonicDriver, AnotherWriterInMidPlanIsAConflictAndKeepsWhatItWrote) {
  const ChangeSet changes = lossless();
  for (std::size_t number = 1; number < 5; ++number) {
    fresh();
    const auto between =
        proxy({.command = "EXEC", .skip = number, .before = [this] {
                 for (const char* const port : {"PORT|Ethernet0", "PORT|Ethernet8"})
                   redis->cli({"HSET", port, "description", "touched"});
                 for (const char* const port : {"PORT_QOS_MAP|Ethernet0", "PORT_QOS_MAP|Ethernet8"})
                   redis->cli({"HSET", port, "pfcwd_sw_enable", "4"});
               }});
    const auto receipt = attach(between->server()).driver->apply(changes, {}, patient());
    ASSERT_TRUE(between->done());
    expect_valid("after the other writer");
    const Attached leaf = attach(redis->server());
    if (receipt) {
      const Tree have = observed(leaf).have;
      for (std::size_t i = 0; i < changes.size(); ++i)
        EXPECT_TRUE(receipt->outcomes[i].error || have.value(changes[i].path) == changes[i].want);
    }
    ASSERT_TRUE(leaf.driver->apply(changes, {}, patient()));
    EXPECT_EQ(satisfied(changes, observed(leaf).have), changes.size());
    EXPECT_EQ(redis->cli({"HGET", "PORT|Ethernet0", "description"}), "touched");
  }
}

TEST_F(SonicDriver, ARedisThatRestartsInMidPlanIsAnErrorAndAnotherBoot) {
  const Attached leaf = attach(redis->server());
  const std::string boot = observed(leaf).boot_id;
  const auto between = proxy({.command = "EXEC", .skip = 2, .before = [this] { redis->restart(); }});
  const auto receipt = attach(between->server()).driver->apply(lossless(), {}, patient());
  ASSERT_TRUE(receipt) << said(receipt);
  std::size_t failed = 0;
  for (const auto& outcome : receipt->outcomes) failed += outcome.error ? 1 : 0;
  EXPECT_EQ(failed, receipt->outcomes.size());  // nothing is there any more
  const auto not_yet = leaf.driver->observe(Scope{}, "", patient());
  EXPECT_EQ(said(not_yet).substr(0, 46), "transient: CONFIG_DB is not initialised yet: S");
  load(*parse_config_db(kLeaf));
  EXPECT_NE(observed(leaf).boot_id, boot);
}

TEST_F(SonicDriver, WhatRedisRefusesIsToldAndChangesNothing) {
  redis->cli({"REPLICAOF", "127.0.0.1", "1"});
  ConfigDb before = there();
  const auto replica = attach(redis->server()).driver->apply(lossless(), {}, patient());
  EXPECT_EQ(said(replica).substr(0, 9), "refused: ") << said(replica);
  EXPECT_EQ(there(), before);
  fresh({.more = {"--requirepass", "secret"}, .password = "secret"});
  before = there();
  RedisServer wrong = redis->server();
  wrong.password = "other";
  const auto denied = attach(wrong).driver->apply(lossless(), {}, patient());
  EXPECT_EQ(said(denied).substr(0, 8), "denied: ") << said(denied);
  EXPECT_EQ(said(denied).find("other"), std::string::npos);
  EXPECT_EQ(there(), before);
}

TEST_F(SonicDriver, FaultsThatWereThereBeforeStayAndAreNoObstacle) {
  redis->cli({"HSET", "PORT|Ethernet8", "mtu", "99999"});
  redis->cli({"HSET", "VLAN|Vlan10", "vlanid", "10"});
  redis->cli({"HSET", "PORT_QOS_MAP|Ethernet8", "tc_to_pg_map", "GONE"});
  const Attached leaf = attach(redis->server());
  const auto receipt =
      leaf.driver->apply({change("interface[Ethernet0]/mtu", Value::integer(9216))}, {}, patient());
  ASSERT_TRUE(receipt);
  EXPECT_FALSE(receipt->outcomes[0].error);
  EXPECT_EQ(redis->cli({"HGET", "PORT|Ethernet0", "mtu"}), "9216");
  EXPECT_EQ(redis->cli({"HGET", "PORT|Ethernet8", "mtu"}), "99999");
  // Also of a row that no model can translate: BUFFER_PG has groups 0 to 7.
  redis->cli({"HSET", "BUFFER_PG|Ethernet8|8", "profile", "NULL"});
  const auto dangling = leaf.driver->apply(
      {{Path(row("raw[*][*]"), {"sonic", "PORT_QOS_MAP|Ethernet0 tc_to_pg_map"}), {}, Value::text("NOSUCH")}},
      {}, patient());
  ASSERT_TRUE(dangling);
  EXPECT_TRUE(dangling->outcomes[0].error);
  // A new one is refused.
  const auto wrong =
      leaf.driver->apply({change("interface[Ethernet0]/mtu", Value::integer(20000))}, {}, patient());
  ASSERT_TRUE(wrong);
  ASSERT_TRUE(wrong->outcomes[0].error);
  EXPECT_EQ(wrong->outcomes[0].error->kind, ErrorKind::refused);
  EXPECT_EQ(redis->cli({"HGET", "PORT|Ethernet0", "mtu"}), "9216");
}

TEST_F(SonicDriver, EffectsAreWhatTheSwitchsDaemonsSay) {
  const auto set = [this](const char* database, std::vector<std::string> words) {
    words.insert(words.begin(), {"-n", database, "HSET"});
    redis->cli(words);
  };
  set("0", {"PORT_TABLE:Ethernet0", "oper_status", "up"});
  set("0", {"PORT_TABLE:Ethernet8", "oper_status", "down"});
  set("0", {"LLDP_ENTRY_TABLE:Ethernet0", "lldp_rem_sys_name", "gpu1", "lldp_rem_port_id_subtype", "3",
            "lldp_rem_port_id", "52:54:00:12:34:56", "lldp_rem_port_desc", "rail0"});
  set("6", {"NEIGH_STATE_TABLE|Ethernet8", "state", "Established"});
  set("0", {"SWITCH_TABLE:switch", "ecmp_hash_seed", "25", "ecmp_hash_offset", "0"});
  const Tree have = observed(attach(redis->server())).have;
  EXPECT_EQ(have.value(*Path::parse("load-balancing/seed")), Value::integer(25));
  EXPECT_EQ(have.value(*Path::parse("interface[Ethernet0]/carrier")), Value::boolean(true));
  EXPECT_EQ(have.value(*Path::parse("interface[Ethernet8]/carrier")), Value::boolean(false));
  EXPECT_EQ(have.value(*Path::parse("interface[Ethernet0]/peer")), Value::text("gpu1:rail0"));
  EXPECT_EQ(have.value(*Path::parse("bgp/neighbor[Ethernet8]/session")), Value::text("established"));
}

// By what buffermgrd writes, of new releases and of old ones (which put a table's name before a profile's).
TEST_F(SonicDriver, ComputedBuffersAreReadFromApplDb) {
  const auto set = [this](std::vector<std::string> words) {
    words.insert(words.begin(), {"-n", "0", "HSET"});
    redis->cli(words);
  };
  set({"BUFFER_PROFILE_TABLE:pg_lossless_400000_5m_profile", "xon", "19456", "xoff", "49152", "size", "68608",
       "pool", "ingress_lossless_pool", "dynamic_th", "0"});
  set({"BUFFER_PG_TABLE:Ethernet0:3-4", "profile", "pg_lossless_400000_5m_profile"});
  set({"BUFFER_PG_TABLE:Ethernet8:3", "profile", "[BUFFER_PROFILE_TABLE:pg_lossless_400000_5m_profile]"});
  set({"BUFFER_PG_TABLE:Ethernet8:4", "profile", "[]"});
  set({"BUFFER_PG_TABLE:odd", "profile", "["});
  for (const char* const port : {"Ethernet0", "Ethernet8"})
    redis->cli({"HSET", "BUFFER_PG|" + std::string(port) + "|3-4", "profile", "NULL"});
  const Attached leaf = attach(redis->server());
  const auto size = [](const Observation& seen, const std::string& place) {
    return seen.have.value(*Path::parse("interface[" + place + "]/size")).to_string();
  };
  EXPECT_NE(size(observed(leaf), "Ethernet0]/buffer[3"), "68608")
      << "in the traditional model it is not read";
  redis->cli({"HSET", "DEVICE_METADATA|localhost", "buffer_model", "dynamic"});
  const Observation seen = observed(leaf);
  EXPECT_EQ(size(seen, "Ethernet0]/buffer[3"), "68608");
  EXPECT_EQ(size(seen, "Ethernet0]/buffer[4"), "68608");
  EXPECT_EQ(size(seen, "Ethernet8]/buffer[3"), "68608");
  EXPECT_NE(size(seen, "Ethernet8]/buffer[4"), "68608");
  // A new computation is seen, and is no conflict for a change that was planned before it.
  set({"BUFFER_PROFILE_TABLE:pg_lossless_400000_5m_profile", "size", "70000"});
  const auto again = leaf.driver->observe(Scope{}, seen.revision, patient());
  ASSERT_TRUE(again) << said(again);
  EXPECT_EQ(size(*again, "Ethernet0]/buffer[3"), "70000");
  Guard guard;
  guard.revision = seen.revision;
  EXPECT_TRUE(
      leaf.driver->apply({change("interface[Ethernet0]/mtu", Value::integer(9000))}, guard, patient()));
  redis->cli({"-n", "0", "SET", "BUFFER_PG_TABLE:Ethernet0:5", "text"});
  const Observation unread = observed(leaf);
  ASSERT_FALSE(unread.unread.empty());
  EXPECT_TRUE(std::ranges::all_of(unread.unread, [](const Unread& one) {
    return schema_row(one.row).pattern.starts_with("interface[*]/buffer[*]/");
  }));
}

TEST_F(SonicDriver, WhatTheAsicCannotCountIsNotSupported) {
  const std::string row = "QUEUE_COUNTER_CAPABILITIES|WRED_ECN_QUEUE_";
  const auto say = [&](const char* answer) {
    for (const char* const counter : {"ECN_MARKED_PKT_COUNTER", "ECN_MARKED_BYTE_COUNTER",
                                      "WRED_DROPPED_PKT_COUNTER", "WRED_DROPPED_BYTE_COUNTER"})
      redis->cli({"-n", "6", "HSET", row + counter, "isSupported", answer});
  };
  const Attached leaf = attach(redis->server());
  const Path ecn(lockstep::row("counter-group[*]"), {"queue-ecn"});
  EXPECT_EQ(incapable_of(observed(leaf).incapable, ecn), nullptr) << "nothing is known";
  say("false");
  const Observation seen = observed(leaf);
  ASSERT_NE(incapable_of(seen.incapable, ecn), nullptr);
  EXPECT_EQ(incapable_of(seen.incapable, Path(lockstep::row("counter-group[*]"), {"queue"})), nullptr);
  say("true");
  EXPECT_EQ(incapable_of(observed(leaf).incapable, ecn), nullptr);
  redis->cli({"-n", "6", "DEL", row + "ECN_MARKED_PKT_COUNTER"});
  redis->cli({"-n", "6", "SET", row + "ECN_MARKED_PKT_COUNTER", "text"});
  const Observation unread = observed(leaf);
  EXPECT_EQ(unread.unread.size(), 2U) << "it is not known, so it is not set";
}

TEST_F(SonicDriver, ARowThatCannotBeReadIsNotAbsence) {
  redis->cli({"SET", "PFC_WD|Ethernet0", "text"});
  const Observation seen = observed(attach(redis->server()));
  EXPECT_TRUE(seen.revision.empty());
  EXPECT_FALSE(seen.unread.empty());
  ASSERT_FALSE(seen.notes.empty());
  EXPECT_EQ(seen.notes[0], "CONFIG_DB: PFC_WD|Ethernet0 is not a hash in Redis");
}

TEST_F(SonicDriver, AWatchWakesWhenAnotherWrites) {
  redis->cli({"CONFIG", "SET", "notify-keyspace-events", "KEA"});
  const Attached leaf = attach(redis->server());
  auto watch = leaf.watch();
  ASSERT_TRUE(watch) << said(watch);
  EXPECT_TRUE((*watch)->drain()->any());
  EXPECT_FALSE((*watch)->drain()->any());
  redis->cli({"HSET", "PORT|Ethernet0", "mtu", "1500"});
  pollfd wait{(*watch)->descriptor(), POLLIN, 0};
  ASSERT_EQ(::poll(&wait, 1, 20'000), 1);
  EXPECT_EQ((*watch)->drain()->devices, std::vector<std::string>{"leaf0"});
}

TEST_F(SonicDriver, NativeLinesAreWhatWouldBeDoneByHand) {
  const Attached leaf = attach(redis->server());
  observed(leaf);
  EXPECT_EQ(leaf.preview->native({change("interface[Ethernet0]/mtu", Value::integer(9216))}),
            std::vector<std::string>{"sonic-db-cli CONFIG_DB HSET 'PORT|Ethernet0' 'mtu' '9216'"});
  EXPECT_EQ(leaf.preview->native({change("interface[Ethernet0]/mtu", {})}),
            std::vector<std::string>{"sonic-db-cli CONFIG_DB HDEL 'PORT|Ethernet0' 'mtu'"});
}

}  // namespace
}  // namespace lockstep::sonic
