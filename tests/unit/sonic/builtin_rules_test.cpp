// The built-in rules, and their agreement with SONiC's models.
#include "drivers/sonic/builtin_rules.hpp"

#include "drivers/sonic/yang_exceptions.hpp"
#include "drivers/sonic/yang_schema.hpp"
#include "tests/unit/sonic/yang_conformance.hpp"

namespace lockstep::sonic {
namespace {

using Json = nlohmann::json;

std::string text_of(const Json& json) { return json.is_string() ? json.get<std::string>() : json.dump(); }
std::string unqualified(const std::string& name) { return name.substr(name.find(':') + 1); }

ConfigField field_of(const Json& value) {
  if (!value.is_array()) return text_of(value);
  ConfigList list;
  for (const Json& one : value) list.push_back(text_of(one));
  return list;
}

// Data in the form of the models as CONFIG_DB has it.
class ReverseTranslation {
 public:
  explicit ReverseTranslation(const YangSchema& schema) : schema_(schema) {}

  ConfigDb config_of(const Json& data) const {
    ConfigDb out;
    for (const auto& [module, tables] : data.items())
      for (const auto& [table, rows] : tables.items()) {
        const auto known = schema_.tables.find(unqualified(table));
        if (known != schema_.tables.end()) add_table(known->first, known->second, rows, out);
      }
    return out;
  }

 private:
  static void add_table(const std::string& name, const YangTable& table, const Json& rows, ConfigDb& out) {
    for (const auto& [part, value] : rows.items()) {
      const lysc_node* const kind = child_of(*table.table, unqualified(part));
      if (kind == nullptr) continue;
      if (kind->nodetype == LYS_CONTAINER && value.is_object()) {
        for (const auto& [field, held] : value.items())
          out.tables[name][kind->name][unqualified(field)] = field_of(held);
        continue;
      }
      for (const Json& entry : value) add_entry(name, *kind, entry, out);
    }
  }

  static void add_entry(const std::string& name, const lysc_node& list, const Json& entry, ConfigDb& out) {
    std::string key;
    std::set<std::string> keys;
    for (const lysc_node* const one : keys_of(list)) {
      key += (key.empty() ? "" : "|") + text_of(entry.value(one->name, Json("")));
      keys.insert(one->name);
    }
    ConfigRow& row = out.tables[name][key];
    for (const auto& [field, value] : entry.items()) {
      if (keys.contains(unqualified(field))) continue;
      if (!is_map_table(name)) {
        row[unqualified(field)] = field_of(value);
        continue;
      }
      const lysc_node* const inner = child_of(list, unqualified(field));
      for (const Json& pair : value) {
        const std::string inner_key = keys_of(*inner)[0]->name;
        for (const auto& [side, held] : pair.items())
          if (side != inner_key) row[text_of(pair.value(inner_key, Json("")))] = text_of(held);
      }
    }
  }

  const YangSchema& schema_;
};

bool has_rules(const std::string& table) {
  return std::ranges::find(table_rules(), table, &TableRule::table) != table_rules().end();
}

TEST(BuiltinRules, NoFalseAlarmAndMostOfWhatTheModelsReject) {
  LOCKSTEP_NEEDS_SONIC_YANG();
  const Result<YangSchema> schema = load_yang_schema(sonic_yang_data().string());
  ASSERT_TRUE(schema);
  std::vector<std::string> without_data;
  std::size_t accepted = 0;
  std::size_t rejected = 0;
  std::size_t of_rejected = 0;
  std::string missed;
  for (const ConformanceCase& one : conformance_cases(without_data)) {
    const ConfigDb config = ReverseTranslation(*schema).config_of(one.data);
    const ConfigFindings found = check_by_builtin_rules(config);
    if (one.accepted) {
      const bool concerns =
          std::ranges::any_of(config.tables, [](const auto& table) { return has_rules(table.first); });
      accepted += concerns ? 1 : 0;
      EXPECT_TRUE(found.valid()) << one.file << ": " << one.name << "\n"
                                 << said(found) << config_db_json(config);
      continue;
    }
    // Rejected for what is in one of these tables.
    const ConfigFindings by_models = sonic_models().check_yang(one.data);
    if (!std::ranges::any_of(by_models.faults, has_rules, &ConfigFault::table)) continue;
    ++of_rejected;
    if (found.valid())
      missed += "  " + one.name + ": " + said(by_models);
    else
      ++rejected;
  }
  std::printf("%zu cases to accept; of %zu to reject, %zu are rejected; not covered:\n%s", accepted,
              of_rejected, rejected, missed.c_str());
  EXPECT_GT(accepted, 50U);
  EXPECT_GE(rejected * 100, of_rejected * 75);  // in percent
}

TEST(BuiltinRules, FaultsAreInTheirPlaces) {
  const auto checked = [](std::string_view text) {
    return said(check_by_builtin_rules(*parse_config_db(text)));
  };
  EXPECT_EQ(checked(R"({
    "PORT": {"Ethernet0": {"speed": "100000", "mtu": "9300"}, "Ethernet4": {"mtu": "9100"}},
    "DSCP_TO_TC_MAP": {"AZURE": {"26": "3", "64": "1", "3": "16"}},
    "CABLE_LENGTH": {"AZURE": {"Ethernet0": "5m", "Ethernet4": "far", "Ethernet8": "5m"}},
    "WRED_PROFILE": {"W": {"green_min_threshold": "2000", "green_max_threshold": "1000", "red_max_threshold": "1",
                           "ecn": "all", "green_drop_probability": "101"}},
    "BUFFER_POOL": {"P": {"type": "ingress", "mode": "static", "percentage": "5", "size": "1"}},
    "BUFFER_PROFILE": {"B": {"pool": "Q", "size": "0", "dynamic_th": "8"}},
    "BUFFER_PG": {"Ethernet0|3-4": {"profile": "NULL"}, "Ethernet0|8": {"profile": "B"}},
    "BUFFER_PORT_INGRESS_PROFILE_LIST": {"Ethernet0": {"profile_list": "B,C"}},
    "QUEUE": {"Ethernet0|3": {"scheduler": "S"}, "Ethernet9|3": {}, "Ethernet0|3|4": {}},
    "PORT_QOS_MAP": {"Ethernet0": {"dscp_to_tc_map": "AZURE", "pfc_enable": "3,9"}, "global": {}},
    "PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "400", "action": "drop"},
               "Ethernet0": {"detection_time": "200", "restoration_time": "400"}},
    "INTERFACE": {"Ethernet0|10.0.0.0/31": {}, "Ethernet4": {}, "Ethernet4|10.0.0.2/31": {}},
    "SWITCH_HASH": {"GLOBAL": {"ecmp_hash": "DST_IP", "lag_hash_algorithm": "SHA"}},
    "VLAN": {"Vlan10": {}}})"),
            "BUFFER_PG/Ethernet0|8/: the key: '8' is not a number or a range such as 3-4, up to 7\n"
            "BUFFER_POOL/P/percentage: not together with size\n"
            "BUFFER_PORT_INGRESS_PROFILE_LIST/Ethernet0/profile_list: there is no C in BUFFER_PROFILE\n"
            "BUFFER_PROFILE/B/pool: there is no Q in BUFFER_POOL\n"
            "BUFFER_PROFILE/B/dynamic_th: '8' is not a whole number from -8 to 7\n"
            "CABLE_LENGTH/AZURE/Ethernet4: 'far' is not a length in whole metres, such as 5m\n"
            "CABLE_LENGTH/AZURE/Ethernet8: the name of the field: there is no Ethernet8 in PORT\n"
            "DSCP_TO_TC_MAP/AZURE/3: '16' is not a whole number from 0 to 15\n"
            "DSCP_TO_TC_MAP/AZURE/64: the name of the field: '64' is not a whole number from 0 to 63\n"
            "INTERFACE/Ethernet0|10.0.0.0/31/: the key: there is no Ethernet0 in INTERFACE\n"
            "PFC_WD/Ethernet0/detection_time: it must not be less than POLL_INTERVAL (400)\n"
            "PFC_WD/GLOBAL/action: not in the row GLOBAL\n"
            "PORT/Ethernet0/mtu: '9300' is not a whole number from 68 to 9216\n"
            "PORT/Ethernet4/speed: it must be there, and is not\n"
            "PORT_QOS_MAP/Ethernet0/pfc_enable: '3,9' is not a list of priorities from 0 to 7, such as 3,4\n"
            "QUEUE/Ethernet0|3/scheduler: there is no S in SCHEDULER\n"
            "QUEUE/Ethernet0|3|4/: no key of this table has 3 parts\n"
            "QUEUE/Ethernet9|3/: the key: there is no Ethernet9 in PORT\n"
            "SWITCH_HASH/GLOBAL/ecmp_hash: one text, where a list is expected: write [\"...\"]\n"
            "SWITCH_HASH/GLOBAL/lag_hash_algorithm: 'SHA' is not one of CRC, XOR, RANDOM, CRC_32LO, "
            "CRC_32HI, CRC_CCITT, CRC_XOR\n"
            "WRED_PROFILE/W/green_drop_probability: '101' is not a whole number from 0 to 100\n"
            "WRED_PROFILE/W/ecn: 'all' is not one of ecn_none, ecn_green, ecn_yellow, ecn_red, "
            "ecn_green_yellow, ecn_green_red, ecn_yellow_red, ecn_all\n"
            "WRED_PROFILE/W/green_max_threshold: it must not be less than green_min_threshold (2000)\n"
            "WRED_PROFILE/W/red_max_threshold: it needs red_min_threshold\n");
  EXPECT_EQ(check_by_builtin_rules(*parse_config_db(R"({"VLAN": {"Vlan10": {}}, "ACL_TABLE": {"A": {}}})"))
                .without_model,
            (std::vector<std::string>{"ACL_TABLE", "VLAN"}));
}

TEST(BuiltinRules, SonicsSampleIsValid) {
  LOCKSTEP_NEEDS_SONIC_YANG();
  const Json json = Json::parse(text_of_file(sonic_yang_data() / "tests/files/sample_config_db.json"));
  const ConfigDb sample = *parse_config_db(json.at("SAMPLE_CONFIG_DB_JSON").dump());
  EXPECT_EQ(said(check_by_builtin_rules(sample)), "");
}

}  // namespace
}  // namespace lockstep::sonic
