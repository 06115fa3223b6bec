// Entries and rows of CONFIG_DB: what is written is read back, stays valid by SONiC's models, and leaves
// everything else alone.
#include "drivers/sonic/map.hpp"

#include "drivers/sonic/config_plan.hpp"
#include "drivers/sonic/shared_rows.hpp"
#include "specs/compile/unset_rows.hpp"
#include "specs/model/schema_rows.hpp"
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

  static Change change(const std::string& path, Value want) { return {*Path::parse(path), {}, want}; }
  static std::vector<Change> lossless(const std::string& port) {
    const auto at = [&port](const std::string& rest) { return "interface[" + port + "]/" + rest; };
    return {change(at("pfc"), Value::set({"3"})),
            change(at("class[0]"), Value::present()),
            change(at("class[0]/dscp"), Value::set({"0", "1", "2"})),
            change(at("class[0]/priority"), Value::set({"0", "1"})),
            change(at("class[0]/strict"), Value::boolean(false)),
            change(at("class[0]/share"), Value::integer(400)),
            change(at("class[3]"), Value::present()),
            change(at("class[3]/dscp"), Value::set({"26"})),
            change(at("class[3]/priority"), Value::set({"3"})),
            change(at("class[3]/strict"), Value::boolean(false)),
            change(at("class[3]/share"), Value::integer(600)),
            change(at("class[3]/ecn-min"), Value::integer(150000)),
            change(at("class[3]/ecn-max"), Value::integer(1500000)),
            change(at("class[3]/ecn-probability"), Value::integer(1000)),
            change(at("class[6]"), Value::present()),
            change(at("class[6]/dscp"), Value::set({"48"})),
            change(at("class[6]/strict"), Value::boolean(true)),
            change(at("class[6]/max-rate"), Value::integer(20'000'000'000)),
            change(at("buffer[3]/size"), Value::integer(257'338)),
            change(at("buffer[3]/xoff"), Value::integer(237'882)),
            change(at("buffer[3]/xon"), Value::integer(19'456)),
            change(at("buffer[3]/dynamic-threshold"), Value::integer(0)),
            change(at("pfc-watchdog/action"), Value::text("drop")),
            change(at("pfc-watchdog/detection-time"), Value::integer(200)),
            change(at("pfc-watchdog/restoration-time"), Value::integer(400)),
            change(at("cable-length"), Value::integer(5)),
            change(at("mtu"), Value::integer(9216)),
            change(at("fec"), Value::text("rs"))};
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
  if (std::filesystem::is_directory(sonic_yang_data() / "yang-models")) {
    const ConfigFindings findings = sonic_models().check(config);
    EXPECT_TRUE(findings.valid()) << said(findings);
  }
  config = edited(config, {change("interface[Ethernet0]/address[10.0.0.0/31]", {})}).config;
  EXPECT_EQ(config.find("INTERFACE", "Ethernet0"), nullptr);
}

TEST_F(SonicMap, WhatSonicCannotHoldIsRefused) {
  EXPECT_EQ(refusal(change("interface[Ethernet0]/class[3]/share", Value::integer(333))),
            "a share is a weight of 1 to 100 in SCHEDULER: whole percents");
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
  const auto incapable = incapable_of(config, Scope{});
  EXPECT_EQ(incapable.size(), 10U);  // five rows of two priorities
  config.tables.erase("DEVICE_METADATA");
  EXPECT_GT(incapable_of(config, Scope{}).size(), 20U);
}

TEST(SonicRows, AreNotReportedAsSetByNoDriver) {
  const std::vector<RowId> written = rows_written();
  for (const RowId id : kSetByNoDriver)
    EXPECT_EQ(std::ranges::find(kSetBySonic, id) != kSetBySonic.end(),
              std::ranges::find(written, id) != written.end())
        << schema_row(id).pattern;
}

TEST_F(SonicMap, NativeRowsGoBothWays) {
  const Change native{
      Path(row("raw[*][*]"), {"sonic", "VLAN|Vlan20"}), {}, Value::text(R"({"vlanid":"20"})")};
  config = edited(config, {native}).config;
  EXPECT_EQ(field("VLAN", "Vlan20", "vlanid"), "20");
  TreeBuilder builder;
  add_entries(config, Scope{{}, {native.path}}, builder);
  EXPECT_EQ(builder.build().value(native.path), native.want);
  EXPECT_NE(refusal({native.path, {}, Value::text(R"({"vlanid": true})")}), "");
}

}  // namespace
}  // namespace lockstep::sonic
