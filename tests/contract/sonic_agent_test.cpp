// A SONiC switch behind its agent's dead man: a real Redis, and an agent that is killed at each transaction.
// What it leaves is rolled back by the agent that comes after it; the oracle is the dump of redis-cli.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "drivers/sonic/driver.hpp"
#include "reconciler/agent/dead_man.hpp"
#include "tests/unit/sonic/changes.hpp"
#include "tests/unit/sonic/faulty_redis_proxy.hpp"
#include "tests/unit/sonic/redis_process.hpp"

namespace lockstep::contract {
namespace {

using sonic::FaultyRedisProxy;
using sonic::patient;
using sonic::RedisFault;
using sonic::RedisProcess;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr seconds kTimeToSettle{30};

// Row by row, as text.
using Dump = std::map<std::string, std::string>;

class SonicSwitchWithAgent : public testing::Test {
 protected:
  void SetUp() override {
    LOCKSTEP_NEEDS_REDIS();
    fresh();
  }
  void fresh() {
    agent_.reset();
    driver_ = {};
    redis_ = std::make_unique<RedisProcess>();
    for (const char* const port : {"Ethernet0", "Ethernet8"})
      set({"PORT|" + std::string(port), "lanes", port + 8, "speed", "400000", "mtu", "9100", "admin_status",
           "up"});
    set({"PORT|Ethernet16", "lanes", "16", "speed", "400000", "mtu", "9100", "admin_status", "down"});
    set({"DEVICE_METADATA|localhost", "hostname", "leaf0"});
    set({"BUFFER_POOL|ingress_lossless_pool", "type", "ingress", "mode", "dynamic", "size", "30000000"});
    redis_->cli({"SET", "CONFIG_DB_INITIALIZED", "1"});
    journal_ = redis_->folder() + "/journal";
    now_ = seconds(1000);
    boot_ = "boot1";
  }
  void set(std::vector<std::string> words) const {
    words.insert(words.begin(), "HSET");
    redis_->cli(words);
  }
  Dump dump() const {
    Dump out;
    std::istringstream keys(redis_->cli({"KEYS", "*|*"}));
    for (std::string key; std::getline(keys, key);) {
      std::istringstream words(redis_->cli({"HGETALL", key}));
      std::map<std::string, std::string> fields;
      for (std::string field, value; std::getline(words, field) && std::getline(words, value);)
        fields[field] = value;
      for (const auto& [field, value] : fields) out[key] += field + "=" + value + " ";
    }
    return out;
  }
  Dump dump_but_unnamed() const {
    Dump out = dump();
    std::erase_if(out, [&out](const auto& row) {
      const std::size_t at = row.first.find("|lockstep-");
      if (at == row.first.npos) return false;
      const std::string name = "=" + row.first.substr(at + 1) + " ";
      return std::ranges::none_of(
          out, [&](const auto& one) { return one.second.find(name) != std::string::npos; });
    });
    return out;
  }
  // An agent whose Redis is there, or behind a proxy.
  void start_agent(const sonic::RedisServer& server) {
    agent_.reset();
    sonic::DatabaseConfig databases = usual_databases(redis_->server());
    databases.databases.at("CONFIG_DB").server = server;
    driver_ = make_sonic_driver({.device = "leaf0",
                                 .databases = std::move(databases),
                                 .saved_file = redis_->folder() + "/config_db.json",
                                 .checkpoints = redis_->folder() + "/checkpoints"});
    auto journal = agent::AgentJournal::open(journal_);
    ASSERT_TRUE(journal) << journal.error().text();
    agent_ = std::make_unique<agent::DeadMan>(*std::move(journal),
                                              std::map<std::string, Attached*>{{"sonic", &driver_}},
                                              agent::Machine{[this] { return now_; }, boot_});
  }
  // As one that was killed then: what it wrote to its journal later does not count.
  void kill_agent(const std::string& journal) {
    agent_.reset();
    driver_ = {};
    std::ofstream(agent::journal_file(journal_), std::ios::trunc) << journal;
  }
  std::string journal_text() const {
    std::ostringstream out;
    out << std::ifstream(agent::journal_file(journal_)).rdbuf();
    return out.str();
  }
  void pass(nanoseconds time) {
    now_ += time;
    agent_->keep_time();
  }
  Result<Receipt> apply(const std::string& transaction, const ChangeSet& changes, const ChangeSet& undo) {
    Guard guard;
    guard.ticket = transaction + "-1";
    guard.transaction = transaction;
    guard.undo_after = kTimeToSettle;
    guard.undo = undo;
    guard.epoch = 1;
    return agent_->apply({"sonic", changes, guard}, patient());
  }
  Result<Observation> observe() const { return agent_->observe({"sonic", {}, "", 0}, patient()); }

  std::unique_ptr<RedisProcess> redis_;
  std::string journal_;
  nanoseconds now_{};
  std::string boot_;
  Attached driver_;
  std::unique_ptr<agent::DeadMan> agent_;
};

// A lossless class on both ports that are up, each shut down for it.
ChangeSet lossless(const Tree& have) {
  ChangeSet out;
  for (const char* const port : {"Ethernet0", "Ethernet8"})
    for (Change one : sonic::lossless_class(port)) {
      one.was = have.value(one.path);
      out.push_back(one);
    }
  return out;
}
ChangeSet reverse_of(const ChangeSet& changes) {
  ChangeSet out;
  for (auto one = changes.rbegin(); one != changes.rend(); ++one)
    out.push_back({one->path, one->want, one->was, 0});
  return out;
}

TEST_F(SonicSwitchWithAgent, WhatNobodySettlesIsRolledBackInOneGo) {
  start_agent(redis_->server());
  const Dump before = dump();
  const ChangeSet changes = lossless(observe()->have);
  const auto receipt = apply("e1-c1-s1", changes, reverse_of(changes));
  ASSERT_TRUE(receipt) << sonic::said(receipt);
  for (const auto& one : receipt->outcomes) ASSERT_FALSE(one.error) << one.error->text();
  EXPECT_NE(dump(), before);
  EXPECT_EQ(observe()->armed, "e1-c1-s1");
  EXPECT_TRUE(std::filesystem::exists(redis_->folder() + "/checkpoints/lockstep-e1-c1.cp.json"));
  pass(kTimeToSettle - seconds(1));
  EXPECT_NE(dump(), before);
  redis_->commands();
  pass(seconds(2));
  EXPECT_EQ(dump(), before);
  EXPECT_EQ(observe()->armed, "");
  int shut = 0;
  for (const std::string& command : redis_->commands())
    shut += command.find("admin_status down") != command.npos;
  EXPECT_EQ(shut, 2) << "each port is shut down once, and not for each entry";
}

// The agent is killed before each transaction of the change, and stays away until its time is over, or the
// machine restarts meanwhile.
TEST_F(SonicSwitchWithAgent, AKillAtEachTransactionIsRolledBackAndEveryPortComesUp) {
  int ports_found_down = 0;
  for (const bool restarts : {false, true})
    for (std::size_t number = 0;; ++number) {
      fresh();
      const Dump before = dump();
      std::string journal;  // when it was killed
      FaultyRedisProxy proxy(redis_->folder() + "/proxy", redis_->socket_path(),
                             {.command = "EXEC",
                              .skip = number,
                              .applies = [] { return true; },  // nothing of a dead agent arrives
                              .fault = RedisFault::cut_before,
                              .before = [&] { journal = journal.empty() ? journal_text() : journal; }});
      start_agent(proxy.server());
      const ChangeSet changes = lossless(observe()->have);
      (void)apply("s1", changes, reverse_of(changes));
      if (!proxy.done()) break;
      const std::string when = "transaction " + std::to_string(number) + (restarts ? ", with a restart" : "");
      kill_agent(journal);
      for (const char* const port : {"PORT|Ethernet0", "PORT|Ethernet8"})
        ports_found_down += redis_->cli({"HGET", port, "admin_status"}) == "down" ? 1 : 0;
      if (restarts) boot_ = "boot2";
      start_agent(redis_->server());
      pass(restarts ? seconds(0) : kTimeToSettle + seconds(1));
      EXPECT_EQ(dump_but_unnamed(), before) << when;
      EXPECT_EQ(observe()->armed, "") << when;
      // Rows of Lockstep's own that nothing names go with the next change.
      const ChangeSet next{
          {*Path::parse("interface[Ethernet16]/mtu"), Value::integer(9100), Value::integer(9000), 0}};
      ASSERT_TRUE(apply("s2", next, reverse_of(next))) << when;
      ASSERT_TRUE(agent_->settle({"s2", Settlement::undo, 1}, patient())) << when;
      EXPECT_EQ(dump(), before) << when;
    }
  EXPECT_GT(ports_found_down, 0);
}

// A neighbor's hold time takes a new row: between its deletion and its making there is no neighbor.
TEST_F(SonicSwitchWithAgent, ARowThatIsMadeAgainIsThereAfterAKillInBetween) {
  int found_gone = 0;
  for (std::size_t number = 0;; ++number) {
    fresh();
    set({"DEVICE_METADATA|localhost", "frr_mgmt_framework_config", "true"});
    set({"BGP_GLOBALS|default", "local_asn", "65001"});
    set({"BGP_NEIGHBOR|default|Ethernet0", "peer_type", "external", "holdtime", "9", "keepalive", "3"});
    set({"BGP_NEIGHBOR_AF|default|Ethernet0|ipv4_unicast", "admin_status", "true"});
    const Dump before = dump();
    std::string journal;
    FaultyRedisProxy proxy(redis_->folder() + "/proxy", redis_->socket_path(),
                           {.command = "EXEC",
                            .skip = number,
                            .applies = [] { return true; },
                            .fault = RedisFault::cut_before,
                            .before = [&] { journal = journal.empty() ? journal_text() : journal; }});
    start_agent(proxy.server());
    const ChangeSet changes{
        {*Path::parse("bgp/neighbor[Ethernet0]/hold"), Value::integer(9), Value::integer(30), 0}};
    (void)apply("s1", changes, reverse_of(changes));
    if (!proxy.done()) break;
    kill_agent(journal);
    found_gone += redis_->cli({"EXISTS", "BGP_NEIGHBOR|default|Ethernet0"}) == "0" ? 1 : 0;
    start_agent(redis_->server());
    pass(kTimeToSettle + seconds(1));
    EXPECT_EQ(dump(), before) << "killed before transaction " << number;
    EXPECT_EQ(observe()->armed, "");
  }
  EXPECT_GT(found_gone, 0);
}

TEST_F(SonicSwitchWithAgent, WhatWasKeptIsSavedByAChangeOfItsOwn) {
  start_agent(redis_->server());
  const ChangeSet changes{
      {*Path::parse("interface[Ethernet0]/mtu"), Value::integer(9100), Value::integer(9000), 0}};
  ASSERT_TRUE(apply("s1", changes, reverse_of(changes)));
  EXPECT_FALSE(std::filesystem::exists(redis_->folder() + "/config_db.json"))
      << "a restart loads the former state";
  ASSERT_TRUE(agent_->settle({"s1", Settlement::keep, 1}, patient()));
  const Path saved = *Path::parse("switch-config/saved");
  const auto receipt = apply("s2", {{saved, {}, Value::present(), 0}}, {});
  ASSERT_TRUE(receipt) << sonic::said(receipt);
  ASSERT_FALSE(receipt->outcomes[0].error) << receipt->outcomes[0].error->text();
  ASSERT_TRUE(agent_->settle({"s2", Settlement::keep, 1}, patient()));
  EXPECT_EQ(observe()->have.value(saved), Value::present());
  // Nobody settles the next one: the file is what it was.
  const ChangeSet next{
      {*Path::parse("interface[Ethernet0]/mtu"), Value::integer(9000), Value::integer(1500), 0}};
  ASSERT_TRUE(apply("s3", next, reverse_of(next)));
  EXPECT_EQ(observe()->have.value(saved), Value{});
  pass(kTimeToSettle + seconds(1));
  EXPECT_EQ(observe()->have.value(saved), Value::present());
  EXPECT_EQ(redis_->cli({"HGET", "PORT|Ethernet0", "mtu"}), "9000");
}

// SONiC's own Redis is away while the time runs out.
TEST_F(SonicSwitchWithAgent, ARollbackWaitsForRedisAndGoesOn) {
  start_agent(redis_->server());
  const Dump before = dump();
  const ChangeSet changes = lossless(observe()->have);
  ASSERT_TRUE(apply("s1", changes, reverse_of(changes)));
  redis_->cli({"DEL", "CONFIG_DB_INITIALIZED"});  // `config reload` has begun
  pass(kTimeToSettle + seconds(1));
  EXPECT_NE(dump(), before);
  redis_->cli({"SET", "CONFIG_DB_INITIALIZED", "1"});
  pass(seconds(60));
  EXPECT_EQ(dump(), before);
}

}  // namespace
}  // namespace lockstep::contract
