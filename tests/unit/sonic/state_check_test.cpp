// The check of states row by row, against libyang's verdict on each whole state.
#include "drivers/sonic/state_check.hpp"

#include <random>

#include "drivers/sonic/yang_rules.hpp"
#include "tests/unit/sonic/yang_conformance.hpp"

namespace lockstep::sonic {
namespace {

ConfigDb sample_config() {
  const auto json =
      nlohmann::json::parse(text_of_file(sonic_yang_data() / "tests/files/sample_config_db.json"));
  return *parse_config_db(json.at("SAMPLE_CONFIG_DB_JSON").dump());
}

std::string text_of(const ConfigMove& move) {
  if (!move.row) return "delete " + move.table + "|" + move.key;
  ConfigDb one;
  one.tables[move.table][move.key] = *move.row;
  return "set " + config_db_json(one);
}

// Data in the form of the models as rows of CONFIG_DB: the way back of SONiC's translation
// (sonic_yang_ext.py: _revYangConfig). None: it has what is no row.
class AsRows {
 public:
  explicit AsRows(const YangSchema& schema) : schema_(schema) {}

  std::optional<ConfigDb> of(const nlohmann::json& data) {
    for (const auto& [module, tables] : data.items()) {
      if (!tables.is_object()) return std::nullopt;
      for (const auto& [name, rows] : tables.items())
        if (!table(plain(name), rows)) return std::nullopt;
    }
    return std::move(config_);
  }

 private:
  static std::string plain(const std::string& name) { return name.substr(name.find(':') + 1); }
  static std::string text(const nlohmann::json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
  }

  bool table(const std::string& name, const nlohmann::json& rows) {
    const auto known = schema_.tables.find(name);
    if (known == schema_.tables.end() || !rows.is_object()) return false;
    for (const auto& [child, value] : rows.items()) {
      const lysc_node* const kind = child_of(*known->second.table, plain(child));
      if (kind == nullptr) return false;
      if (kind->nodetype == LYS_CONTAINER && !row(name, kind->name, *kind, value)) return false;
      if (kind->nodetype == LYS_LIST && value.is_array())
        for (const auto& entry : value) {
          std::string key;
          for (const lysc_node* const part : keys_of(*kind)) {
            if (!entry.contains(part->name)) return false;
            key += (key.empty() ? "" : "|") + text(entry.at(part->name));
          }
          if (config_.find(name, key) != nullptr || !row(name, key, *kind, entry)) return false;
        }
      if ((kind->nodetype & (LYS_CONTAINER | LYS_LIST)) == 0) return false;
    }
    return true;
  }

  bool row(const std::string& table, const std::string& key, const lysc_node& kind,
           const nlohmann::json& fields) {
    if (!fields.is_object()) return false;
    ConfigRow row;
    for (const auto& [field, value] : fields.items()) {
      const lysc_node* const leaf = child_of(kind, plain(field));
      if (leaf == nullptr) return false;
      if (lysc_is_key(leaf)) continue;
      if (leaf->nodetype == LYS_LEAF && value.is_primitive()) {
        row[plain(field)] = text(value);
      } else if (leaf->nodetype == LYS_LEAFLIST && value.is_array()) {
        ConfigList list;
        for (const auto& one : value) list.push_back(text(one));
        row[plain(field)] = std::move(list);
      } else {
        return false;
      }
    }
    config_.tables[table][key] = std::move(row);
    return true;
  }

  const YangSchema& schema_;
  ConfigDb config_;
};

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
        const auto check = check_changed_rows(sonic_models(), without);
        if (check == nullptr) continue;
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
