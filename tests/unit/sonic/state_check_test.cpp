// The check of states row by row, against libyang's verdict on each whole state.
#include "drivers/sonic/state_check.hpp"

#include <random>

#include "drivers/sonic/builtin_rules.hpp"
#include "drivers/sonic/yang_rules.hpp"
#include "tests/unit/sonic/config_samples.hpp"

namespace lockstep::sonic {
namespace {

std::string text_of(const ConfigMove& move) {
  if (!move.row) return "delete " + move.table + "|" + move.key;
  ConfigDb one;
  one.tables[move.table][move.key] = *move.row;
  return "set " + config_db_json(one);
}

class StateCheckOfModels : public testing::Test {
 protected:
  void SetUp() override { LOCKSTEP_NEEDS_SONIC_YANG(); }

  // Of a long list, which are tried: one in this many.
  static std::size_t every() { return std::max<std::size_t>(1, 40 / effort()); }

  // Both verdicts on a move; true: it was made.
  bool attempt(StateCheck& check, const ConfigMove& move) {
    ConfigDb after = check.state();
    make_move(move, after);
    const ConfigFindings whole = sonic_models().check(after);
    const ConfigDb before = check.state();
    const std::vector<ConfigFault> faults = check.attempt(move);
    ++judged;
    refused += faults.empty() ? 0 : 1;
    ConfigFindings own;
    own.faults = faults;
    EXPECT_EQ(faults.empty(), whole.valid()) << text_of(move) << "\nby rows:\n"
                                             << said(own) << "whole:\n"
                                             << said(whole);
    EXPECT_EQ(check.state(), faults.empty() ? after : before);
    return faults.empty();
  }

  std::size_t judged = 0;
  std::size_t refused = 0;
};

TEST_F(StateCheckOfModels, AllOfSonicsRulesAreJudgedRowByRow) {
  ASSERT_TRUE(sonic_models().rules()) << sonic_models().rules().error().text();
  std::printf("%zu nodes, %zu references\n", sonic_models().rules()->nodes.size(),
              sonic_models().rules()->references.size());
}

// A move can break rules of rows that it does not touch.
TEST_F(StateCheckOfModels, RulesOfOtherRowsAreJudgedToo) {
  const ConfigDb config = *parse_config_db(R"({
      "DEVICE_METADATA": {"localhost": {"bgp_asn": "65001"}},
      "PORT": {"Ethernet0": {"lanes": "1", "speed": "100000"}, "Ethernet4": {"lanes": "2", "speed": "100000"}},
      "PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "200"}, "Ethernet0": {"detection_time": "300", "restoration_time": "300"}},
      "QUEUE": {"Ethernet0|3": {}},
      "INTERFACE": {"Ethernet0": {}, "Ethernet0|10.0.0.0/31": {}}})");
  ASSERT_TRUE(sonic_models().check(config).valid()) << said(sonic_models().check(config));
  const auto check = check_changed_rows(sonic_models(), config);
  ASSERT_NE(check, nullptr);
  EXPECT_FALSE(attempt(*check, {"INTERFACE", "Ethernet0", std::nullopt})) << "its address needs it";
  EXPECT_FALSE(attempt(*check, {"PFC_WD", "GLOBAL", ConfigRow{{"POLL_INTERVAL", "400"}}}))
      << "above a detection time";
  EXPECT_FALSE(attempt(*check, {"DEVICE_METADATA", "localhost", ConfigRow{{"switch_type", "voq"}}}))
      << "other queues";
  EXPECT_FALSE(attempt(*check, {"PORT", "Ethernet0", std::nullopt})) << "it is referred to";
  EXPECT_TRUE(attempt(*check, {"PORT", "Ethernet4", std::nullopt}));
  EXPECT_TRUE(attempt(*check, {"PFC_WD", "GLOBAL", ConfigRow{{"POLL_INTERVAL", "250"}}}));
}

// Rows of the sample are deleted and put back: all of them where LOCKSTEP_SONIC_EFFORT is 40.
TEST_F(StateCheckOfModels, EachRowOfTheSampleIsMissed) {
  const ConfigDb sample = sample_config();
  const auto check = check_changed_rows(sonic_models(), sample);
  ASSERT_NE(check, nullptr);
  std::size_t number = 0;
  for (const auto& [table, rows] : sample.tables)
    for (const auto& [key, row] : rows)
      if (++number % every() == 0 && attempt(*check, {table, key, std::nullopt}))
        attempt(*check, {table, key, row});
  EXPECT_EQ(check->state(), sample);
  std::printf("%zu states, %zu refused\n", judged, refused);
}

// Any change of any row: fields that go, values of other rows, and what is no value at all.
ConfigMove changed_at_random(const ConfigDb& config, const std::vector<std::string>& tables,
                             std::mt19937& random) {
  const auto any = [&random](const auto& all) {
    return std::next(all.begin(), static_cast<std::ptrdiff_t>(random() % all.size()));
  };
  const std::string& table = *any(tables);
  const auto rows = config.tables.find(table);
  if (rows == config.tables.end()) return {table, "x", ConfigRow{}};
  const auto& [key, row] = *any(rows->second);
  ConfigMove move{table, key, row};
  const ConfigRow& other = any(rows->second)->second;
  switch (random() % 6) {
    case 0: move.row.reset(); return move;
    case 1:
      if (!row.empty()) move.row->erase(any(row)->first);
      return move;
    case 2:
      if (!other.empty()) move.row->insert_or_assign(any(other)->first, any(other)->second);
      return move;
    case 3:
      if (!row.empty()) move.row->insert_or_assign(any(row)->first, random() % 2 == 0 ? "7" : "nothing");
      return move;
    case 4: move.key = any(rows->second)->first; return move;
    default: move.key += random() % 2 == 0 ? "0" : "|x"; return move;
  }
}

// Thousands of states, each after the one before: LOCKSTEP_SONIC_EFFORT times as many.
TEST_F(StateCheckOfModels, RandomChangesAreJudgedAlike) {
  const std::vector<ConfigDb>& all = valid_configs();
  std::mt19937 random(11);
  for (std::size_t i = 0; i < 10 * effort(); ++i) {
    const ConfigDb& from = all[random() % all.size()];
    std::vector<std::string> tables;
    for (const auto& [table, rows] : from.tables) tables.push_back(table);
    if (tables.empty()) continue;
    const auto check = check_changed_rows(sonic_models(), from);
    for (int j = 0; j < 10; ++j) attempt(*check, changed_at_random(check->state(), tables, random));
    if (HasFailure()) FAIL() << config_db_json(check->state());
  }
  std::printf("%zu states, %zu refused\n", judged, refused);
  EXPECT_GT(refused, judged / 10);
  EXPECT_LT(refused, judged);
}

TEST(StateCheckOfBuiltinRules, RandomChangesAreJudgedAsWhole) {
  const auto file = sonic_yang_data() / "../sonic-config/rendered";
  if (!std::filesystem::is_directory(file))
    LOCKSTEP_NOT_TESTED("SONiC's samples are not at " + file.string());
  std::mt19937 random(13);
  std::size_t judged = 0;
  std::size_t refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(file)) {
    Result<ConfigDb> config = parse_config_db(text_of_file(entry.path()));
    if (!config) continue;
    add_ports(*config);
    if (!check_by_builtin_rules(*config).valid()) continue;
    std::vector<std::string> tables;
    for (const auto& [table, rows] : config->tables) tables.push_back(table);
    const auto check = check_by_builtin_rules_only(*config, {});
    for (std::size_t i = 0; i < 20 * effort(); ++i) {
      const ConfigMove move = changed_at_random(check->state(), tables, random);
      ConfigDb after = check->state();
      make_move(move, after);
      const bool valid = check_by_builtin_rules(after).valid();
      const bool made = check->attempt(move).empty();
      ASSERT_EQ(made, valid) << text_of(move);
      ++judged;
      refused += made ? 0 : 1;
    }
  }
  std::printf("%zu states, %zu refused\n", judged, refused);
  EXPECT_GT(refused, judged / 10);
  EXPECT_LT(refused, judged);
}

// The cases to be rejected, from the state without a row that is at fault to that with it; the cases to be
// accepted, without each of their rows in turn.
TEST_F(StateCheckOfModels, ConformanceCasesAreJudgedAlike) {
  std::vector<std::string> without_data;
  std::size_t tried = 0;
  std::size_t number = 0;
  for (const ConformanceCase& one : conformance_cases(without_data)) {
    if (++number % every() != 0) continue;
    const std::optional<ConfigDb> config = AsRows(sonic_models().schema()).of(one.data);
    if (!config) continue;
    bool found = false;
    for (const auto& [table, rows] : config->tables)
      for (const auto& [key, row] : rows) {
        ConfigDb without = *config;
        make_move({table, key, std::nullopt}, without);
        if (!sonic_models().check(without).valid()) continue;
        const auto check = check_changed_rows(sonic_models(), without);
        ASSERT_NE(check, nullptr);
        found = true;
        attempt(*check, {table, key, row});
      }
    tried += found ? 1 : 0;
    if (HasFailure()) FAIL() << one.file << ": " << one.name << "\n" << config_db_json(*config);
  }
  std::printf("%zu cases, %zu states, %zu refused\n", tried, judged, refused);
  EXPECT_GT(tried, number / every() / 2);
  EXPECT_GT(refused, 0U);
}

}  // namespace
}  // namespace lockstep::sonic
