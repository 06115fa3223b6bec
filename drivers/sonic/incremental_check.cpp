// The check of states row by row, by rules compiled from the models.
#include <algorithm>
#include <limits>
#include <set>

#include "drivers/sonic/state_check.hpp"
#include "drivers/sonic/yang_models.hpp"
#include "drivers/sonic/yang_state.hpp"

namespace lockstep::sonic {
namespace {

using Kind = const lysc_node*;

class ChangedRows final : public StateCheck {
 public:
  ChangedRows(const YangSchema& schema, const YangRules& rules, ConfigDb from)
      : rules_(rules), tree_(schema, rules), config_(std::move(from)) {}

  // Whether every row could be translated.
  bool begin() {
    for (const auto& [name, rows] : config_.tables)
      for (const auto& [key, row] : rows)
        if (tree_.has_table(name) && !tree_.replace({name, key, row}).faults.empty()) return false;
    return true;
  }

  const ConfigDb& state() const override { return config_; }

  std::vector<ConfigFault> attempt(const ConfigMove& move) override {
    if (!tree_.has_table(move.table)) {
      make_move(move, config_);
      return {};
    }
    YangState::Replaced replaced = tree_.replace(move);
    if (!replaced.faults.empty()) return std::move(replaced.faults);
    faults_.clear();
    judge(move, replaced);
    if (faults_.empty())
      make_move(move, config_);
    else
      tree_.restore(move, std::move(replaced));
    return std::move(faults_);
  }

 private:
  void judge(const ConfigMove& move, const YangState::Replaced& replaced) {
    const YangNode* const now = tree_.row(move.table, move.key);
    if (now != nullptr) judge_row(*now);
    judge_table(*tree_.table(move.table));
    changed_ = changed_kinds(replaced.before.get(), now);
    judged_rows_.clear();
    for (std::size_t i = 0; i < changed_.size(); ++i) judge_lookers(changed_[i]);
    for (const Kind kind : changed_) judge_referrers(kind, replaced.before.get());
  }

  // What differs between two states of a row; all of it where one of them is not there.
  static std::vector<Kind> changed_kinds(const YangNode* before, const YangNode* now) {
    std::multiset<std::pair<Kind, std::string>> was;
    std::multiset<std::pair<Kind, std::string>> is;
    const auto add = [](const YangNode* row, auto& out) {
      if (row != nullptr)
        each_below(*row, [&out, row](const YangNode& node) {
          out.emplace(node.kind, &node == row ? std::string() : node.value);
        });
    };
    add(before, was);
    add(now, is);
    std::vector<std::pair<Kind, std::string>> differ;
    std::ranges::set_symmetric_difference(was, is, std::back_inserter(differ));
    std::vector<Kind> out;
    for (const auto& [kind, value] : differ)
      if (std::ranges::find(out, kind) == out.end()) out.push_back(kind);
    return out;
  }

  void judge_row(const YangNode& row) {
    each_below(row, [this](const YangNode& node) { judge_node(node); });
    if (row.kind->nodetype != LYS_LIST) return;
    if (tree_.has_twin(row)) fault(row, "another row has the same key");
    for (const auto& leaves : rules_.of(row.kind)->uniques) judge_unique(row, leaves);
  }

  void judge_node(const YangNode& node) {
    const YangNodeRules* const rules = rules_.of(node.kind);
    if (rules == nullptr) return;
    if (node.implied && !tree_.applies(node)) return;
    if (!node.implied)
      for (const YangRule& when : rules->whens) judge_rule(when, node);
    for (const YangRule& must : rules->musts) judge_rule(must, node);
    if (rules->reference != nullptr) judge_reference(*rules->reference, node);
    for (const Kind kind : rules->mandatory)
      if (node.leaf(kind) == nullptr && may_be_there(kind, node))
        fault(node, "it must be there, and is not", kind->name);
    for (const Kind choice : rules->choices) judge_choice(node, *choice);
    judge_counts(node, *rules);
    judge_repeated(node);
  }

  // Nodes of one of its cases only.
  void judge_choice(const YangNode& node, const lysc_node& choice) {
    const YangNode* first = nullptr;
    for (const auto& child : node.children) {
      const Kind of_case = child->kind->parent;
      if (of_case == nullptr || of_case->parent != &choice) continue;
      if (first == nullptr)
        first = child.get();
      else if (first->kind->parent != of_case)
        return fault(node, std::string("not together with ") + first->kind->name, child->kind->name);
    }
    if (first == nullptr && (choice.flags & LYS_MAND_TRUE) != 0)
      fault(node, std::string("it must have one of the choice ") + choice.name);
  }

  // Rules of a table, and numbers of its rows.
  void judge_table(const YangNode& table) {
    const YangNodeRules* const rules = rules_.of(table.kind);
    if (rules == nullptr) return;
    judge_counts(table, *rules);
    if (tree_.is_empty(table)) return;
    for (const YangRule& when : rules->whens) judge_rule(when, table);
    for (const YangRule& must : rules->musts) judge_rule(must, table);
  }

  void judge_rule(const YangRule& rule, const YangNode& node) {
    const YangNode& at = rule.at_parent ? *node.parent : node;
    if (!holds(rule.expression, at, tree_)) fault(node, rule.message);
  }

  bool may_be_there(Kind kind, const YangNode& parent) const {
    YangNode absent{.kind = kind, .implied = true};
    absent.parent = const_cast<YangNode*>(&parent);  // it is read only
    return tree_.applies(absent);
  }

  void judge_counts(const YangNode& node, const YangNodeRules& rules) {
    for (const Kind kind : rules.counted) {
      std::size_t count = 0;
      node.each_child(kind, [&count](const YangNode&) { ++count; });
      const EntryLimits limits = entry_limits(*kind);
      if (count > limits.most)
        fault(node, "more than " + std::to_string(limits.most) + " entries", kind->name);
      if (count < limits.least && may_be_there(kind, node))
        fault(node, "fewer than " + std::to_string(limits.least) + " entries", kind->name);
    }
  }

  // Members of a list that are there twice.
  void judge_repeated(const YangNode& node) {
    std::set<std::pair<Kind, std::string>> seen;
    for (const auto& child : node.children) {
      if ((child->kind->nodetype & (LYS_LEAFLIST | LYS_LIST)) == 0) continue;
      std::string name = child->value;
      if (child->kind->nodetype == LYS_LIST) name = keys_text(*child);
      if (!seen.emplace(child->kind, name).second) fault(*child, "'" + name + "' is there twice");
    }
  }

  void judge_unique(const YangNode& row, const std::vector<Kind>& leaves) {
    const auto values = [&leaves](const YangNode& of) {
      std::optional<std::vector<std::string>> out(std::in_place);
      for (const Kind leaf : leaves) {
        const YangNode* const found = of.leaf(leaf);
        if (found == nullptr) return std::optional<std::vector<std::string>>();
        out->push_back(found->value);
      }
      return out;
    };
    const auto own = values(row);
    if (!own) return;
    row.parent->each_child(row.kind, [&](const YangNode& other) {
      if (&other != &row && values(other) == own)
        fault(row, "row " + other.value + " has the same " + leaves.front()->name);
    });
  }

  void judge_reference(const YangReference& reference, const YangNode& node) {
    if (!tree_.is_satisfied(reference, node)) dangles(reference, node);
  }

  void dangles(const YangReference& reference, const YangNode& node) {
    std::string tables;
    for (const YangReference::Target& target : reference.targets)
      if (tables.find(target.table) == tables.npos) tables += (tables.empty() ? "" : " or ") + target.table;
    fault(node, "there is no " + node.value + " in " + tables);
  }

  void judge_lookers(Kind kind) {
    const auto found = rules_.lookers.find(kind);
    if (found == rules_.lookers.end()) return;
    for (const YangRule* const rule : found->second) {
      const Kind row = row_kind(rule->kind);
      if (row == nullptr) {
        tree_.each_of(rule->kind, [this](const YangNode& table) { judge_table(table); });
        continue;
      }
      // Where a default comes or goes, what looks at it is affected as well.
      const bool is_when = std::ranges::any_of(rules_.of(rule->kind)->whens,
                                               [rule](const YangRule& one) { return &one == rule; });
      if (!is_when) {
        tree_.each_of(rule->kind, [&](const YangNode& node) {
          if (!node.implied || tree_.applies(node)) judge_rule(*rule, node);
        });
        continue;
      }
      if (std::ranges::find(changed_, rule->kind) == changed_.end()) changed_.push_back(rule->kind);
      if (judged_rows_.insert(row).second)
        tree_.each_of(row, [this](const YangNode& node) { judge_row(node); });
    }
  }

  void judge_referrers(Kind kind, const YangNode* before) {
    const auto found = rules_.referrers.find(kind);
    if (found == rules_.referrers.end()) return;
    std::set<std::string> gone;
    if (before != nullptr)
      each_below(*before, [&](const YangNode& node) {
        if (node.kind == kind && tree_.rows_by(kind, node.value) == nullptr) gone.insert(node.value);
      });
    for (const YangReference* const reference : found->second) {
      const bool is_whole = std::ranges::all_of(reference->targets, &YangReference::Target::is_whole);
      const bool is_affected = !is_whole || std::ranges::any_of(gone, [&](const std::string& value) {
        return tree_.refers(*reference, value);
      });
      if (is_affected)
        tree_.each_of(reference->kind, [&](const YangNode& node) { judge_reference(*reference, node); });
    }
  }

  void fault(const YangNode& node, std::string message, std::string field = {}) {
    ConfigFault made = tree_.place_of(node);
    if (!field.empty()) (made.key.empty() ? made.key : made.field) = std::move(field);
    made.message = std::move(message);
    if (std::ranges::find(faults_, made) == faults_.end()) faults_.push_back(std::move(made));
  }

  const YangRules& rules_;
  YangState tree_;
  ConfigDb config_;
  std::vector<Kind> changed_;
  std::set<Kind> judged_rows_;
  std::vector<ConfigFault> faults_;
};

}  // namespace

std::unique_ptr<StateCheck> check_changed_rows(const YangModels& models, ConfigDb from) {
  if (!models.rules()) return nullptr;
  auto check = std::make_unique<ChangedRows>(models.schema(), *models.rules(), std::move(from));
  if (!check->begin()) return nullptr;
  return check;
}

}  // namespace lockstep::sonic
