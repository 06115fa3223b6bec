// The check of states row by row, against libyang's verdict on each whole state.
#include "drivers/sonic/state_check.hpp"

#include <random>

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

// Every row of the sample is deleted and put back.
TEST_F(StateCheckOfModels, EachRowOfTheSampleIsMissed) {
  const ConfigDb sample = sample_config();
  const auto check = check_changed_rows(sonic_models(), sample);
  ASSERT_NE(check, nullptr);
  for (const auto& [table, rows] : sample.tables)
    for (const auto& [key, row] : rows)
      if (attempt(*check, {table, key, std::nullopt})) attempt(*check, {table, key, row});
  EXPECT_EQ(check->state(), sample);
  std::printf("%zu states, %zu refused\n", judged, refused);
}

// The cases to be rejected, from the state without a row that is at fault to that with it; the cases to be
// accepted, without each of their rows in turn.
TEST_F(StateCheckOfModels, ConformanceCasesAreJudgedAlike) {
  std::vector<std::string> without_data;
  std::size_t tried = 0;
  for (const ConformanceCase& one : conformance_cases(without_data)) {
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
  EXPECT_GT(tried, 500U);
  EXPECT_GT(refused, 200U);
}

}  // namespace
}  // namespace lockstep::sonic
