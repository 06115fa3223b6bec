// YangState: a configuration as a tree of rows in the form of the models, with what is needed to judge a
// changed row without looking at all others: rows by the values of their leaves, and how often each value is
// referred to.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "drivers/sonic/findings.hpp"
#include "drivers/sonic/state_check.hpp"
#include "drivers/sonic/yang_rules.hpp"

namespace lockstep::sonic {

// Values of the keys of a list's entry.
std::string keys_text(const YangNode& entry);

class YangState final : public YangLookup {
 public:
  YangState(const YangSchema& schema, const YangRules& rules);

  bool has_table(const std::string& name) const { return tables_.contains(name); }
  const YangNode* table(const std::string& name) const { return tables_.at(name); }
  // Null: no such row. Single rows (DEVICE_METADATA localhost) are always there.
  const YangNode* row(const std::string& table, const std::string& key) const;
  bool is_empty(const YangNode& table) const;

  struct Replaced {
    std::unique_ptr<YangNode> before;  // null: there was none
    std::vector<ConfigFault> faults;   // it can't be translated, and nothing was replaced
  };
  Replaced replace(const ConfigMove& move);
  // Takes a replacement back.
  void restore(const ConfigMove& move, Replaced replaced);

  // Whether another row of the table has the same keys, written otherwise.
  bool has_twin(const YangNode& row) const;
  bool is_satisfied(const YangReference& reference, const YangNode& node) const;
  // Whether a node with this reference has the value.
  bool refers(const YangReference& reference, const std::string& value) const;
  // Calls `each` for all nodes of a kind, which is a table, a row or below one.
  void each_of(const lysc_node* kind, const std::function<void(const YangNode&)>& each) const;

  const std::vector<const YangNode*>* rows_by(const lysc_node* leaf, const std::string& value) const override;
  bool applies(const YangNode& implied) const override;

  // Its table, key and field.
  ConfigFault place_of(const YangNode& node) const;

 private:
  std::unique_ptr<YangNode> translated(const ConfigMove& move, std::vector<ConfigFault>& faults) const;
  std::unique_ptr<YangNode> copied(const lyd_node& node, YangNode& parent) const;
  void add_defaults(YangNode& node) const;
  // The kind of a table's single row; null: the key is of a list.
  const lysc_node* single(const std::string& table, const std::string& key) const;
  std::unique_ptr<YangNode> put(const ConfigMove& at, std::unique_ptr<YangNode> row);
  void index(const YangNode& row, bool there);
  bool accepts(const lysc_type& type, const YangNode& node) const;

  const YangSchema& schema_;
  const YangRules& rules_;
  YangNode root_;
  std::map<std::string, YangNode*, std::less<>> tables_;
  using ByValue = std::unordered_map<std::string, std::vector<const YangNode*>>;
  std::unordered_map<const lysc_node*, ByValue> indexed_;  // for each of the rules' indexed leaves
  std::unordered_map<const YangReference*, std::unordered_map<std::string, std::size_t>> referred_;
  std::unordered_map<const lysc_node*, std::unordered_map<std::string, std::size_t>> keys_;
  mutable std::map<std::pair<const lysc_type*, std::string>, bool>
      accepted_;  // a union's members: known verdicts
};

}  // namespace lockstep::sonic
