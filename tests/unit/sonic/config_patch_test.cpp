// Patches: applied by another implementation of RFC 6902 (nlohmann's), they lead to the target.
#include "drivers/sonic/config_patch.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

namespace lockstep::sonic {
namespace {

using Json = nlohmann::json;

Json json_of_config(const ConfigDb& config) { return Json::parse(config_db_json(config)); }

Json patch_from(const ConfigDb& now, const ConfigDb& target) {
  const auto text = patch_json(patch_of(now, target), config_db_json(now));
  EXPECT_TRUE(text);
  return text ? Json::parse(*text) : Json();
}

Json without_tests(const Json& patch) {
  Json out = Json::array();
  for (const Json& one : patch)
    if (one.at("op") != "test") out.push_back(one);
  return out;
}

ConfigDb config_of(const char* text) { return *parse_config_db(text); }

TEST(ConfigPatches, AreOfFieldsRowsAndTables) {
  const ConfigDb now =
      config_of(R"({"PORT": {"Ethernet0": {"mtu": "9100", "fec": "rs"}, "Ethernet8": {"mtu": "1500"}},
                                     "VLAN": {"Vlan10": {"vlanid": "10"}}, "QUEUE": {"Ethernet0|3": {}}})");
  const ConfigDb target =
      config_of(R"({"PORT": {"Ethernet0": {"mtu": "9216", "autoneg": "on"}, "Ethernet16": {}},
                                        "QUEUE": {"Ethernet0|3": {}}, "SCHEDULER": {"a/b~c": {"type": "DWRR"}}})");
  EXPECT_EQ(without_tests(patch_from(now, target)), Json::parse(R"([
    {"op": "add", "path": "/PORT/Ethernet0/autoneg", "value": "on"},
    {"op": "remove", "path": "/PORT/Ethernet0/fec"},
    {"op": "replace", "path": "/PORT/Ethernet0/mtu", "value": "9216"},
    {"op": "add", "path": "/PORT/Ethernet16", "value": {}},
    {"op": "remove", "path": "/PORT/Ethernet8"},
    {"op": "add", "path": "/SCHEDULER", "value": {"a/b~c": {"type": "DWRR"}}},
    {"op": "remove", "path": "/VLAN"}])"));
  const Json patch = patch_from(now, target);
  EXPECT_EQ(json_of_config(now).patch(patch), json_of_config(target));
}

TEST(ConfigPatches, EscapeNames) {
  const ConfigDb now = config_of(R"({"INTERFACE": {"Ethernet0|10.0.0.0/31": {}, "Ethernet0": {}}})");
  const ConfigDb target = config_of(R"({"INTERFACE": {"Ethernet0": {}, "a~b": {"x/y": "1"}}})");
  EXPECT_EQ(without_tests(patch_from(now, target)), Json::parse(R"([
    {"op": "remove", "path": "/INTERFACE/Ethernet0|10.0.0.0~131"},
    {"op": "add", "path": "/INTERFACE/a~0b", "value": {"x/y": "1"}}])"));
}

// Where another has changed such a row, python-jsonpatch and nlohmann refuse the whole patch.
TEST(ConfigPatches, TestEachRowThatChangesOrGoes) {
  const ConfigDb now =
      config_of(R"({"PORT": {"Ethernet0": {"mtu": "9100"}, "Ethernet8": {}}, "VLAN": {"Vlan1": {}}})");
  const ConfigDb target = config_of(R"({"PORT": {"Ethernet0": {"mtu": "9100", "fec": "rs"}}})");
  const Json patch = patch_from(now, target);
  for (const char* const other :
       {R"({"PORT": {"Ethernet0": {"mtu": "1500"}, "Ethernet8": {}}, "VLAN": {"Vlan1": {}}})",
        R"({"PORT": {"Ethernet0": {"mtu": "9100"}, "Ethernet8": {"a": "b"}}, "VLAN": {"Vlan1": {}}})",
        R"({"PORT": {"Ethernet0": {"mtu": "9100"}, "Ethernet8": {}}, "VLAN": {"Vlan1": {"a": "b"}}})",
        R"({"PORT": {"Ethernet0": {"mtu": "9100"}}, "VLAN": {"Vlan1": {}}})"})
    EXPECT_THROW((void)Json::parse(other).patch(patch), Json::exception) << other;
  const char* const elsewhere = R"({"PORT": {"Ethernet0": {"mtu": "9100"}, "Ethernet8": {}, "Ethernet16": {}},
                                    "VLAN": {"Vlan1": {}}})";
  EXPECT_NO_THROW((void)Json::parse(elsewhere).patch(patch));
}

// What the switch printed is compared, not what we made of it.
TEST(ConfigPatches, TestsAreOfWhatTheSwitchPrinted) {
  const char* const printed = R"({"PORT": {"Ethernet0": {"mtu": 9100, "NULL": "NULL"}}})";
  ConfigDb target = config_of(printed);
  target.tables["PORT"]["Ethernet0"]["mtu"] = "9216";
  const auto text = patch_json(patch_of(config_of(printed), target), printed);
  ASSERT_TRUE(text);
  EXPECT_EQ(Json::parse(printed).patch(Json::parse(*text))["PORT"]["Ethernet0"]["mtu"], "9216");
}

class RandomConfig {
 public:
  explicit RandomConfig(unsigned seed) : random_(seed) {}
  ConfigDb next() {
    ConfigDb out;
    for (const char* const table : {"PORT", "QUEUE", "A~B"})
      for (const char* const key : {"a", "b/c", "d|e", "~1"}) {
        if (below(2) == 0) continue;
        ConfigRow& row = out.tables[table][key];
        for (const char* const field : {"x", "y/z", "l"}) {
          if (below(3) == 0) continue;
          if (field[0] == 'l')
            row[field] = below(2) == 0 ? ConfigList{"1"} : ConfigList{"1", "2"};
          else
            row[field] = std::to_string(below(3));
        }
      }
    return out;
  }

 private:
  unsigned below(unsigned most) { return static_cast<unsigned>(random_() % most); }
  std::mt19937 random_;
};

TEST(ConfigPatches, LeadToTheTargetAndEachOperationCanBeTakenBack) {
  RandomConfig random(7);
  for (int round = 0; round < 300; ++round) {
    const ConfigDb now = random.next();
    const ConfigDb target = random.next();
    const std::vector<PatchOperation> patch = patch_of(now, target);
    EXPECT_EQ(json_of_config(now).patch(patch_from(now, target)), json_of_config(target));
    EXPECT_EQ(patch.empty(), now == target);
    ConfigDb back = target;
    for (const PatchOperation& one : patch) revert(one, back);
    EXPECT_EQ(back, now) << round;
  }
}

TEST(ConfigPatches, NoneLeavesAnEmptyTable) {
  RandomConfig random(11);
  for (int round = 0; round < 300; ++round) {
    const ConfigDb now = random.next();
    const ConfigDb target = random.next();
    const Json after = json_of_config(now).patch(patch_from(now, target));
    for (const auto& [table, rows] : after.items()) EXPECT_FALSE(rows.empty()) << table;
  }
}

}  // namespace
}  // namespace lockstep::sonic
