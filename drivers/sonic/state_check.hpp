// StateCheck: a configuration of SONiC that changes row by row and is valid after each change.
//
// Promises: attempt() makes a move exactly if the state after it is valid, by the models or rules with which
// the check was begun; else nothing changes. The row-by-row check of models judges what a move can affect
// only; tests/unit/sonic proves over thousands of states that its verdicts are libyang's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drivers/sonic/config_db.hpp"
#include "drivers/sonic/findings.hpp"

namespace lockstep::sonic {

class YangModels;

// A row as it is afterwards.
struct ConfigMove {
  std::string table;
  std::string key;
  std::optional<ConfigRow> row;  // none: it is deleted

  bool operator==(const ConfigMove&) const = default;
};

// A table goes with its last row.
void make_move(const ConfigMove& move, ConfigDb& config);

class StateCheck {
 public:
  virtual ~StateCheck() = default;
  virtual const ConfigDb& state() const = 0;
  // What would be wrong in the state after the move; empty: it has been made.
  virtual std::vector<ConfigFault> attempt(const ConfigMove& move) = 0;
};

// Each state is judged whole: slow.
std::unique_ptr<StateCheck> check_whole_states(const YangModels& models, ConfigDb from);
// Judges what a move can affect; `from` is valid. Null: the models have what can't be judged row by row.
std::unique_ptr<StateCheck> check_changed_rows(const YangModels& models, ConfigDb from);
// By the built-in rules; the known faults, which `from` has, are none.
std::unique_ptr<StateCheck> check_by_builtin_rules_only(ConfigDb from, std::vector<ConfigFault> known);
// The faults that are not among the known.
std::vector<ConfigFault> new_faults(std::vector<ConfigFault> faults, const std::vector<ConfigFault>& known);

}  // namespace lockstep::sonic
