// Which groups of counters a switch reads, and why not the others.
#include "drivers/sonic/counter_gates.hpp"

#include <gtest/gtest.h>

#include "tests/unit/sonic/counter_samples.hpp"

namespace lockstep::sonic {
namespace {

using State = CounterGroup::State;

std::map<std::string, RedisHash, std::less<>> rows_of(const Json& rows) {
  std::map<std::string, RedisHash, std::less<>> out;
  for (const auto& [key, row] : rows.items())
    for (const auto& [field, value] : row.items()) out[key][field] = value.get<std::string>();
  return out;
}

StoredGates all_on() {
  return {.config = rows_of(all_groups_on()), .capabilities = rows_of(all_capabilities("true"))};
}

CounterGroup group_named(const StoredGates& stored, const std::string& name) {
  for (CounterGroup& group : counter_groups_of(stored))
    if (group.name == name) return group;
  ADD_FAILURE() << name;
  return {};
}

TEST(CounterGates, GroupsThatAreOnAreReadAtTheirInterval) {
  StoredGates stored = all_on();
  stored.config["FLEX_COUNTER_TABLE|PORT"]["POLL_INTERVAL"] = "2500";
  stored.config["FLEX_COUNTER_TABLE|PG_DROP"]["POLL_INTERVAL"] = "often";
  for (const CounterGroup& group : counter_groups_of(stored)) {
    EXPECT_EQ(group.state, State::read) << group.name << ": " << group.why;
    EXPECT_EQ(group.why, "");
    EXPECT_FALSE(group.switch_on) << group.name;
    EXPECT_TRUE(group.cannot_count.empty());
  }
  EXPECT_EQ(group_named(stored, "port").interval.count(), 2500);
  EXPECT_EQ(group_named(stored, "queue").interval.count(), 10'000) << "SONiC's default";
  EXPECT_EQ(group_named(stored, "group-drops").interval.count(), 0) << "not known";
  EXPECT_EQ(group_named(stored, "watchdog").interval.count(), 200) << "of PFC_WD|GLOBAL";
}

TEST(CounterGates, AGroupWithoutARowIsOffAndSaysWhatTurnsItOn) {
  StoredGates stored = all_on();
  stored.config.erase("FLEX_COUNTER_TABLE|WRED_ECN_QUEUE");
  stored.config["FLEX_COUNTER_TABLE|QUEUE"]["FLEX_COUNTER_STATUS"] = "disable";
  stored.config["FLEX_COUNTER_TABLE|PORT"]["FLEX_COUNTER_DELAY_STATUS"] = "true";
  const CounterGroup ecn = group_named(stored, "queue-ecn");
  EXPECT_EQ(ecn.state, State::off);
  ASSERT_TRUE(ecn.switch_on);
  EXPECT_EQ(ecn.switch_on->table + "|" + ecn.switch_on->key, "FLEX_COUNTER_TABLE|WRED_ECN_QUEUE");
  EXPECT_EQ(ecn.switch_on->field + "=" + ecn.switch_on->value, "FLEX_COUNTER_STATUS=enable");
  EXPECT_EQ(group_named(stored, "queue").state, State::off);
  EXPECT_EQ(group_named(stored, "port").why,
            "the switch does not read the group port yet; FLEX_COUNTER_TABLE|PORT "
            "FLEX_COUNTER_DELAY_STATUS=false turns it on");
  EXPECT_EQ(group_named(stored, "port-wred").state, State::read) << "a group of its own";
}

TEST(CounterGates, WhatTheAsicCannotCountIsUnsupportedWhateverIsConfigured) {
  StoredGates stored = all_on();
  for (auto& [row, fields] : stored.capabilities)
    if (row.starts_with("QUEUE_")) fields["isSupported"] = "false";
  CounterGroup ecn = group_named(stored, "queue-ecn");
  EXPECT_EQ(ecn.state, State::unsupported);
  EXPECT_EQ(ecn.why,
            "this ASIC counts nothing of the group queue-ecn (QUEUE_COUNTER_CAPABILITIES of STATE_DB)");
  EXPECT_FALSE(ecn.switch_on);
  EXPECT_EQ(group_named(stored, "port-wred").state, State::read);

  stored.config.clear();
  EXPECT_EQ(group_named(stored, "queue-ecn").state, State::unsupported);
  EXPECT_FALSE(group_named(stored, "queue-ecn").switch_on) << "turning it on would do nothing";

  stored = all_on();
  stored.capabilities["QUEUE_COUNTER_CAPABILITIES|WRED_ECN_QUEUE_ECN_MARKED_BYTE_COUNTER"]["isSupported"] =
      "false";
  ecn = group_named(stored, "queue-ecn");
  EXPECT_EQ(ecn.state, State::read) << "it counts the others";
  EXPECT_EQ(ecn.cannot_count, std::set<std::string_view>{"queue[#]/ecn-marked-bytes"});
}

TEST(CounterGates, WhatIsNotSaidIsNotKnown) {
  StoredGates stored = all_on();
  stored.capabilities.clear();
  EXPECT_EQ(group_named(stored, "queue-ecn").state, State::unknown);
  EXPECT_EQ(group_named(stored, "queue-ecn").why, "STATE_DB does not say whether this ASIC can count it");
  EXPECT_EQ(group_named(stored, "queue").state, State::read) << "no capability is needed";
  stored.state_error = "denied";
  EXPECT_EQ(group_named(stored, "queue-ecn").why, "whether this ASIC can count it is not known: denied");
  stored.config_error = "no access";
  EXPECT_EQ(group_named(stored, "queue").state, State::unknown);
  EXPECT_EQ(group_named(stored, "queue").why,
            "whether the switch reads the group queue is not known: no access");
}

TEST(CounterGates, TheWatchdogCountsOnlyForPortsThatHaveIt) {
  StoredGates stored = all_on();
  stored.config["PFC_WD|Ethernet0"]["pfc_stat_history"] = "disable";
  EXPECT_EQ(group_named(stored, "watchdog").state, State::read);
  EXPECT_EQ(group_named(stored, "pause-estimates").state, State::off);
  stored.config.erase("PFC_WD|Ethernet0");
  EXPECT_EQ(group_named(stored, "watchdog").state, State::off);
  EXPECT_EQ(group_named(stored, "watchdog").why,
            "no port has a PFC watchdog; field detection_time of PFC_WD|PORT starts one");
}

// Every row that a gate needs is asked for.
TEST(CounterGates, AsksForTheRowsOfAllGroupsPortsAndCapabilities) {
  const std::vector<std::string> rows = counter_gate_rows({"Ethernet0"});
  EXPECT_EQ(std::set<std::string>(rows.begin(), rows.end()).size(), rows.size()) << "twice";
  const Json groups = all_groups_on();
  for (const auto& [key, row] : groups.items()) EXPECT_NE(std::ranges::find(rows, key), rows.end()) << key;
  const std::vector<std::string> capabilities = counter_capability_rows();
  const Json all = all_capabilities("true");
  EXPECT_EQ(capabilities.size(), all.size());
  for (const auto& [key, row] : all.items())
    EXPECT_NE(std::ranges::find(capabilities, key), capabilities.end()) << key;
}

}  // namespace
}  // namespace lockstep::sonic
