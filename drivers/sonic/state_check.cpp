#include "drivers/sonic/state_check.hpp"

#include <algorithm>

#include "drivers/sonic/builtin_rules.hpp"
#include "drivers/sonic/yang_models.hpp"

namespace lockstep::sonic {
namespace {

// `judge(config, move)`: what is wrong with the state after the move.
template <class Judge>
class JudgedStates final : public StateCheck {
 public:
  JudgedStates(ConfigDb from, Judge judge) : config_(std::move(from)), judge_(std::move(judge)) {}

  const ConfigDb& state() const override { return config_; }

  std::vector<ConfigFault> attempt(const ConfigMove& move) override {
    const ConfigRow* const row = config_.find(move.table, move.key);
    const ConfigMove back{move.table, move.key, row == nullptr ? std::nullopt : std::optional(*row)};
    make_move(move, config_);
    std::vector<ConfigFault> faults = judge_(config_, move);
    if (!faults.empty()) make_move(back, config_);
    return faults;
  }

 private:
  ConfigDb config_;
  Judge judge_;
};

}  // namespace

void make_move(const ConfigMove& move, ConfigDb& config) {
  if (move.row) {
    config.tables[move.table].insert_or_assign(move.key, *move.row);
    return;
  }
  const auto table = config.tables.find(move.table);
  if (table == config.tables.end()) return;
  table->second.erase(move.key);
  if (table->second.empty()) config.tables.erase(table);
}

std::unique_ptr<StateCheck> check_whole_states(const YangModels& models, ConfigDb from) {
  const auto judge = [&models](const ConfigDb& config, const ConfigMove&) {
    return models.check(config).faults;
  };
  return std::make_unique<JudgedStates<decltype(judge)>>(std::move(from), judge);
}

std::unique_ptr<StateCheck> check_by_builtin_rules_only(ConfigDb from, std::vector<ConfigFault> known) {
  auto judge = [known = std::move(known)](const ConfigDb& config, const ConfigMove& move) {
    return new_faults(check_row_by_builtin_rules(config, move.table, move.key), known);
  };
  return std::make_unique<JudgedStates<decltype(judge)>>(std::move(from), std::move(judge));
}

std::vector<ConfigFault> new_faults(std::vector<ConfigFault> faults, const std::vector<ConfigFault>& known) {
  std::erase_if(faults,
                [&known](const ConfigFault& one) { return std::ranges::find(known, one) != known.end(); });
  return faults;
}

}  // namespace lockstep::sonic
