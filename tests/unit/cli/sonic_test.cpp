// `lockstep sonic lint` and `plan`: what they print and how they end. Checks and plans themselves are judged
// in tests/unit/sonic.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "said.hpp"

namespace lockstep {
namespace {

constexpr const char* kGood =
    R"({"PORT": {"Ethernet0": {"lanes": "1", "speed": "100000"}}, "VLAN": {"Vlan1": {}}})";
constexpr const char* kWrong =
    R"({"PORT_QOS_MAP": {"global": {"pfc_enable": "3,9", "dscp_to_tc_map": "A"}}})";

class SonicLint : public testing::Test {
 protected:
  SonicLint() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-sonic-XXXXXX").string();
    top_ = mkdtemp(pattern.data());
    file = top_ + "/config_db.json";
  }
  ~SonicLint() override { std::filesystem::remove_all(top_); }

  Answer lint(const std::string& text, std::vector<std::string> words = {}) const {
    std::ofstream(file) << text;
    words.insert(words.begin(), {"sonic", "lint", file});
    return say(words);
  }
  static std::string models() { return std::string(LOCKSTEP_SOURCE_DIR) + "/tests/unit/sonic/models"; }

  std::string file;

 private:
  std::string top_;
};

TEST_F(SonicLint, WithoutModelsSaysSo) {
  const Answer good = lint(kGood);
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_EQ(good.out,
            "without built-in rules, not checked: VLAN\n"
            "no YANG models were given (--yang DIR): only the built-in rules were checked\n" +
                file + ": nothing is wrong with it\n");
  const Answer wrong = lint(kWrong);
  EXPECT_EQ(wrong.code, 1) << wrong.err;
  EXPECT_EQ(wrong.out,
            "PORT_QOS_MAP|global dscp_to_tc_map: there is no A in DSCP_TO_TC_MAP\n"
            "PORT_QOS_MAP|global pfc_enable: '3,9' is not a list of priorities from 0 to 7, such as 3,4\n"
            "no YANG models were given (--yang DIR): only the built-in rules were checked\n" +
                file + ": 2 errors\n");
}

TEST_F(SonicLint, DocumentHasEachErrorInItsPlace) {
  const Answer wrong = lint(kWrong, {"-o", "json"});
  EXPECT_EQ(wrong.code, 1);
  const auto document = nlohmann::json::parse(wrong.out);
  EXPECT_EQ(document["kind"], "SonicLint");
  EXPECT_EQ(document["valid"], false);
  EXPECT_EQ(document["models"], nullptr);
  EXPECT_EQ(document["withoutModel"], nlohmann::json::array());
  ASSERT_EQ(document["errors"].size(), 2U);
  EXPECT_EQ(document["errors"][0], (nlohmann::json{{"table", "PORT_QOS_MAP"},
                                                   {"key", "global"},
                                                   {"field", "dscp_to_tc_map"},
                                                   {"message", "there is no A in DSCP_TO_TC_MAP"}}));
}

TEST_F(SonicLint, ModelsDecideWhereTheyAreGiven) {
  const Answer wrong =
      lint(R"({"QUAY": {"A1": {"length": "9"}}, "VLAN": {"Vlan1": {}}})", {"--yang", models()});
  EXPECT_EQ(wrong.code, 1) << wrong.err;
  EXPECT_EQ(wrong.out,
            "QUAY|A1 length: Unsatisfied range - value \"9\" is out of the allowed range\n"
            "without a model, not checked: VLAN\n" +
                file + ": 1 error\n");
  const Answer good = lint(R"({"sonic-harbour:sonic-harbour": {"QUAY": {"QUAY_LIST": [{"name": "A1"}]}}})",
                           {"--yang", models(), "--format", "yang", "-o", "json"});
  EXPECT_EQ(good.code, 0) << good.out << good.err;
  EXPECT_EQ(nlohmann::json::parse(good.out)["models"], models());
}

// A row that has no place in the models hides what refers to it.
TEST_F(SonicLint, WhatWasNotCheckedIsSaid) {
  const Answer wrong = lint(R"({"QUAY": {"A1|B2|C3": {}, "A1": {"length": "9"}}})", {"--yang", models()});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.out.find("references and rules between rows were not checked: mend the keys first\n"),
            std::string::npos)
      << wrong.out;
  EXPECT_EQ(nlohmann::json::parse(lint(kGood, {"-o", "json"}).out)["partial"], false);
}

// The rows of the draft, as render prints them, are those of the file.
TEST_F(SonicLint, ADraftCompilesToTheSameRows) {
  const std::string config = R"({
      "DEVICE_METADATA": {"localhost": {"hostname": "leaf7", "bgp_asn": "65001", "frr_mgmt_framework_config": "true"}},
      "BUFFER_POOL": {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "1000"}},
      "PORT": {"Ethernet0": {"lanes": "0,1", "speed": "100000", "alias": "yes", "adv_speeds": ["100000", "50000"]}},
      "DSCP_TO_TC_MAP": {"AZURE": {"26": "3", "0": "0"}},
      "PORT_QOS_MAP": {"Ethernet0": {"dscp_to_tc_map": "AZURE", "pfc_enable": "3,4"}},
      "SNMP_COMMUNITY": {"my site": {"TYPE": "RO"}},
      "INTERFACE": {"Ethernet0": {}, "Ethernet0|10.0.0.0/31": {}}})";
  std::ofstream(file) << config;
  const Answer draft = say({"sonic", "import", file, "--draft"});
  ASSERT_EQ(draft.code, 0) << draft.err;
  const std::string specs = file + ".yaml";
  std::ofstream(specs) << draft.out;
  const Answer rendered = say({"render", specs, "leaf7", "--format", "native"});
  ASSERT_EQ(rendered.code, 0) << rendered.err;
  const std::size_t begin = rendered.out.find("\n{\n");
  ASSERT_NE(begin, std::string::npos) << rendered.out;
  EXPECT_EQ(nlohmann::json::parse(rendered.out.substr(begin)), nlohmann::json::parse(config)) << rendered.out;
  EXPECT_NE(say({"sonic", "import", file}).err.find("say --draft"), std::string::npos);
  EXPECT_EQ(say({"sonic", "import", file, file, "--draft"}).code, 1);
}

class SonicPlan : public SonicLint {
 protected:
  Answer plan(const std::string& current, const std::string& target,
              std::vector<std::string> words = {}) const {
    const std::string wanted = file + ".wanted";
    std::ofstream(file) << current;
    std::ofstream(wanted) << target;
    words.insert(words.begin(), {"sonic", "plan", file, wanted});
    return say(words);
  }
};

constexpr const char* kTwoMaps = R"({
  "PORT": {"Ethernet0": {"lanes": "1", "speed": "100000", "admin_status": "up"}},
  "DSCP_TO_TC_MAP": {"A": {"26": "3"}},
  "PORT_QOS_MAP": {"Ethernet0": {"dscp_to_tc_map": "A", "pfc_enable": "3"}}})";
constexpr const char* kOtherMap = R"({
  "PORT": {"Ethernet0": {"lanes": "1", "speed": "100000", "admin_status": "up"}},
  "DSCP_TO_TC_MAP": {"B": {"24": "3"}},
  "PORT_QOS_MAP": {"Ethernet0": {"dscp_to_tc_map": "B"}}})";

TEST_F(SonicPlan, ShowsEachMoveWithWhatItChanges) {
  const Answer made = plan(kTwoMaps, kOtherMap);
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(made.out,
            "#  OP      ROW                     FIELDS\n"
            "1  set     DSCP_TO_TC_MAP|B        24 3\n"
            "2  set     PORT|Ethernet0          admin_status up -> down\n"
            "3  set     PORT_QOS_MAP|Ethernet0  dscp_to_tc_map A -> B, without pfc_enable\n"
            "4  set     PORT|Ethernet0          admin_status down -> up\n"
            "5  delete  DSCP_TO_TC_MAP|A\n"
            "shut down meanwhile: Ethernet0\n"
            "no YANG models were given (--yang DIR): states were judged by the built-in rules only\n"
            "5 moves\n");
  const Answer same = plan(kTwoMaps, kTwoMaps);
  EXPECT_EQ(same.code, 0);
  EXPECT_NE(same.out.find("nothing to do: the two configurations are the same\n"), std::string::npos)
      << same.out;
}

TEST_F(SonicPlan, DocumentHasWholeRows) {
  const Answer made = plan(kTwoMaps, kOtherMap, {"-o", "json"});
  EXPECT_EQ(made.code, 0) << made.err;
  const auto document = nlohmann::json::parse(made.out);
  ASSERT_EQ(document["moves"].size(), 5U);
  EXPECT_EQ(document["moves"][1],
            (nlohmann::json{{"op", "set"},
                            {"table", "PORT"},
                            {"key", "Ethernet0"},
                            {"fields", {{"lanes", "1"}, {"speed", "100000"}, {"admin_status", "down"}}}}));
  EXPECT_EQ(document["moves"][4],
            (nlohmann::json{{"op", "delete"}, {"table", "DSCP_TO_TC_MAP"}, {"key", "A"}}));
  EXPECT_EQ(document["portsDown"], nlohmann::json::array({"Ethernet0"}));
}

TEST_F(SonicPlan, WhatCannotBePlannedIsAnErrorThatSaysWhy) {
  const Answer wrong = plan(kTwoMaps, kWrong);
  EXPECT_EQ(wrong.code, 1);
  EXPECT_EQ(wrong.out, "");
  EXPECT_EQ(wrong.err,
            "error: the target is not valid: PORT_QOS_MAP|global dscp_to_tc_map: there is no A in "
            "DSCP_TO_TC_MAP; PORT_QOS_MAP|global pfc_enable: '3,9' is not a list of priorities from 0 to 7, "
            "such as 3,4\n");
  const Answer two = say({"sonic", "plan", "-", "-"});
  EXPECT_EQ(two.code, 1);
  EXPECT_NE(two.err.find("only one of the two files can be standard input"), std::string::npos) << two.err;
  // Two faults, and a move mends one of them.
  const Answer twice = plan(kWrong, kTwoMaps);
  EXPECT_EQ(twice.code, 0) << twice.err;  // one row has both
  const Answer stuck = plan(R"({"PFC_WD": {"A": {"action": "x"}, "B": {"action": "x"}}})", kTwoMaps);
  EXPECT_EQ(stuck.code, 1);
  EXPECT_NE(
      stuck.err.find("the current configuration is not valid, and no single move makes it so: PFC_WD|A"),
      std::string::npos)
      << stuck.err;
}

TEST_F(SonicLint, WhatCannotBeReadIsAnError) {
  EXPECT_EQ(lint("nothing").code, 1);
  EXPECT_NE(lint("nothing").err.find("not JSON"), std::string::npos);
  EXPECT_EQ(say({"sonic", "lint", "/nowhere/config_db.json"}).code, 1);
  EXPECT_NE(say({"sonic", "lint", "/nowhere/config_db.json"}).err.find("/nowhere/config_db.json"),
            std::string::npos);
  EXPECT_NE(lint(kGood, {"--yang", "/nowhere"}).err.find("/nowhere"), std::string::npos);
  EXPECT_NE(lint(kGood, {"--format", "yang"}).err.find("--format yang needs --yang"), std::string::npos);
  EXPECT_NE(lint(R"({"PORT": {"E": {"a": "1", "a": "2"}}})").err.find("key 'E', field 'a': written twice"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep
