// The driver on the switch itself, with its files: what is saved, checkpoints, and what an apply sets on its
// way. The oracles are the files' text as nlohmann::json reads it, and redis-cli.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "drivers/sonic/driver.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/unit/sonic/changes.hpp"
#include "tests/unit/sonic/redis_process.hpp"

namespace lockstep::sonic {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const Change kSave{Path(row("switch-config/saved"), {}), {}, Value::present()};

class SonicOnSwitch : public testing::Test {
 protected:
  void SetUp() override {
    LOCKSTEP_NEEDS_REDIS();
    redis = std::make_unique<RedisProcess>();
    set({"PORT|Ethernet0", "lanes", "0,1", "speed", "400000", "mtu", "9100", "admin_status", "up"});
    set({"DEVICE_METADATA|localhost", "hwsku", "ACS-SN5600"});
    set({"BUFFER_POOL|ingress_lossless_pool", "type", "ingress", "mode", "dynamic", "size", "30000000"});
    redis->cli({"SET", "CONFIG_DB_INITIALIZED", "1"});
    target.databases = usual_databases(redis->server());
    target.saved_file = redis->folder() + "/config_db.json";
    target.checkpoints = redis->folder() + "/checkpoints";
  }
  void set(std::vector<std::string> words) const {
    words.insert(words.begin(), "HSET");
    redis->cli(words);
  }
  Result<Observation> observe(const Attached& leaf, std::string_view if_not = "") const {
    return leaf.driver->observe(Scope{}, if_not, patient());
  }
  bool is_saved(const Attached& leaf) const {
    const auto seen = observe(leaf);
    EXPECT_TRUE(seen) << said(seen);
    return seen && seen->have.value(kSave.path) == Value::present();
  }
  static Receipt apply(const Attached& leaf, const ChangeSet& changes, const std::string& transaction = "") {
    Guard guard;
    guard.transaction = transaction;
    const auto receipt = leaf.driver->apply(changes, guard, patient());
    EXPECT_TRUE(receipt) << said(receipt);
    return receipt ? *receipt : Receipt{};
  }
  Json saved() const { return Json::parse(std::ifstream(target.saved_file)); }
  std::vector<std::string> checkpoints() const {
    std::vector<std::string> out;
    for (const auto& one : fs::directory_iterator(target.checkpoints))
      out.push_back(one.path().filename().string());
    std::ranges::sort(out);
    return out;
  }
  void write(const std::string& name, std::string_view text) const {
    std::ofstream(redis->folder() + "/" + name) << text;
  }

  std::unique_ptr<RedisProcess> redis;
  SonicTarget target{.device = "leaf0", .databases = {}};
};

TEST_F(SonicOnSwitch, SavedIsWhatTheNextBootLoads) {
  const Attached leaf = make_sonic_driver(target);
  EXPECT_FALSE(is_saved(leaf)) << "there is no file";
  ASSERT_FALSE(apply(leaf, {kSave}).outcomes[0].error);
  EXPECT_TRUE(is_saved(leaf));
  EXPECT_EQ(saved()["PORT"]["Ethernet0"]["mtu"], "9100");
  EXPECT_EQ(saved()["DEVICE_METADATA"]["localhost"]["hwsku"], "ACS-SN5600");

  set({"PORT|Ethernet0", "mtu", "1500"});
  const auto changed = observe(leaf);
  EXPECT_EQ(changed->have.value(kSave.path), Value{});
  EXPECT_EQ(changed->notes, std::vector<std::string>{"not saved (" + target.saved_file +
                                                     "): interface[Ethernet0]/mtu is 1500, and 9100 there"});
  set({"PORT|Ethernet0", "mtu", "9100"});
  EXPECT_TRUE(is_saved(leaf));

  // The file is changed by another hand, also to one of the same length.
  const std::string revision = observe(leaf)->revision;
  std::string text = saved().dump(4);
  text.replace(text.find("9100"), 4, "9200");
  write("config_db.json", text);
  EXPECT_FALSE(is_saved(leaf));
  EXPECT_NE(observe(leaf, revision)->revision, revision) << "what is saved is a part of the state";
  write("config_db.json", "{");
  EXPECT_FALSE(is_saved(leaf));
}

TEST_F(SonicOnSwitch, WhatLockstepDoesNotStandForIsSavedAndIsNoReasonToSave) {
  const Attached leaf = make_sonic_driver(target);
  apply(leaf, {kSave});
  set({"NTP_SERVER|192.0.2.1", "iburst", "on"});
  set({"PORT|Ethernet0", "description", "to gpu1"});
  EXPECT_TRUE(is_saved(leaf));
  set({"PORT|Ethernet0", "mtu", "1500"});
  apply(leaf, {kSave});
  EXPECT_EQ(saved()["NTP_SERVER"]["192.0.2.1"]["iburst"], "on");
  EXPECT_EQ(saved()["PORT"]["Ethernet0"]["description"], "to gpu1");
  // raw: of one device makes its rows Lockstep's.
  set({"NTP_SERVER|192.0.2.1", "iburst", "off"});
  const Scope named{.rows = {}, .named = {Path(row("raw[*][*]"), {"sonic", "NTP_SERVER|192.0.2.1 iburst"})}};
  EXPECT_EQ(leaf.driver->observe(named, "", patient())->have.value(kSave.path), Value{});
}

// What buffermgrd computes comes after the save, and again after each boot.
TEST_F(SonicOnSwitch, WhatSonicComputesIsNoReasonToSave) {
  const Attached leaf = make_sonic_driver(target);
  apply(leaf, {kSave});
  set({"BUFFER_PROFILE|pg_lossless_400000_5m_profile", "pool", "ingress_lossless_pool", "size", "77824",
       "xon", "19456", "xoff", "58368", "dynamic_th", "0"});
  set({"BUFFER_PG|Ethernet0|3-4", "profile", "pg_lossless_400000_5m_profile"});
  const auto seen = observe(leaf);
  EXPECT_EQ(seen->have.value(kSave.path), Value::present()) << testing::PrintToString(seen->notes);
}

TEST_F(SonicOnSwitch, NothingIsSavedThatWouldLoseARowOrThatWasNotWritten) {
  const Attached leaf = make_sonic_driver(target);
  apply(leaf, {kSave});
  const Json before = saved();
  const auto receipt = apply(leaf, {change("interface[Ethernet0]/mtu", Value::integer(20000)), kSave});
  EXPECT_TRUE(receipt.outcomes[0].error);
  ASSERT_TRUE(receipt.outcomes[1].error);
  EXPECT_EQ(saved(), before);
  redis->cli({"SET", "PFC_WD|Ethernet0", "text"});
  set({"PORT|Ethernet0", "mtu", "1500"});
  const auto lost = apply(leaf, {kSave});
  ASSERT_TRUE(lost.outcomes[0].error);
  EXPECT_NE(lost.outcomes[0].error->text().find("PFC_WD|Ethernet0"), std::string::npos);
  EXPECT_EQ(saved(), before);
  redis->cli({"DEL", "PFC_WD|Ethernet0"});
  fs::remove(target.saved_file);
  fs::create_directory(target.saved_file);  // not a file: refused, and said
  EXPECT_TRUE(apply(leaf, {kSave}).outcomes[0].error);
  Change unsaved = kSave;
  std::swap(unsaved.was, unsaved.want);
  ASSERT_TRUE(apply(leaf, {unsaved}).outcomes[0].error);
}

TEST_F(SonicOnSwitch, ACheckpointBeforeTheFirstWriteIsAWayBack) {
  const Attached leaf = make_sonic_driver(target);
  const auto mtu = [](std::int64_t bytes) {
    return ChangeSet{change("interface[Ethernet0]/mtu", Value::integer(bytes))};
  };
  apply(leaf, mtu(9000), "e1-c1-s1");
  apply(leaf, mtu(8000), "e1-c1-s1");  // a second attempt: the way back is to the state before the first
  ASSERT_EQ(checkpoints(), std::vector<std::string>{"lockstep-e1-c1.cp.json"});
  const std::string file = target.checkpoints + "/lockstep-e1-c1.cp.json";
  EXPECT_EQ(Json::parse(std::ifstream(file))["PORT"]["Ethernet0"]["mtu"], "9100");
  EXPECT_EQ(fs::status(file).permissions() & fs::perms::others_all, fs::perms::none);
  // Of a controller whose state began anew, hours later.
  fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(2));
  apply(leaf, mtu(8500), "e1-c1-s1");
  EXPECT_EQ(Json::parse(std::ifstream(file))["PORT"]["Ethernet0"]["mtu"], "8000");
  apply(leaf, mtu(8500), "e1-c1-s2");
  EXPECT_EQ(checkpoints().size(), 1U) << "nothing was to be written";

  std::ofstream(target.checkpoints + "/mine.cp.json") << "{}";
  for (int i = 0; i < 14; ++i) apply(leaf, mtu(5000 + i), "e1-c" + std::to_string(2 + i) + "-s1");
  EXPECT_EQ(checkpoints().size(), 11U);
  EXPECT_TRUE(fs::exists(target.checkpoints + "/mine.cp.json"));
  EXPECT_TRUE(fs::exists(target.checkpoints + "/lockstep-e1-c15.cp.json"));

  Guard guard;
  guard.transaction = "../../config_db";
  EXPECT_FALSE(leaf.driver->apply(mtu(1500), guard, patient())) << "its checkpoint would be elsewhere";
  fs::remove_all(target.checkpoints);
  std::ofstream(target.checkpoints) << "a file";
  guard.transaction = "e1-c30-s1";
  EXPECT_FALSE(leaf.driver->apply(mtu(1500), guard, patient())) << "there is no way back";
  EXPECT_EQ(redis->cli({"HGET", "PORT|Ethernet0", "mtu"}), "5013");
}

TEST_F(SonicOnSwitch, WithoutItsFilesItSaysWhatItCannotSave) {
  target.saved_file.clear();
  target.checkpoints.clear();
  const Attached leaf = make_sonic_driver(target);
  const auto seen = observe(leaf);
  ASSERT_TRUE(seen) << said(seen);
  EXPECT_EQ(seen->have.value(kSave.path), Value{});
  EXPECT_NE(lockstep::incapable_of(seen->incapable, kSave.path), nullptr);
  EXPECT_TRUE(apply(leaf, {kSave}).outcomes[0].error);
  EXPECT_FALSE(
      apply(leaf, {change("interface[Ethernet0]/mtu", Value::integer(9000))}, "t").outcomes[0].error);
}

TEST_F(SonicOnSwitch, ItsDatabasesAreFoundWhenSonicHasStarted) {
  target.databases = {};
  target.database_file = redis->folder() + "/sonic-db/database_config.json";
  const Attached leaf = make_sonic_driver(target);
  const auto early = observe(leaf);
  EXPECT_EQ(said(early).substr(0, 11), "transient: ") << said(early);
  EXPECT_FALSE(leaf.watch());
  fs::create_directory(redis->folder() + "/sonic-db");
  const auto database = [](int id, const char* separator) {
    return Json{{"id", id}, {"separator", separator}, {"instance", "redis"}};
  };
  const Json config{
      {"INSTANCES",
       {{"redis", {{"hostname", "127.0.0.1"}, {"port", 6379}, {"unix_socket_path", redis->socket_path()}}}}},
      {"DATABASES",
       {{"APPL_DB", database(0, ":")}, {"CONFIG_DB", database(4, "|")}, {"STATE_DB", database(6, "|")}}}};
  std::ofstream(target.database_file) << config.dump();
  EXPECT_TRUE(observe(leaf)) << said(observe(leaf));
  EXPECT_TRUE(leaf.watch());

  const Json include{{"include", "database_config.json"}};
  Json asic = include;
  asic["namespace"] = "asic0";
  std::ofstream(redis->folder() + "/sonic-db/database_global.json")
      << Json{{"INCLUDES", {include, asic}}}.dump();
  const auto several = observe(make_sonic_driver(target));
  EXPECT_EQ(said(several).substr(0, 13), "unsupported: ") << said(several);
  EXPECT_NE(said(several).find("asic0"), std::string::npos);
}

TEST_F(SonicOnSwitch, TheWayBackIsOfThePortsThatAreShutDownAndNoOthers) {
  set({"PORT|Ethernet8", "lanes", "8,9", "speed", "400000", "mtu", "9100"});  // down
  const Attached leaf = make_sonic_driver(target);
  ASSERT_NE(leaf.passing, nullptr);
  const auto quiet =
      leaf.passing->way_back({change("interface[Ethernet0]/mtu", Value::integer(9000))}, patient());
  ASSERT_TRUE(quiet) << said(quiet);
  EXPECT_TRUE(quiet->empty());
  ChangeSet both = lossless_class("Ethernet0");
  for (const Change& one : lossless_class("Ethernet8")) both.push_back(one);
  const auto way_back = leaf.passing->way_back(both, patient());
  ASSERT_TRUE(way_back) << said(way_back);
  EXPECT_EQ(*way_back, (ChangeSet{{*Path::parse("interface[Ethernet0]/admin"), Value::boolean(false),
                                   Value::boolean(true), 0}}));
  EXPECT_EQ(redis->cli({"HGET", "PORT|Ethernet0", "admin_status"}), "up") << "it only reads";
}

// A controller that knows a switch by its agent's observations only.
TEST_F(SonicOnSwitch, WhatAnotherHasObservedIsEnoughForNativeLines) {
  const Attached there = make_sonic_driver(target);
  const auto seen = observe(there);
  const Attached here = make_sonic_driver({.device = "leaf0", .databases = usual_databases({})});
  ASSERT_NE(here.recall, nullptr);
  here.recall->recall(*seen, Scope{});
  EXPECT_EQ(here.preview->native({change("interface[Ethernet0]/mtu", Value::integer(9216))}),
            std::vector<std::string>{"sonic-db-cli CONFIG_DB HSET 'PORT|Ethernet0' 'mtu' '9216'"});
}

}  // namespace
}  // namespace lockstep::sonic
