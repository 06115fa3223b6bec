// What the stand-in reports, and its side of a real Redis.
#include <gtest/gtest.h>

#include "drivers/sonic/switch_state.hpp"
#include "reconciler/sonic_stand_in/first_config.hpp"
#include "reconciler/sonic_stand_in/reported_rows.hpp"
#include "reconciler/sonic_stand_in/switch_databases.hpp"
#include "tests/unit/sonic/redis_process.hpp"
#include "tests/unit/sonic/shared_data.hpp"

namespace lockstep::sonic {
namespace {

using Names = std::vector<std::string>;

const SwitchIdentity kLeaf{.hostname = "leaf0", .type = "LeafRouter"};

Link port(const char* name, bool up, bool carrier) {
  Link out;
  out.name = name;
  out.mtu = 9000;
  out.admin_up = up;
  out.carrier = carrier;
  return out;
}

TEST(ReportedRows, AreWhatTheKernelHasUnlessOrderedToLie) {
  const Names names{"swp1", "swp2", "swp3"};
  const ConfigDb rows = first_config(kLeaf, names);
  const std::vector<Link> links{port("swp1", true, true), port("swp2", true, false),
                                port("mgmt0", true, true)};
  ReportedRows out = reported_ports(rows, links, {});
  EXPECT_EQ(out.size(), 3U);
  EXPECT_EQ(out["PORT_TABLE:swp1"]["oper_status"], "up");
  EXPECT_EQ(out["PORT_TABLE:swp1"]["mtu"], "9000");
  EXPECT_EQ(out["PORT_TABLE:swp2"]["admin_status"], "up");
  EXPECT_EQ(out["PORT_TABLE:swp2"]["oper_status"], "down");
  EXPECT_EQ(out["PORT_TABLE:swp3"]["oper_status"], "down") << "it has no link";
  out = reported_ports(rows, links, {"swp2"});
  EXPECT_EQ(out["PORT_TABLE:swp2"]["oper_status"], "up");
}

TEST(ReportedRows, SessionsAreInBgpmonsWords) {
  const ReportedRows out = reported_sessions({{"up0", "established"},
                                              {"up1", "idle"},
                                              {"up2", "not activated"},
                                              {"up3", "established, routes discarded: no policy"}});
  EXPECT_EQ(out, (ReportedRows{{"NEIGH_STATE_TABLE|up0", {{"state", "Established"}}},
                               {"NEIGH_STATE_TABLE|up1", {{"state", "Idle"}}},
                               {"NEIGH_STATE_TABLE|up3", {{"state", "Established"}}}}));
}

TEST(FirstConfig, IsValidBySonicsModels) {
  LOCKSTEP_NEEDS_SONIC_YANG();
  const Names names{"Ethernet0", "Ethernet8"};
  for (const char* const type : {"LeafRouter", "SpineRouter", "UpperSpineRouter"}) {
    const ConfigFindings findings = sonic_models().check(first_config({"leaf0", type}, names));
    EXPECT_TRUE(findings.valid()) << said(findings);
  }
}

class Databases : public testing::Test {
 protected:
  void SetUp() override { LOCKSTEP_NEEDS_REDIS(); }
  static std::string in(const RedisProcess& redis, const char* database, std::vector<std::string> words) {
    words.insert(words.begin(), {"-n", database});
    return redis.cli(words);
  }
};

TEST_F(Databases, AnEmptyOneIsFilledOnceAndNewPortsGetRows) {
  const RedisProcess redis;
  SwitchDatabases databases(redis.server(), kLeaf);
  Names notes;
  auto rows = databases.read({"swp1"}, notes, patient());
  ASSERT_TRUE(rows) << said(rows);
  EXPECT_EQ(redis.cli({"GET", "CONFIG_DB_INITIALIZED"}), "1");
  EXPECT_EQ(redis.cli({"HGET", "PORT|swp1", "admin_status"}), "down");
  EXPECT_EQ(redis.cli({"HGET", "DEVICE_METADATA|localhost", "frr_mgmt_framework_config"}), "true");
  redis.cli({"HSET", "PORT|swp1", "mtu", "1500"});
  rows = databases.read({"swp1", "swp2"}, notes, patient());
  ASSERT_TRUE(rows) << said(rows);
  EXPECT_EQ(redis.cli({"HGET", "PORT|swp1", "mtu"}), "1500") << "what others have written stays";
  EXPECT_EQ(redis.cli({"HGET", "PORT|swp2", "lanes"}), "8,9,10,11,12,13,14,15");
  EXPECT_NE(rows->find("PORT", "swp2"), nullptr);
}

TEST_F(Databases, OneThatOthersAreFillingIsWaitedFor) {
  const RedisProcess redis;
  redis.cli({"HSET", "PORT|swp1", "lanes", "0", "speed", "400000"});
  SwitchDatabases databases(redis.server(), kLeaf);
  Names notes;
  const auto rows = databases.read({"swp1", "swp2"}, notes, patient());
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().kind, ErrorKind::transient);
  EXPECT_EQ(redis.cli({"EXISTS", "PORT|swp2"}), "0");
}

// The reader is drivers/sonic, which is tested against SONiC's own samples.
TEST_F(Databases, ReportsAreReplacedAndWrittenAnewInARedisThatWasStartedAgain) {
  RedisProcess redis;
  SwitchDatabases databases(redis.server(), kLeaf);
  Names notes;
  ASSERT_TRUE(databases.read({"swp1"}, notes, patient()));
  const ConfigDb rows = first_config(kLeaf, Names{"swp1", "swp2"});
  const std::vector<Link> links{port("swp1", true, true), port("swp2", true, false)};
  LldpNeighbour neighbor{
      .chassis = "00:11", .port_id = "00:22", .port_description = "rail0", .system_name = "gpu1"};
  ReportedRows appl = reported_ports(rows, links, {});
  appl.merge(reported_peers(rows, {{"swp1", neighbor}, {"mgmt0", neighbor}}));
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(databases.report_appl(appl, patient()));
    ASSERT_TRUE(databases.report_state(reported_sessions({{"up0", "established"}}), patient()));
    StateDatabase read_appl{RedisConnection(redis.server(), 0), ":"};
    StateDatabase read_state{RedisConnection(redis.server(), 6), "|"};
    SwitchState seen;
    ASSERT_TRUE(read_port_states(read_appl, seen, patient()));
    ASSERT_TRUE(read_sessions(read_state, seen, patient()));
    EXPECT_EQ(seen.ports.size(), 2U);
    EXPECT_EQ(seen.ports["swp1"].is_up, true);
    EXPECT_EQ(seen.ports["swp1"].peer, "gpu1:rail0");
    EXPECT_EQ(seen.ports["swp2"].is_up, false);
    EXPECT_EQ(seen.sessions["up0"], "established");
    redis.restart();
    ASSERT_TRUE(eventually([&] { return static_cast<bool>(databases.read({"swp1"}, notes, patient())); }));
  }
  ASSERT_TRUE(databases.report_appl(reported_ports(rows, links, {}), patient()));
  ASSERT_TRUE(databases.report_state({}, patient()));
  EXPECT_EQ(in(redis, "0", {"EXISTS", "LLDP_ENTRY_TABLE:swp1"}), "0");
  EXPECT_EQ(in(redis, "6", {"KEYS", "*"}), "");
}

TEST(ReportedRows, AFieldThatIsGoneGoesAndItsRowStays) {
  const ReportedRows was{{"A", {{"x", "1"}, {"y", "2"}}}, {"B", {{"x", "1"}}}};
  const ReportedRows is{{"A", {{"x", "3"}}}, {"C", {{"z", "1"}}}};
  EXPECT_EQ(commands_between(was, is),
            (std::vector<RedisCommand>{
                {"DEL", "B"}, {"HSET", "A", "x", "3"}, {"HDEL", "A", "y"}, {"HSET", "C", "z", "1"}}));
  EXPECT_TRUE(commands_between(is, is).empty());
}

}  // namespace
}  // namespace lockstep::sonic
