// SONiC's own conformance cases and sample configuration, judged by its models.
#include "tests/unit/sonic/yang_conformance.hpp"

namespace lockstep::sonic {
namespace {

TEST(YangConformance, VerdictsAreThoseOfSonic) {
  LOCKSTEP_NEEDS_SONIC_YANG();
  std::vector<std::string> without_data;
  const std::vector<ConformanceCase> cases = conformance_cases(without_data);
  std::size_t agreed = 0;
  std::size_t accepted = 0;
  for (const ConformanceCase& one : cases) {
    const ConfigFindings findings = sonic_models().check_yang(one.data);
    accepted += one.accepted ? 1 : 0;
    agreed += findings.valid() == one.accepted ? 1 : 0;
    EXPECT_EQ(findings.valid(), one.accepted) << one.file << ": " << one.name << "\n" << said(findings);
    for (const ConfigFault& fault : findings.faults) EXPECT_FALSE(fault.message.empty()) << one.name;
  }
  std::printf("%zu of %zu verdicts agree (%zu to accept, %zu to reject); %zu cases have no data here\n",
              agreed, cases.size(), accepted, cases.size() - accepted, without_data.size());
  EXPECT_GT(cases.size(), 600U);
}

class SampleConfig : public testing::Test {
 protected:
  void SetUp() override {
    LOCKSTEP_NEEDS_SONIC_YANG();
    const auto json =
        nlohmann::json::parse(text_of_file(sonic_yang_data() / "tests/files/sample_config_db.json"));
    Result<ConfigDb> config = parse_config_db(json.at("SAMPLE_CONFIG_DB_JSON").dump());
    ASSERT_TRUE(config) << config.error().text();
    sample = *std::move(config);
  }
  ConfigField& at(const char* table, const char* key, const char* field) {
    return sample.tables.at(table).at(key).at(field);
  }
  // The one fault of the sample.
  ConfigFault only_fault() const {
    const ConfigFindings findings = sonic_models().check(sample);
    EXPECT_EQ(findings.faults.size(), 1U) << said(findings);
    return findings.faults.empty() ? ConfigFault{} : findings.faults.front();
  }

  ConfigDb sample;
};

TEST_F(SampleConfig, IsTranslatedWholeAndValid) {
  const ConfigFindings findings = sonic_models().check(sample);
  EXPECT_TRUE(findings.valid()) << said(findings);
  EXPECT_EQ(findings.without_model, std::vector<std::string>{});
  EXPECT_EQ(sample.tables.size(), 198U);
  std::printf("%zu tables of %zu models; the sample has %zu tables\n", sonic_models().tables(),
              sonic_models().models(), sample.tables.size());
}

TEST_F(SampleConfig, ComesBackFromFileAndFromRedis) {
  EXPECT_EQ(*parse_config_db(config_db_json(sample)), sample);
  ConfigDb read;
  for (const auto& [table, rows] : sample.tables)
    for (const auto& [key, row] : rows) {
      const auto name = row_of_redis_name(redis_name(table, key));
      ASSERT_TRUE(name);
      read.tables[name->first][name->second] = *row_of_redis_hash(*redis_hash(row));
    }
  EXPECT_EQ(read, sample);
}

TEST_F(SampleConfig, DanglingMapIsRejected) {
  const std::string port = sample.tables.at("PORT_QOS_MAP").begin()->first;
  sample.tables.at("PORT_QOS_MAP").at(port)["dscp_to_tc_map"] = "NOWHERE";
  EXPECT_EQ(only_fault(),
            (ConfigFault{"PORT_QOS_MAP", port, "dscp_to_tc_map", "there is no NOWHERE in DSCP_TO_TC_MAP"}));
}

TEST_F(SampleConfig, WrongPrioritiesOfPfcAreRejected) {
  const std::string port = sample.tables.at("PORT_QOS_MAP").begin()->first;
  sample.tables.at("PORT_QOS_MAP").at(port)["pfc_enable"] = "3,9";
  const ConfigFault fault = only_fault();
  EXPECT_EQ(fault.table + "/" + fault.key + "/" + fault.field, "PORT_QOS_MAP/" + port + "/pfc_enable");
  EXPECT_NE(fault.message.find("\"3,9\""), std::string::npos) << fault.message;
}

TEST_F(SampleConfig, ThresholdsInTheWrongOrderAreRejected) {
  const std::string profile = sample.tables.at("WRED_PROFILE").begin()->first;
  ConfigRow& row = sample.tables.at("WRED_PROFILE").at(profile);
  row["green_min_threshold"] = "2000";
  row["green_max_threshold"] = "1000";
  EXPECT_EQ(only_fault(),
            (ConfigFault{"WRED_PROFILE", profile, "green_max_threshold",
                         "Green max threshold must be greater than or equal to min threshold"}));
}

TEST_F(SampleConfig, TablesWithoutModelAreListedApart) {
  sample.tables["ZZ_UNKNOWN"]["row"] = {};
  sample.tables["AA_UNKNOWN"]["row"] = {};
  const ConfigFindings findings = sonic_models().check(sample);
  EXPECT_TRUE(findings.valid()) << said(findings);
  EXPECT_EQ(findings.without_model, (std::vector<std::string>{"AA_UNKNOWN", "ZZ_UNKNOWN"}));
}

TEST_F(SampleConfig, EachWrongValueIsReportedInItsPlace) {
  const std::string port = sample.tables.at("PORT_QOS_MAP").begin()->first;
  ConfigRow& qos = sample.tables.at("PORT_QOS_MAP").at(port);
  qos["dscp_to_tc_map"] = "NOWHERE";
  qos["tc_to_queue_map"] = "NOWHERE EITHER";
  sample.tables.at("PORT").begin()->second["mtu"] = "9300";
  sample.tables.at("PORT").begin()->second["no_such_field"] = "1";
  sample.tables["BUFFER_POOL"]["without_mode"] = {{"type", "ingress"}};
  std::string places;
  for (const ConfigFault& fault : sonic_models().check(sample).faults)
    places += fault.table + " " + fault.field + "; ";
  EXPECT_EQ(places,
            "BUFFER_POOL mode; PORT mtu; PORT no_such_field; PORT_QOS_MAP dscp_to_tc_map; PORT_QOS_MAP "
            "tc_to_queue_map; ");
}

}  // namespace
}  // namespace lockstep::sonic
