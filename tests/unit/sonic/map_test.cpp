// Entries and rows of CONFIG_DB: what is written is read back, stays valid by SONiC's models, and leaves
// everything else alone.
#include "drivers/sonic/map.hpp"

#include "drivers/sonic/config_plan.hpp"
#include "drivers/sonic/shared_rows.hpp"
#include "specs/compile/unset_rows.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/unit/sonic/changes.hpp"
#include "tests/unit/sonic/shared_data.hpp"

namespace lockstep::sonic {
namespace {

constexpr const char* kSwitch = R"({
  "DEVICE_METADATA": {"localhost": {"bgp_asn": "65001", "frr_mgmt_framework_config": "true", "hostname": "leaf0"}},
  "PORT": {"Ethernet0": {"lanes": "0,1", "speed": "400000", "mtu": "9100", "admin_status": "up", "alias": "etp1"},
           "Ethernet8": {"lanes": "8,9", "speed": "400000"}},
  "DSCP_TO_TC_MAP": {"AZURE": {"0": "0", "26": "1", "48": "6"}},
  "TC_TO_QUEUE_MAP": {"AZURE": {"0": "0", "1": "1", "6": "6"}},
  "SCHEDULER": {"scheduler.0": {"type": "DWRR", "weight": "14"}},
  "QUEUE": {"Ethernet0|0-2": {"scheduler": "scheduler.0"}, "Ethernet8|3": {"scheduler": "scheduler.0"}},
  "PORT_QOS_MAP": {"Ethernet0": {"dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE"},
                   "Ethernet8": {"dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE", "pfc_enable": "3"}},
  "BUFFER_POOL": {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "30000000"}},
  "VLAN": {"Vlan10": {"vlanid": "10"}}})";

class SonicMap : public testing::Test {
 protected:
  SonicMap() : config(*parse_config_db(kSwitch)) {}

  static ChangeSet lossless(const std::string& port) {
    ChangeSet out = lossless_class(port);
    const auto add = [&](const std::string& rest, Value want) {
      out.push_back(change("interface[" + port + "]/" + rest, want));
    };
    add("class[0]", Value::present());
    add("class[0]/dscp", Value::set({"0", "1", "2"}));
    add("class[0]/priority", Value::set({"0", "1"}));
    add("class[0]/strict", Value::boolean(false));
    add("class[0]/share", Value::integer(400));
    add("class[6]", Value::present());
    add("class[6]/dscp", Value::set({"48"}));
    add("class[6]/strict", Value::boolean(true));
    add("class[6]/max-rate", Value::integer(20'000'000'000));
    add("pfc-watchdog/action", Value::text("drop"));
    add("pfc-watchdog/detection-time", Value::integer(200));
    add("pfc-watchdog/restoration-time", Value::integer(400));
    add("cable-length", Value::integer(5));
    add("fec", Value::text("rs"));
    return out;
  }

  static Tree entries(const ConfigDb& of) {
    TreeBuilder builder;
    add_entries(of, Scope{}, builder);
    return builder.build();
  }
  // All changes are made, and read back.
  void make(const ChangeSet& changes) {
    const Edited made = edited(config, changes);
    for (std::size_t i = 0; i < changes.size(); ++i)
      EXPECT_FALSE(made.outcomes[i]) << changes[i].path.text() << ": " << made.outcomes[i]->text();
    config = made.config;
    const Tree have = entries(config);
    for (const Change& one : changes)
      EXPECT_EQ(have.value(one.path), one.want)
          << one.path.text() << ": " << have.value(one.path).to_string();
    EXPECT_EQ(edited(config, changes).config, config) << "a second edit changes something";
  }
  std::string field(const char* table, const char* key, const char* name) const {
    const ConfigRow* const row = config.find(table, key);
    if (row == nullptr || !row->contains(name)) return "-";
    return std::get<std::string>(row->at(name));
  }
  std::string refusal(const Change& one) const {
    const Edited made = edited(config, {one});
    EXPECT_EQ(made.config, config);
    return made.outcomes[0] ? made.outcomes[0]->text() : "";
  }

  ConfigDb config;
};

TEST_F(SonicMap, ReadsWhatIsThere) {
  const Tree have = entries(config);
  const auto text = [&have](const std::string& path) { return have.value(*Path::parse(path)).to_string(); };
  EXPECT_EQ(text("interface[Ethernet0]/class[1]/dscp"), Value::set({"26"}).to_string());
  EXPECT_EQ(text("interface[Ethernet0]/class[2]/share"), "140");  // of the range 0-2
  EXPECT_EQ(text("interface[Ethernet0]/speed"), "400000");
  EXPECT_EQ(text("interface[Ethernet8]/pfc"), Value::set({"3"}).to_string());
  EXPECT_FALSE(have.value(*Path::parse("interface[Ethernet8]/admin")));
  EXPECT_FALSE(have.value(*Path::parse("bgp/asn")));
}

TEST_F(SonicMap, ALosslessPortIsWrittenReadBackAndValid) {
  const ConfigDb before = config;
  make(lossless("Ethernet0"));
  EXPECT_EQ(field("PORT", "Ethernet0", "alias"), "etp1");
  EXPECT_EQ(entries(config).value(*Path::parse("interface[Ethernet0]/trust")), Value::text("dscp"));
  EXPECT_EQ(field("PORT_QOS_MAP", "Ethernet0", "pfc_enable"), "3");
  EXPECT_EQ(field("QUEUE", "Ethernet0|3", "scheduler"), "lockstep-dwrr-60");
  EXPECT_EQ(field("QUEUE", "Ethernet0|3", "wred_profile"), "lockstep-ecn-150000-1500000");
  EXPECT_EQ(field("SCHEDULER", "lockstep-strict-2500000000", "pir"), "2500000000");
  EXPECT_EQ(field("BUFFER_PG", "Ethernet0|3", "profile"), "lockstep-lossless-257338");
  EXPECT_EQ(field("CABLE_LENGTH", "AZURE", "Ethernet0"), "5m");
  // The other port, and what it names, is as before.
  EXPECT_EQ(*config.find("PORT_QOS_MAP", "Ethernet8"), *before.find("PORT_QOS_MAP", "Ethernet8"));
  EXPECT_EQ(*config.find("DSCP_TO_TC_MAP", "AZURE"), *before.find("DSCP_TO_TC_MAP", "AZURE"));
  EXPECT_EQ(config.tables.at("VLAN"), before.tables.at("VLAN"));
  if (std::filesystem::is_directory(sonic_yang_data() / "yang-models")) {
    const ConfigFindings findings = sonic_models().check(config);
    EXPECT_TRUE(findings.valid()) << said(findings);
  }
}

TEST_F(SonicMap, PortsShareRowsOfOneContentAndLeaveNoneBehind) {
  make(lossless("Ethernet0"));
  make(lossless("Ethernet8"));
  EXPECT_EQ(field("PORT_QOS_MAP", "Ethernet0", "dscp_to_tc_map"),
            field("PORT_QOS_MAP", "Ethernet8", "dscp_to_tc_map"));
  EXPECT_EQ(field("QUEUE", "Ethernet0|3", "scheduler"), field("QUEUE", "Ethernet8|3", "scheduler"));
  // A change of one is not one of the other.
  make({change("interface[Ethernet0]/class[3]/ecn-min", Value::integer(200000))});
  EXPECT_EQ(entries(config).value(*Path::parse("interface[Ethernet8]/class[3]/ecn-min")).as_integer(),
            150000);
  // Without them, our rows are gone.
  ChangeSet away;
  for (const std::string port : {"Ethernet0", "Ethernet8"})
    for (Change one : lossless(port)) {
      one.want = {};
      if (one.path.text().find("/mtu") == std::string::npos) away.push_back(one);
    }
  config = edited(config, away).config;
  for (const auto& [table, rows] : config.tables)
    for (const auto& [key, row] : rows) EXPECT_FALSE(key.starts_with(kOurRows)) << table << "|" << key;
}

TEST_F(SonicMap, RoutingAndAddressesAreRowsThatHangTogether) {
  make({change("interface[Ethernet0]/address[10.0.0.0/31]", Value::present()),
        change("interface[lo]/address[10.255.0.1/32]", Value::present()), change("bgp", Value::present()),
        change("bgp/asn", Value::integer(4200000000)), change("bgp/router-id", Value::text("10.255.0.1")),
        change("bgp/max-paths", Value::integer(64)), change("bgp/multipath-relax", Value::boolean(true)),
        change("bgp/redistribute[connected]", Value::present()),
        change("bgp/aggregate[10.64.0.0/25]", Value::present()),
        change("bgp/neighbor[Ethernet8]", Value::present()),
        change("bgp/neighbor[Ethernet8]/remote-as", Value::text("external")),
        change("bgp/neighbor[Ethernet8]/hold", Value::integer(9)),
        change("bgp/neighbor[Ethernet8]/shutdown", Value::boolean(false)),
        change("load-balancing/hash-fields", Value::set({"src-ip", "dst-ip", "dst-port"}))});
  EXPECT_NE(config.find("INTERFACE", "Ethernet0"), nullptr);
  EXPECT_NE(config.find("LOOPBACK_INTERFACE", "Loopback0"), nullptr);
  EXPECT_EQ(field("BGP_NEIGHBOR", "default|Ethernet8", "admin_status"), "up");
  EXPECT_EQ(field("BGP_NEIGHBOR_AF", "default|Ethernet8|ipv4_unicast", "admin_status"), "up");
  if (std::filesystem::is_directory(sonic_yang_data() / "yang-models")) {
    const ConfigFindings findings = sonic_models().check(config);
    EXPECT_TRUE(findings.valid()) << said(findings);
  }
  config = edited(config, {change("interface[Ethernet0]/address[10.0.0.0/31]", {})}).config;
  EXPECT_EQ(config.find("INTERFACE", "Ethernet0"), nullptr);
  config.tables["BGP_NEIGHBOR_AF"]["default|Ethernet8|ipv6_unicast"]["admin_status"] = "up";
  config.tables["BGP_NEIGHBOR_AF"]["default|Ethernet80|ipv4_unicast"]["admin_status"] = "up";
  config = edited(config, {change("bgp/neighbor[Ethernet8]", {})}).config;
  EXPECT_EQ(config.tables["BGP_NEIGHBOR_AF"].size(), 1U) << "those of the neighbor go with it, no others";
}

TEST_F(SonicMap, WhatSonicCannotHoldIsRefused) {
  EXPECT_EQ(refusal(change("interface[Ethernet0]/class[3]/share", Value::integer(333))),
            "a share is a weight of 1 to 100 in SCHEDULER: whole percents, not 333 thousandths");
  EXPECT_EQ(refusal(change("interface[Ethernet1]/mtu", Value::integer(9000))),
            "there is no port Ethernet1 in PORT");
  EXPECT_EQ(refusal(change("interface[Ethernet0]/class[9]/share", Value::integer(300))),
            "interface[Ethernet0]/class[9]/share: SONiC's queues and priorities are 0 to 7");
  EXPECT_EQ(refusal(change("interface[Ethernet0]/class[3]/dscp", Value::set({"64"}))),
            "interface[Ethernet0]/class[3]/dscp: '64' is not a number from 0 to 63");
  EXPECT_EQ(refusal(change("load-balancing/hash-fields", Value::set({"dst-qp"}))),
            "load-balancing/hash-fields: SONiC has no 'dst-qp'");
  config.tables.erase("BUFFER_POOL");
  EXPECT_EQ(refusal(change("interface[Ethernet0]/buffer[3]/size", Value::integer(1000))),
            "BUFFER_PROFILE needs size and xoff of a lossless priority");
}

TEST_F(SonicMap, RowsThatBuffermgrdOwnsAreReadAndLeftAlone) {
  config.tables["BUFFER_PROFILE"]["pg_lossless_400000_5m_profile"] = {
      {"pool", "ingress_lossless_pool"}, {"size", "53248"}, {"xoff", "33792"}, {"xon", "19456"}};
  config.tables["BUFFER_PG"]["Ethernet8|3-4"] = {{"profile", "pg_lossless_400000_5m_profile"}};
  EXPECT_EQ(entries(config).value(*Path::parse("interface[Ethernet8]/buffer[3]/size")).as_integer(), 53248);
  EXPECT_EQ(refusal(change("interface[Ethernet8]/buffer[3]/size", Value::integer(60000))),
            "buffermgrd computes the buffer of priority 3");
  const auto of_buffers = [](const std::vector<Incapable>& all) {
    return std::ranges::count_if(all, [](const Incapable& one) {
      return schema_row(one.row).pattern.starts_with("interface[*]/buffer[*]/");
    });
  };
  EXPECT_EQ(of_buffers(incapable_of(config, {}, Scope{})), 10);  // five rows of two priorities
  config.tables.erase("DEVICE_METADATA");
  EXPECT_GT(incapable_of(config, {}, Scope{}).size(), 20U);
}

TEST_F(SonicMap, FieldsThatNoEntryStandsForStay) {
  config.tables["SCHEDULER"]["scheduler.0"] = {{"type", "WRR"}, {"weight", "14"}, {"cir", "7"}};
  config.tables["BUFFER_PROFILE"]["mine"] = {{"pool", "ingress_lossless_pool"},
                                             {"size", "1000"},
                                             {"xoff", "500"},
                                             {"static_th", "9"},
                                             {"packet_discard_action", "drop"}};
  config.tables["BUFFER_PG"]["Ethernet8|3"] = {{"profile", "mine"}};
  make({change("interface[Ethernet8]/class[3]/share", Value::integer(300)),
        change("interface[Ethernet8]/buffer[3]/size", Value::integer(2000))});
  const std::string scheduler = field("QUEUE", "Ethernet8|3", "scheduler");
  EXPECT_EQ(*config.find("SCHEDULER", scheduler),
            (ConfigRow{{"type", "WRR"}, {"weight", "30"}, {"cir", "7"}}));
  const std::string profile = field("BUFFER_PG", "Ethernet8|3", "profile");
  EXPECT_EQ(*config.find("BUFFER_PROFILE", profile), (ConfigRow{{"pool", "ingress_lossless_pool"},
                                                                {"size", "2000"},
                                                                {"xoff", "500"},
                                                                {"static_th", "9"},
                                                                {"packet_discard_action", "drop"}}));
}

// PFC on a priority whose class only SONiC's defaults know.
TEST_F(SonicMap, ALosslessPriorityKeepsItsGroupWhenADscpChanges) {
  config.tables["TC_TO_PRIORITY_GROUP_MAP"]["AZURE"] = {{"0", "0"}, {"3", "3"}};
  config.tables["PORT_QOS_MAP"]["Ethernet8"]["tc_to_pg_map"] = "AZURE";
  make({change("interface[Ethernet8]/class[3]/dscp", Value::set({"26", "27"}))});
  EXPECT_EQ(
      field("TC_TO_PRIORITY_GROUP_MAP", field("PORT_QOS_MAP", "Ethernet8", "tc_to_pg_map").c_str(), "3"),
      "3");
}

TEST_F(SonicMap, WhatIsNamedForAllPortsCannotBeTakenFromOne) {
  config.tables["PORT_QOS_MAP"]["global"] = {{"dscp_to_tc_map", "AZURE"}, {"tc_to_queue_map", "AZURE"}};
  config.tables["PORT_QOS_MAP"].erase("Ethernet0");
  const Tree have = entries(config);
  EXPECT_EQ(have.value(*Path::parse("interface[Ethernet0]/class[1]/dscp")), Value::set({"26"}));
  ChangeSet away;
  for (const char* const number : {"0", "1", "2", "6"})
    away.push_back(change("interface[Ethernet0]/class[" + std::string(number) + "]", {}));
  const Edited made = edited(config, away);
  for (const auto& error : made.outcomes) {
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind, ErrorKind::unsupported);
  }
  EXPECT_EQ(made.config, config);
}

TEST_F(SonicMap, QueuesBeyondTheClassesAreNone) {
  config.tables["QUEUE"]["Ethernet0|8-9"] = {{"scheduler", "scheduler.0"}};
  const Tree have = entries(config);
  EXPECT_FALSE(have.value(*Path::parse("interface[Ethernet0]/class[8]")));
  make(lossless("Ethernet0"));
  EXPECT_NE(config.find("QUEUE", "Ethernet0|8"), nullptr);
}

TEST_F(SonicMap, AnAddressIsTheSameInAnySpelling) {
  config.tables["INTERFACE"]["Ethernet0"] = {};
  config.tables["INTERFACE"]["Ethernet0|FC00::71/126"] = {};
  const ConfigDb before = config;
  make({change("interface[Ethernet0]/address[fc00::71/126]", Value::present())});
  EXPECT_EQ(config, before);
  config = edited(config, {change("interface[Ethernet0]/address[fc00::71/126]", {})}).config;
  EXPECT_FALSE(config.tables.contains("INTERFACE"));
}

TEST(SonicRows, AreNotReportedAsSetByNoDriver) {
  const std::vector<RowId> written = rows_written();
  const auto is_written = [&written](RowId id) { return std::ranges::find(written, id) != written.end(); };
  for (const RowId id : kSetBySonicOnly) EXPECT_TRUE(is_written(id)) << schema_row(id).pattern;
  for (const RowId id : kSetByNoDriver) EXPECT_FALSE(is_written(id)) << schema_row(id).pattern;
}

TEST_F(SonicMap, NativeFieldsGoBothWaysAndLeaveTheOthersOfTheirRow) {
  const auto native = [](const char* name, const char* text) {
    return Change{Path(row("raw[*][*]"), {"sonic", name}), {}, text == nullptr ? Value() : Value::text(text)};
  };
  const ChangeSet changes{
      native("VLAN|Vlan20 vlanid", "20"), native("VLAN|Vlan20 dhcp_servers@", "10.0.0.1,10.0.0.2"),
      native("PORT|Ethernet0 description", "to gpu1"), native("INTERFACE|Ethernet8 ", "")};
  config = edited(config, changes).config;
  EXPECT_EQ(config.tables.at("VLAN").at("Vlan20"),
            (ConfigRow{{"vlanid", "20"}, {"dhcp_servers", ConfigList{"10.0.0.1", "10.0.0.2"}}}));
  EXPECT_EQ(field("PORT", "Ethernet0", "alias"), "etp1");
  EXPECT_EQ(field("PORT", "Ethernet0", "description"), "to gpu1");
  EXPECT_NE(config.find("INTERFACE", "Ethernet8"), nullptr);
  Scope scope;
  for (const Change& one : changes) scope.named.push_back(one.path);
  TreeBuilder builder;
  add_entries(config, scope, builder);
  const Tree have = builder.build();
  for (const Change& one : changes) EXPECT_EQ(have.value(one.path), one.want) << one.path.text();
  EXPECT_EQ(edited(config, changes).config, config);
  config =
      edited(config, {native("VLAN|Vlan20 vlanid", nullptr), native("VLAN|Vlan20 dhcp_servers@", nullptr),
                      native("PORT|Ethernet0 description", nullptr), native("INTERFACE|Ethernet8 ", nullptr)})
          .config;
  EXPECT_EQ(config, *parse_config_db(kSwitch));
  EXPECT_EQ(refusal(native("nothing", "x")),
            "'nothing' sets no field of CONFIG_DB: write \"TABLE|key\": {field: text}");
}

}  // namespace
}  // namespace lockstep::sonic
