// Entries of a SONiC switch as a whole (groups of counters, the watchdog's interval), and the buffers that
// buffermgrd computes. The oracles: SONiC's models, and rows as SONiC's own programs write them.
#include <algorithm>

#include "drivers/sonic/builtin_rules.hpp"
#include "drivers/sonic/config_plan.hpp"
#include "drivers/sonic/counter_names.hpp"
#include "drivers/sonic/map.hpp"
#include "drivers/sonic/state_check.hpp"
#include "specs/model/counter_groups.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/unit/sonic/changes.hpp"
#include "tests/unit/sonic/config_samples.hpp"
#include "tests/unit/sonic/counter_samples.hpp"
#include "tests/unit/sonic/shared_data.hpp"

namespace lockstep::sonic {
namespace {

// In the dynamic model, as SONiC's template makes it: priorities 3 and 4 have PFC on Ethernet8.
constexpr const char* kDynamic = R"({
  "DEVICE_METADATA": {"localhost": {"buffer_model": "dynamic"}},
  "PORT": {"Ethernet0": {"lanes": "0,1", "speed": "400000"}, "Ethernet8": {"lanes": "8,9", "speed": "400000"}},
  "PORT_QOS_MAP": {"Ethernet8": {"pfc_enable": "3,4", "pfcwd_sw_enable": "3,4"}},
  "BUFFER_POOL": {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic"}},
  "BUFFER_PROFILE": {"ingress_lossy_profile": {"pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "3"}},
  "BUFFER_PG": {"Ethernet8|0": {"profile": "ingress_lossy_profile"}, "Ethernet8|3-4": {"profile": "NULL"}},
  "DEFAULT_LOSSLESS_BUFFER_PARAMETER": {"AZURE": {"default_dynamic_th": "0"}},
  "LOSSLESS_TRAFFIC_PATTERN": {"AZURE": {"mtu": "1024", "small_packet_percentage": "50"}},
  "PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "200"},
             "Ethernet8": {"action": "drop", "detection_time": "200", "restoration_time": "400"}},
  "FLEX_COUNTER_TABLE": {"QUEUE": {"FLEX_COUNTER_STATUS": "enable", "BULK_CHUNK_SIZE": "100"},
                         "RIF": {"FLEX_COUNTER_STATUS": "enable", "POLL_INTERVAL": "1000"},
                         "PORT": {"FLEX_COUNTER_STATUS": "disable", "POLL_INTERVAL": "2000"}}})";

class SonicSwitch : public testing::Test {
 protected:
  SonicSwitch() : config(*parse_config_db(kDynamic)) {}

  Tree entries(const SwitchState& state = {}) const {
    TreeBuilder builder;
    add_entries(config, Scope{}, builder);
    add_computed(config, state, Scope{}, builder);
    return builder.build();
  }
  Value entry(const std::string& path) const { return entries().value(*Path::parse(path)); }
  std::string field(const char* table, const char* key, const char* name) const {
    const ConfigRow* const row = config.find(table, key);
    if (row == nullptr) return "no row";
    return row->contains(name) ? std::get<std::string>(row->at(name)) : "-";
  }
  // All changes are made, the models accept what is there then, and a second edit changes nothing.
  void make(const ChangeSet& changes) {
    const ConfigDb before = config;
    const Edited made = edited(config, changes);
    for (std::size_t i = 0; i < changes.size(); ++i)
      EXPECT_FALSE(made.outcomes[i]) << changes[i].path.text() << ": " << made.outcomes[i]->text();
    config = made.config;
    for (const Change& one : changes) EXPECT_EQ(entries().value(one.path), one.want) << one.path.text();
    EXPECT_EQ(edited(config, changes).config, config) << "a second edit changes something";
    expect_valid();
    const auto plan = plan_config(nullptr, before, config, KnownFaults::stay);
    EXPECT_TRUE(plan) << plan.error().text();
  }
  void expect_valid() const {
    const ConfigFindings findings = std::filesystem::is_directory(sonic_yang_data() / "yang-models")
                                        ? sonic_models().check(config)
                                        : check_by_builtin_rules(config);
    EXPECT_TRUE(findings.valid()) << said(findings);
  }
  // Nothing is changed.
  std::string refusal(const ChangeSet& changes) const {
    const Edited made = edited(config, changes);
    EXPECT_EQ(made.config, config);
    return made.outcomes.back() ? made.outcomes.back()->text() : "";
  }

  ConfigDb config;
};

TEST_F(SonicSwitch, GroupsOfCountersAreTurnedOnAndOff) {
  EXPECT_EQ(entry("counter-group[queue]"), Value::present());
  EXPECT_FALSE(entry("counter-group[port]"));
  EXPECT_EQ(entry("counter-group[port]/interval"), Value::integer(2000));
  make({change("counter-group[queue-ecn]", Value::present()),
        change("counter-group[queue-ecn]/interval", Value::integer(5000)),
        change("counter-group[port]", Value::present()),
        change("counter-group[queue]/interval", Value::integer(30'000))});
  EXPECT_EQ(field("FLEX_COUNTER_TABLE", "WRED_ECN_QUEUE", "FLEX_COUNTER_STATUS"), "enable");
  EXPECT_EQ(field("FLEX_COUNTER_TABLE", "WRED_ECN_QUEUE", "POLL_INTERVAL"), "5000");
  EXPECT_EQ(field("FLEX_COUNTER_TABLE", "PORT", "POLL_INTERVAL"), "2000");
  EXPECT_EQ(field("FLEX_COUNTER_TABLE", "QUEUE", "BULK_CHUNK_SIZE"), "100");
  // orchagent ignores a row that goes (flexcounterorch.cpp: SET only), so off is said.
  make({change("counter-group[queue-ecn]", {}), change("counter-group[queue-ecn]/interval", {}),
        change("counter-group[watchdog]", {})});
  EXPECT_EQ(field("FLEX_COUNTER_TABLE", "WRED_ECN_QUEUE", "FLEX_COUNTER_STATUS"), "disable");
  EXPECT_EQ(field("FLEX_COUNTER_TABLE", "WRED_ECN_QUEUE", "POLL_INTERVAL"), "-");
  EXPECT_EQ(field("FLEX_COUNTER_TABLE", "PFCWD", "FLEX_COUNTER_STATUS"), "no row");
}

// The fields that `lockstep get counters` names to turn a group on are those that the specs' groups set.
TEST_F(SonicSwitch, EveryGroupIsTheOneThatCountersAreReadIn) {
  ChangeSet all;
  for (const CountedGroupRow& group : kCountedGroups) {
    const auto its = std::ranges::find(sonic_counter_groups(), group.name, &SonicCounterGroup::name);
    ASSERT_NE(its, sonic_counter_groups().end()) << group.name;
    EXPECT_EQ(its->flex, group.sonic);
    all.push_back(change("counter-group[" + std::string(group.name) + "]", Value::present()));
    if (group.has_interval())
      all.push_back(
          change("counter-group[" + std::string(group.name) + "]/interval", Value::integer(group.most_ms)));
  }
  make(all);
  StoredGates stored;
  for (const auto& [key, row] : config.tables.at("FLEX_COUNTER_TABLE"))
    stored.config["FLEX_COUNTER_TABLE|" + key] = *redis_hash(row);
  for (const CounterGroup& group : counter_groups_of(stored))
    EXPECT_EQ(group.why.find("turns it on"), std::string::npos) << group.why;
}

TEST_F(SonicSwitch, WhatIsNoGroupIsRefused) {
  EXPECT_EQ(refusal({change("counter-group[rif]", Value::present())}), "SONiC has no counter-group[rif]");
  EXPECT_EQ(refusal({change("counter-group[watchdog]/interval", Value::integer(1000))}),
            "SONiC has no counter-group[watchdog]/interval");
  const Tree have = entries();
  ASSERT_EQ(have.of_row(row("counter-group[*]")).size(), 1U) << "RIF is none of ours";
  EXPECT_EQ(have.of_row(row("counter-group[*]")).front().path.key(0), "queue");
}

TEST_F(SonicSwitch, AGroupOfWhichTheAsicCountsNothingIsNotSupported) {
  const auto lacking = [this](const Json& capabilities) {
    SwitchState state;
    for (const auto& [name, fields] : capabilities.items())
      for (const auto& [field, value] : fields.items())
        state.capabilities[name][field] = value.get<std::string>();
    std::vector<std::string> out;
    for (const Incapable& one : incapable_of(config, state, Scope{{row("counter-group[*]")}}))
      out.push_back(one.keys.front() + ": " + one.reason);
    return out;
  };
  Json capabilities = all_capabilities("false");
  EXPECT_EQ(lacking(capabilities),
            (std::vector<std::string>{
                "port-wred: this ASIC counts nothing of the group port-wred (PORT_COUNTER_CAPABILITIES of "
                "STATE_DB)",
                "queue-ecn: this ASIC counts nothing of the group queue-ecn (QUEUE_COUNTER_CAPABILITIES of "
                "STATE_DB)"}));
  // One counter of a group is enough; and a release that says nothing forbids nothing.
  capabilities["QUEUE_COUNTER_CAPABILITIES|WRED_ECN_QUEUE_ECN_MARKED_PKT_COUNTER"]["isSupported"] = "true";
  EXPECT_EQ(lacking(capabilities).size(), 1U);
  EXPECT_TRUE(lacking(Json::object()).empty());
}

TEST_F(SonicSwitch, TheWatchdogsIntervalIsTheSwitchs) {
  EXPECT_EQ(entry("pfc-watchdog/poll-interval"), Value::integer(200));
  // Together with what it allows.
  make({change("interface[Ethernet0]/pfc-watchdog/detection-time", Value::integer(100)),
        change("interface[Ethernet0]/pfc-watchdog/action", Value::text("drop")),
        change("pfc-watchdog/poll-interval", Value::integer(100))});
  make({change("pfc-watchdog/poll-interval", Value::integer(400)),
        change("interface[Ethernet0]/pfc-watchdog/detection-time", Value::integer(400)),
        change("interface[Ethernet8]/pfc-watchdog/detection-time", Value::integer(500))});
}

TEST_F(SonicSwitch, AWatchdogThatIsFasterThanItLooksIsRefusedAlone) {
  const Edited made =
      edited(config, {change("interface[Ethernet0]/pfc-watchdog/action", Value::text("drop")),
                      change("interface[Ethernet0]/pfc-watchdog/detection-time", Value::integer(150)),
                      change("interface[Ethernet8]/pfc-watchdog/detection-time", Value::integer(300))});
  EXPECT_FALSE(made.outcomes[0]);
  ASSERT_TRUE(made.outcomes[1]);
  EXPECT_EQ(
      made.outcomes[1]->text(),
      "150 ms is shorter than 200 ms, after which this switch looks at its queues again (PFC_WD|GLOBAL, "
      "POLL_INTERVAL); pfc.watchdog.pollInterval of a RoceProfile sets that");
  EXPECT_FALSE(made.outcomes[2]);
  EXPECT_EQ(*made.config.find("PFC_WD", "Ethernet0"), (ConfigRow{{"action", "drop"}}));
  EXPECT_EQ(made.config.find("PFC_WD", "Ethernet8")->at("detection_time"), ConfigField("300"));
  EXPECT_EQ(
      refusal({change("pfc-watchdog/poll-interval", Value::integer(300))}),
      "the watchdog can't look every 300 ms: detection_time of Ethernet8 is 200 ms, and must not be shorter "
      "(PFC_WD)");
  EXPECT_EQ(refusal({change("pfc-watchdog/poll-interval", Value::integer(2000))}),
            "SONiC's POLL_INTERVAL is 100 to 1000 ms, not 2000");
  EXPECT_EQ(refusal({change("interface[Ethernet0]/pfc-watchdog/detection-time", Value::integer(10))}),
            "SONiC's detection_time is 100 to 5000 ms, not 10");
  // A refused interval is no reason to refuse what it would have forbidden.
  const Edited both =
      edited(config, {change("interface[Ethernet0]/pfc-watchdog/detection-time", Value::integer(250)),
                      change("pfc-watchdog/poll-interval", Value::integer(300))});
  EXPECT_FALSE(both.outcomes[0]);
  EXPECT_TRUE(both.outcomes[1]);
  EXPECT_EQ(*both.config.find("PFC_WD", "GLOBAL"), *config.find("PFC_WD", "GLOBAL"));
}

// sonic-swss#4760: deleting the row crashes orchagent.
TEST_F(SonicSwitch, TheWatchdogsRowIsNeverDeleted) {
  const std::string why =
      "PFC_WD|GLOBAL is never taken away: orchagent crashes when this row is deleted "
      "(sonic-swss#4760), or ignores it; set POLL_INTERVAL to what it was, in ms";
  EXPECT_EQ(refusal({change("pfc-watchdog/poll-interval", {})}), why);
  EXPECT_EQ(refusal({Change{Path(row("raw[*][*]"), {"sonic", "PFC_WD|GLOBAL POLL_INTERVAL"}), {}, {}}}), why);
  config.tables["PFC_WD"].erase("GLOBAL");
  EXPECT_EQ(refusal({change("pfc-watchdog/poll-interval", {})}), "");
  // orchagent's own is what undoing the first change writes.
  EXPECT_EQ(entry("pfc-watchdog/poll-interval"), Value::integer(100));
  make({change("pfc-watchdog/poll-interval", Value::integer(200))});
  make({change("pfc-watchdog/poll-interval", Value::integer(100))});
}

TEST_F(SonicSwitch, InTheDynamicModelPfcGetsItsPriorityGroups) {
  EXPECT_EQ(entry("interface[Ethernet8]/buffer[3]"), Value::present());
  EXPECT_FALSE(entry("interface[Ethernet8]/buffer[0]"));
  make({change("interface[Ethernet0]/pfc", Value::set({"3", "5"}))});
  EXPECT_EQ(field("BUFFER_PG", "Ethernet0|3", "profile"), "NULL");
  EXPECT_EQ(field("BUFFER_PG", "Ethernet0|5", "profile"), "NULL");
  EXPECT_EQ(field("BUFFER_PG", "Ethernet8|3-4", "profile"), "NULL") << "as the template has made it";
  // They go with it; lossy groups stay.
  make({change("interface[Ethernet8]/pfc", Value::set({"3"}))});
  EXPECT_EQ(field("BUFFER_PG", "Ethernet8|3", "profile"), "NULL");
  EXPECT_EQ(config.find("BUFFER_PG", "Ethernet8|4"), nullptr);
  EXPECT_EQ(field("BUFFER_PG", "Ethernet8|0", "profile"), "ingress_lossy_profile");
  EXPECT_EQ(config.find("BUFFER_PG", "Ethernet8|3-4"), nullptr);
}

// A priority that has PFC and no headroom is repaired.
TEST_F(SonicSwitch, AMissingPriorityGroupIsADifference) {
  config.tables["BUFFER_PG"] = {{"Ethernet8|3", {{"profile", "ingress_lossy_profile"}}}};
  EXPECT_FALSE(entry("interface[Ethernet8]/buffer[3]"));
  make({change("interface[Ethernet8]/buffer[3]", Value::present()),
        change("interface[Ethernet8]/buffer[4]", Value::present())});
  EXPECT_EQ(field("BUFFER_PG", "Ethernet8|3", "profile"), "NULL");
  make({change("interface[Ethernet8]/buffer[4]", {})});
  EXPECT_EQ(config.find("BUFFER_PG", "Ethernet8|4"), nullptr);
}

TEST_F(SonicSwitch, InTheDynamicModelSizesAreBuffermgrds) {
  EXPECT_EQ(refusal({change("interface[Ethernet0]/buffer[3]/size", Value::integer(1000)),
                     change("interface[Ethernet0]/buffer[3]/xoff", Value::integer(500))}),
            "buffermgrd computes the buffer of priority 3");
  const Scope sizes{{row("interface[*]/buffer[*]/size"), row("interface[*]/buffer[*]")}};
  const auto all = incapable_of(config, {}, sizes);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(all.front().keys.empty());
  // A profile that somebody has named instead is used, and can be changed.
  config.tables["BUFFER_PROFILE"]["mine"] = {{"pool", "ingress_lossless_pool"},
                                             {"size", "60000"},
                                             {"xoff", "40000"},
                                             {"xon", "19456"},
                                             {"dynamic_th", "0"}};
  config.tables["BUFFER_PG"]["Ethernet0|3"] = {{"profile", "mine"}};
  make({change("interface[Ethernet0]/buffer[3]/size", Value::integer(61000))});
  std::vector<std::string> computed;
  for (const Incapable& one : incapable_of(config, {}, sizes))
    computed.push_back(one.keys.front() + (one.keys.size() > 1 ? " " + one.keys.back() : ""));
  EXPECT_EQ(computed, (std::vector<std::string>{"Ethernet0 0", "Ethernet0 1", "Ethernet0 2", "Ethernet0 4",
                                                "Ethernet0 5", "Ethernet0 6", "Ethernet0 7", "Ethernet8"}));
  // Without its numbers, it is computed again while PFC is on.
  config = edited(config, {change("interface[Ethernet0]/pfc", Value::set({"3"}))}).config;
  config = edited(config, {change("interface[Ethernet0]/buffer[3]/size", {}),
                           change("interface[Ethernet0]/buffer[3]/xoff", {}),
                           change("interface[Ethernet0]/buffer[3]/xon", {}),
                           change("interface[Ethernet0]/buffer[3]/dynamic-threshold", {})})
               .config;
  EXPECT_EQ(field("BUFFER_PG", "Ethernet0|3", "profile"), "NULL");
  expect_valid();
}

TEST_F(SonicSwitch, WhatBuffermgrdHasComputedIsShown) {
  SwitchState state;
  state.groups["Ethernet8"] = {
      {3, {{"xon", "19456"}, {"xoff", "49152"}, {"size", "68608"}, {"dynamic_th", "0"}}},
      {0, {{"pool", "ingress_lossless_pool"}, {"size", "0"}, {"dynamic_th", "3"}}}};
  state.groups["Ethernet0"] = state.groups["Ethernet8"];  // none is wanted there
  const Tree have = entries(state);
  const auto number = [&have](const char* path) { return have.value(*Path::parse(path)); };
  EXPECT_EQ(number("interface[Ethernet8]/buffer[3]/size"), Value::integer(68608));
  EXPECT_EQ(number("interface[Ethernet8]/buffer[3]/xoff"), Value::integer(49152));
  EXPECT_FALSE(number("interface[Ethernet8]/buffer[0]/size"));
  EXPECT_FALSE(number("interface[Ethernet8]/buffer[4]/size"));
  EXPECT_FALSE(number("interface[Ethernet0]/buffer[3]/size"));
  // Numbers that CONFIG_DB has are those that can be set.
  config.tables["BUFFER_PROFILE"]["mine"] = {
      {"pool", "ingress_lossless_pool"}, {"size", "60000"}, {"xoff", "40000"}, {"dynamic_th", "0"}};
  config.tables["BUFFER_PG"]["Ethernet0|3"] = {{"profile", "mine"}};
  const Tree with_override = entries(state);
  EXPECT_EQ(with_override.value(*Path::parse("interface[Ethernet0]/buffer[3]/size")), Value::integer(60000));
  EXPECT_FALSE(with_override.value(*Path::parse("interface[Ethernet0]/buffer[3]/xon")));
}

TEST_F(SonicSwitch, InTheTraditionalModelABufferNeedsItsSize) {
  config.tables["DEVICE_METADATA"]["localhost"]["buffer_model"] = "traditional";
  config.tables.erase("BUFFER_PG");
  EXPECT_EQ(refusal({change("interface[Ethernet0]/buffer[3]", Value::present())}),
            "BUFFER_PROFILE needs size and xoff of a lossless priority");
  make({change("interface[Ethernet0]/buffer[3]", Value::present()),
        change("interface[Ethernet0]/buffer[3]/size", Value::integer(60000)),
        change("interface[Ethernet0]/buffer[3]/xoff", Value::integer(40000))});
  make({change("interface[Ethernet0]/pfc", Value::set({"3"}))});
  EXPECT_EQ(field("BUFFER_PG", "Ethernet0|3", "profile"), "lockstep-lossless-60000");
  make({change("interface[Ethernet0]/buffer[3]", {})});
  EXPECT_EQ(config.find("BUFFER_PG", "Ethernet0|3"), nullptr);
  config.tables["BUFFER_PG"]["Ethernet0|3-4"] = {{"profile", "pg_lossless_400000_5m_profile"}};
  EXPECT_EQ(refusal({change("interface[Ethernet0]/buffer[3]", {})}),
            "buffermgrd computes the buffer of priority 3");
}

// Modes as sonic-utilities' `config interface breakout` writes them.
TEST_F(SonicSwitch, ABreakoutIsReadAndLeftToPeople) {
  config.tables["BREAKOUT_CFG"] = {{"Ethernet0", {{"brkout_mode", "2x200G[100G,50G]"}}},
                                   {"Ethernet8", {{"brkout_mode", "1x400G"}}}};
  EXPECT_EQ(entry("interface[Ethernet0]/breakout"), Value::text("2x200G"));
  EXPECT_EQ(entry("interface[Ethernet8]/breakout"), Value::text("1x400G"));
  EXPECT_NE(refusal({change("interface[Ethernet0]/breakout", Value::text("4x100G"))})
                .find("'config interface breakout' on the switch does it"),
            std::string::npos);
  const auto by_hand = incapable_of(config, {}, Scope{{row("interface[*]/breakout")}});
  ASSERT_EQ(by_hand.size(), 1U);
  EXPECT_TRUE(by_hand.front().by_hand);
  EXPECT_EQ(std::ranges::count(rows_written(), row("interface[*]/breakout")), 0);
  EXPECT_EQ(std::ranges::count(rows_read(), row("interface[*]/breakout")), 1);
}

// SONiC's own rendered configuration of a switch with dynamic buffers.
TEST_F(SonicSwitch, SonicsDynamicSampleIsReadAndStays) {
  const auto file = sonic_yang_data() / "../sonic-config/rendered/buffers-mellanox4600c-t0-dynamic.json";
  LOCKSTEP_NEEDS_SONIC_YANG();
  config = *parse_config_db(text_of_file(file));
  config.tables["DEVICE_METADATA"]["localhost"]["buffer_model"] = "dynamic";
  add_ports(config);
  EXPECT_EQ(entry("interface[Ethernet2]/buffer[3]"), Value::present());
  const ConfigDb before = config;
  make({change("interface[Ethernet2]/buffer[3]", Value::present()),
        change("interface[Ethernet2]/buffer[4]", Value::present())});
  EXPECT_EQ(config, before);
  // The sample turns on no PFC: with it, and with the classes of a profile, the groups stay.
  make({change("interface[Ethernet2]/pfc", Value::set({"3", "4"})),
        change("interface[Ethernet2]/class[3]/dscp", Value::set({"26"})),
        change("interface[Ethernet2]/class[3]/priority", Value::set({"3"})),
        change("interface[Ethernet2]/class[4]/dscp", Value::set({"27"})),
        change("interface[Ethernet2]/class[4]/priority", Value::set({"4"}))});
  EXPECT_EQ(config.tables.at("BUFFER_PG"), before.tables.at("BUFFER_PG"));
}

}  // namespace
}  // namespace lockstep::sonic
