// `lockstep sonic lint`: what it prints and how it ends. The checks themselves are judged in
// tests/unit/sonic.
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
            "PORT_QOS_MAP global dscp_to_tc_map: there is no A in DSCP_TO_TC_MAP\n"
            "PORT_QOS_MAP global pfc_enable: '3,9' is not a list of priorities from 0 to 7, such as 3,4\n"
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
            "QUAY A1 length: Unsatisfied range - value \"9\" is out of the allowed range\n"
            "without a model, not checked: VLAN\n" +
                file + ": 1 error\n");
  const Answer good = lint(R"({"sonic-harbour:sonic-harbour": {"QUAY": {"QUAY_LIST": [{"name": "A1"}]}}})",
                           {"--yang", models(), "--format", "yang", "-o", "json"});
  EXPECT_EQ(good.code, 0) << good.out << good.err;
  EXPECT_EQ(nlohmann::json::parse(good.out)["models"], models());
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
