// The translation and the errors of YANG models, with models of our own.
#include "drivers/sonic/yang_models.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/unit/sonic/shared_data.hpp"

namespace lockstep::sonic {
namespace {

namespace fs = std::filesystem;

const fs::path kModels = fs::path(LOCKSTEP_SOURCE_DIR) / "tests/unit/sonic/models";

const YangModels& harbour() {
  static const Result<YangModels> models = YangModels::load(kModels.string());
  if (!models) throw std::runtime_error(models.error().text());
  return *models;
}

std::string checked(std::string_view text) {
  const Result<ConfigDb> config = parse_config_db(text);
  EXPECT_TRUE(config) << text;
  return config ? said(harbour().check(*config)) : "";
}
std::string checked_yang(std::string_view text) {
  return said(harbour().check_yang(nlohmann::json::parse(text)));
}

TEST(YangModels, EveryShapeOfTableIsTranslated) {
  EXPECT_EQ(checked(R"({
    "HARBOUR": {"depths": {"metres": "12", "open": "true"}},
    "QUAY": {"A1": {"length": 300, "cranes": ["x", "y"], "least": "-5", "most": "9"},
             "B": {"cranes": [""]}},
    "SHIP": {"Ada": {"flag": "NO"}, "A1|Bea": {"since": "1970"}, "A1 | Cleo": {},
             "nowhere|Dora": {"metres": "7"}},
    "CABLE_LENGTH": {"AZURE": {"Ethernet0": "5m", "Ethernet4": "40m"}, "EMPTY": {}},
    "PORT": {"Ethernet0": {"adv_speeds": "100, 200,400"}, "Ethernet4": {"adv_speeds": ["100"]}}})"),
            "");
}

TEST(YangModels, WhatHasNoPlaceInTheModelIsAFault) {
  EXPECT_EQ(checked(R"({"QUAY": {"A1": {"lenght": "300"}}, "CABLE_LENGTH": {"A|B": {}},
                        "SHIP": {"a|b|c": {}, "A1|Bea": {"flag": "NO"}, "Ada": {"name": "Ada"}}})"),
            "CABLE_LENGTH/A|B/: a key of 2 parts; this table has name\n"
            "QUAY/A1/lenght: the model has no such field\n"
            "SHIP/A1|Bea/flag: the model has no such field\n"
            "SHIP/Ada/name: it is a part of the row's key, and no field\n"
            "SHIP/a|b|c/: a key of 3 parts; this table has name or quay|name or quay|name\n");
  EXPECT_EQ(checked(R"({"HARBOUR": {"depth": {}}})"),
            "HARBOUR/depth/: a key of 1 part; this table has depths\n");
}

TEST(YangModels, ValuesOfTheWrongFormAreFaults) {
  EXPECT_EQ(checked(R"({"QUAY": {"A1": {"length": "9", "cranes": "x"}, "B": {"length": ["5"], "tides": []},
                                 "C": {"length": "0x10"}, "D": {"length": ""}}})"),
            "QUAY/A1/cranes: one text, where the model has a list: write [\"...\"]\n"
            "QUAY/A1/length: Unsatisfied range - value \"9\" is out of the allowed range\n"
            "QUAY/B/length: a list, where the model has one value\n"
            "QUAY/B/tides: an empty list, where the model has a default: leave the field out\n"
            "QUAY/C/length: Invalid type uint16 value \"0x10\"\n"
            "QUAY/D/length: Invalid type uint16 empty value\n");
  EXPECT_EQ(checked(R"({"QUAY": {"quay": {}}})"),
            "QUAY/quay/: the key: Unsatisfied pattern - \"quay\" does not conform to \"[A-Z]+[0-9]*\"\n");
  EXPECT_EQ(checked(R"({"HARBOUR": {"depths": {"metres": "12", "open": "True"}}})"),
            "HARBOUR/depths/open: Invalid boolean value \"True\"\n");
  EXPECT_EQ(checked(R"({"CABLE_LENGTH": {"AZURE": {"Ethernet0": "far", "Ethernet1": ["5m"], "eth": "5m"}}})"),
            "CABLE_LENGTH/AZURE/Ethernet0: Unsatisfied pattern - \"far\" does not conform to \"[0-9]+m\"\n"
            "CABLE_LENGTH/AZURE/Ethernet1: a list, where a map has one value\n"
            "CABLE_LENGTH/AZURE/eth: the key: Unsatisfied pattern - \"eth\" does not conform to "
            "\"Ethernet[0-9]+\"\n");
}

TEST(YangModels, RulesAndReferencesAreFaultsWhereTheyAreBroken) {
  EXPECT_EQ(checked(R"({"HARBOUR": {"depths": {"open": "true"}}, "QUAY": {"A1": {"least": "5", "most": "4"},
                        "B": {"least": "9", "most": "8"}, "C": {"cranes": ["1", "2", "3"]}},
                        "SHIP": {"X1|Ada": {"since": "1"}, "A1|Bea": {"next": "X2"}, "A1|Cleo": {"next": "X3"}}})"),
            "HARBOUR/depths/metres: it must be there, and is not\n"
            "QUAY/A1/most: most is below least\n"
            "QUAY/B/most: most is below least\n"
            "SHIP/A1|Bea/next: there is no X2 in QUAY\n"
            "SHIP/A1|Cleo/next: there is no X3 in QUAY\n"
            "SHIP/X1|Ada/: the key's quay: Invalid leafref value \"X1\" - no target instance "
            "\"../../../QUAY/QUAY_LIST/name\" with the same value\n");
  EXPECT_EQ(checked(R"({"QUAY": {"C": {"cranes": ["1", "2", "3"]}}})"),
            "QUAY/C/cranes: Too many \"cranes\" instances\n");
  // Two keys that are one key without blanks.
  EXPECT_EQ(checked(R"({"SHIP": {"Ada": {}, "Ada ": {}}})"),
            "SHIP/Ada/: Duplicate instance of \"SHIP_LIST\"\n");
}

TEST(YangModels, WhatFollowsFromAFaultIsNotSaid) {
  // `most` is judged once `least` can be read, and who refers to a row that could not be read is not wrong.
  EXPECT_EQ(checked(R"({"QUAY": {"A1": {"least": "low", "most": "4"}}})"),
            "QUAY/A1/least: Invalid type int64 value \"low\"\n");
  EXPECT_EQ(checked(R"({"QUAY": {"a-1": {}}, "SHIP": {"A1|Ada": {"next": "A2"}}})"),
            "QUAY/a-1/: the key: Unsatisfied pattern - \"a-1\" does not conform to \"[A-Z]+[0-9]*\"\n");
}

TEST(YangModels, DataInTheFormOfTheModels) {
  EXPECT_EQ(checked_yang(R"({"sonic-harbour:sonic-harbour": {"sonic-harbour:QUAY": {"QUAY_LIST": [
      {"name": "A1", "length": 300, "cranes": ["x"], "least": "4", "most": 5}]}, "HARBOUR": {"depths": {
      "metres": "3", "open": true}}}})"),
            "");
  EXPECT_EQ(
      checked_yang(R"({"sonic-harbour:sonic-harbour": {"QUAY": {"QUAY_LIST": [{"name": "A1", "length": 9},
      {"name": "B", "length": {}}]}}})"),
      "QUAY/A1/length: Unsatisfied range - value \"9\" is out of the allowed range\n"
      "QUAY/B/length: it is one value in the model, not object\n");
  const std::pair<std::string_view, std::string_view> kWrong[] = {
      {"[]", "//: the data is an object of modules\n"},
      {"null", "//: the data is an object of modules\n"},
      {R"({"sonic-port:sonic-port": {}})", "//: no model has 'sonic-port:sonic-port' at the top\n"},
      {R"({"sonic-harbour": {}})", "//: no model has 'sonic-harbour' at the top\n"},
      {R"({"sonic-harbour:sonic-harbour": 1})", "//: it is an object in the model\n"},
      {R"({"sonic-harbour:sonic-harbour": {"QUAY": []}})", "QUAY//: it is an object in the model\n"},
      {R"({"sonic-harbour:sonic-harbour": {"other:QUAY": {}}})",
       "QUAY//: the model has no 'other:QUAY' here\n"},
      {R"({"sonic-harbour:sonic-harbour": {"QUAY": {"QUAY_LIST": {}}}})",
       "QUAY/QUAY_LIST/: it is a list in the model\n"},
      {R"({"sonic-harbour:sonic-harbour": {"QUAY": {"QUAY_LIST": [1]}}})",
       "QUAY//: a row of QUAY_LIST is an object\n"},
      {R"({"sonic-harbour:sonic-harbour": {"QUAY": {"QUAY_LIST": [{}]}}})",
       "QUAY//: a row of QUAY_LIST has no key name\n"},
      {R"({"sonic-harbour:sonic-harbour": {"QUAY": {"QUAY_LIST": [{"name": "\u0000"}]}}})",
       "QUAY//: a row of QUAY_LIST has no key name\n"},
      {R"({"sonic-harbour:sonic-harbour": {"QUAY": {"QUAY_LIST": [{"name": "A", "length": null}]}}})",
       "QUAY/A/length: it is one value in the model, not null\n"},
  };
  for (const auto& [data, what] : kWrong) EXPECT_EQ(checked_yang(data), what) << data;
}

TEST(YangModels, HostileTextsHarmNothing) {
  for (const std::string_view text :
       {"'", "\\\"", "'\\\"", "]", "a[b='c']/d", "\\u0001\\n\\u202e", "/../..", "%s%n", "*"}) {
    const std::string row = "{\"SHIP\": {\"" + std::string(text) + "\": {\"flag\": \"" + std::string(text) +
                            "\"}, \"A1|" + std::string(text) + "\": {\"next\": \"" + std::string(text) +
                            "\"}}}";
    const std::string answer = checked(row);
    EXPECT_NE(answer.find("/next: "), std::string::npos) << row << answer;
    EXPECT_EQ(answer.find("SHIP//"), std::string::npos) << row << answer;
    EXPECT_FALSE(checked("{\"QUAY\": {\"A\": {\"" + std::string(text) + "\": \"1\"}}}").empty());
  }
  // More faults than anybody reads.
  ConfigDb many;
  for (int i = 0; i < 3000; ++i) many.tables["QUAY"]["A" + std::to_string(i)] = {{"length", "9"}};
  const ConfigFindings findings = harbour().check(many);
  EXPECT_EQ(findings.faults.size(), ConfigFindings::kFaultsMax);
  EXPECT_EQ(findings.unlisted, 2000U);
  EXPECT_EQ(checked("{\"SHIP\": {\"Ada\": {\"flag\": \"" + std::string(1'000'000, 'x') + "\"}}}"), "");
}

TEST(YangModels, NothingIsWrittenToStandardError) {
  testing::internal::CaptureStderr();
  (void)checked(
      R"({"QUAY": {"A1": {"length": "9", "most": "4", "least": "5"}, "a": {}}, "SHIP": {"X|Y": {}}})");
  (void)YangModels::load("/nowhere");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

class YangFolder : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "lockstep-yang-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { fs::remove_all(folder); }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder / name).parent_path());
    std::ofstream(folder / name) << text;
  }
  std::string refusal() const {
    const Result<YangModels> models = YangModels::load(folder.string());
    return models ? "" : models.error().text();
  }

  fs::path folder;
};

TEST_F(YangFolder, WithoutUsableModelsIsRefused) {
  EXPECT_EQ(refusal(), folder.string() + " has no YANG models: files whose names end in .yang");
  write("sonic-a.yang", "module sonic-a { namespace \"urn:a\"; prefix a; }");
  EXPECT_EQ(refusal(), folder.string() + " has YANG models, but none of a table of CONFIG_DB");
  write("sonic-a.yang", "module sonic-a {");
  EXPECT_NE(refusal().find("model sonic-a: libyang does not accept it: "), std::string::npos) << refusal();
  write("sonic-a.yang", "module sonic-b { namespace \"urn:a\"; prefix a; }");
  EXPECT_NE(refusal().find("sonic-a: libyang does not accept it: "), std::string::npos) << refusal();
  write("sonic-a.yang", "module sonic-a { namespace \"urn:a\"; prefix a; import sonic-types { prefix t; } }");
  EXPECT_NE(refusal().find("sonic-types"), std::string::npos) << refusal();
  write("sonic-a.yang",
        "module sonic-a { namespace \"urn:a\"; prefix a; container sonic-a { container T { leaf x { "
        "type leafref { path \"/a:nowhere\"; } } } } }");
  EXPECT_NE(refusal().find("libyang does not accept it: "), std::string::npos) << refusal();
  write("part/sonic-a.yang", "");
  EXPECT_NE(refusal().find("model sonic-a is there twice: "), std::string::npos) << refusal();
  fs::remove_all(folder / "part");
  fs::remove(folder / "sonic-a.yang");
  ASSERT_EQ(::mkfifo((folder / "sonic-a.yang").c_str(), 0600), 0);
  EXPECT_NE(refusal().find("sonic-a.yang"), std::string::npos) << refusal();
  EXPECT_NE(YangModels::load("/nowhere").error().text().find("/nowhere"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::sonic
