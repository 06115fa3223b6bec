#include "drivers/sonic/yang_state.hpp"

#include <libyang/plugins_types.h>

#include <algorithm>

#include "drivers/sonic/yang_translation.hpp"

namespace lockstep::sonic {
namespace {

std::unique_ptr<YangNode> made(const lysc_node& kind, YangNode* parent) {
  auto node = std::make_unique<YangNode>();
  node->kind = &kind;
  node->parent = parent;
  return node;
}

}  // namespace

std::string keys_text(const YangNode& entry) {
  std::string out;
  for (const auto& child : entry.children)
    if (lysc_is_key(child->kind)) out += (out.empty() ? "" : "|") + child->value;
  return out;
}

YangState::YangState(const YangSchema& schema, const YangRules& rules) : schema_(schema), rules_(rules) {
  for (const lysc_node* const leaf : rules.indexed) indexed_[leaf];
  std::map<const lysc_node*, YangNode*> modules;
  for (const auto& [name, table] : schema.tables) {
    YangNode*& module = modules[table.module];
    if (module == nullptr) module = root_.children.emplace_back(made(*table.module, &root_)).get();
    YangNode& node = *module->children.emplace_back(made(*table.table, module));
    tables_[name] = &node;
    add_defaults(node);
    for (const auto& row : node.children) index(*row, true);
  }
}

const lysc_node* YangState::single(const std::string& table, const std::string& key) const {
  const lysc_node* const kind = child_of(*tables_.at(table)->kind, key);
  return kind != nullptr && kind->nodetype == LYS_CONTAINER ? kind : nullptr;
}

const YangNode* YangState::row(const std::string& table, const std::string& key) const {
  const YangNode& in = *tables_.at(table);
  if (const lysc_node* const kind = single(table, key)) return in.leaf(kind);
  const auto found = in.rows.find(key);
  return found == in.rows.end() ? nullptr : found->second.get();
}

bool YangState::is_empty(const YangNode& table) const {
  return table.rows.empty() && std::ranges::all_of(table.children, &YangNode::implied);
}

// The row as the models have it: translated by itself, and copied.
std::unique_ptr<YangNode> YangState::translated(const ConfigMove& move,
                                                std::vector<ConfigFault>& faults) const {
  ConfigFindings findings;
  YangData data(schema_, findings);
  ConfigDb one;
  one.tables[move.table][move.key] = *move.row;
  translate(one, data);
  faults = std::move(findings.faults);
  if (!faults.empty()) return nullptr;
  YangNode& table = *tables_.at(move.table);
  const lyd_node* const row = lyd_child(lyd_child(data.tree().get()));
  if (row == nullptr) {  // a single row without fields is not made
    auto node = made(*single(move.table, move.key), &table);
    add_defaults(*node);
    node->value = move.key;
    return node;
  }
  auto node = copied(*row, table);
  node->value = move.key;
  return node;
}

std::unique_ptr<YangNode> YangState::copied(const lyd_node& from, YangNode& parent) const {
  auto node = made(*from.schema, &parent);
  if (node->has_value()) {
    node->value = lyd_get_value(&from);
    return node;
  }
  for (const lyd_node* child = lyd_child(&from); child != nullptr; child = child->next)
    node->children.push_back(copied(*child, *node));
  add_defaults(*node);
  return node;
}

void YangState::add_defaults(YangNode& node) const {
  const YangNodeRules* const rules = rules_.of(node.kind);
  if (rules == nullptr) return;
  const auto add = [&](const lysc_node& kind, const lyd_value& value) {
    auto leaf = made(kind, &node);
    leaf->value = lyd_value_get_canonical(schema_.context.get(), &value);
    leaf->implied = true;
    node.children.push_back(std::move(leaf));
  };
  for (const lysc_node* const kind : rules->with_default) {
    if (node.leaf(kind) != nullptr) continue;
    if (kind->nodetype == LYS_LEAF) {
      add(*kind, *reinterpret_cast<const lysc_node_leaf&>(*kind).dflt);
      continue;
    }
    lyd_value** const all = reinterpret_cast<const lysc_node_leaflist&>(*kind).dflts;
    LY_ARRAY_COUNT_TYPE i = 0;
    LY_ARRAY_FOR(all, i) { add(*kind, *all[i]); }
  }
  const lysc_node* child = nullptr;
  while ((child = lys_getnext(child, node.kind, nullptr, 0)) != nullptr) {
    if (child->nodetype != LYS_CONTAINER || (child->flags & LYS_PRESENCE) != 0 || node.leaf(child) != nullptr)
      continue;
    YangNode& inner = *node.children.emplace_back(made(*child, &node));
    inner.implied = true;
    inner.value = child->name;
    add_defaults(inner);
  }
}

YangState::Replaced YangState::replace(const ConfigMove& move) {
  Replaced out;
  std::unique_ptr<YangNode> row;
  if (move.row) row = translated(move, out.faults);
  if (!out.faults.empty()) return out;
  out.before = put(move, std::move(row));
  return out;
}

void YangState::restore(const ConfigMove& move, Replaced replaced) {
  (void)put(move, std::move(replaced.before));
}

std::unique_ptr<YangNode> YangState::put(const ConfigMove& at, std::unique_ptr<YangNode> row) {
  YangNode& table = *tables_.at(at.table);
  std::unique_ptr<YangNode> before;
  if (const lysc_node* const kind = single(at.table, at.key)) {
    const auto found = std::ranges::find(table.children, kind, [](const auto& one) { return one->kind; });
    if (row == nullptr) {
      row = made(*kind, &table);
      row->implied = true;
      row->value = at.key;
      add_defaults(*row);
    }
    before = std::exchange(*found, std::move(row));
    index(*before, false);
    index(**found, true);
    return before;
  }
  const auto found = table.rows.find(at.key);
  if (found != table.rows.end()) {
    before = std::move(found->second);
    index(*before, false);
  }
  if (row == nullptr) {
    if (found != table.rows.end()) table.rows.erase(found);
    return before;
  }
  index(*row, true);
  table.rows[at.key] = std::move(row);
  return before;
}

void YangState::index(const YangNode& row, bool there) {
  const auto count = [there](auto& counts, const std::string& value) {
    if (there) return void(++counts[value]);
    const auto found = counts.find(value);
    if (--found->second == 0) counts.erase(found);
  };
  if (row.kind->nodetype == LYS_LIST) count(keys_[row.kind], keys_text(row));
  each_below(row, [&](const YangNode& node) {
    const YangNodeRules* const rules = rules_.of(node.kind);
    if (rules == nullptr || !node.has_value()) return;
    if (rules->reference != nullptr) count(referred_[rules->reference], node.value);
    const auto leaf = indexed_.find(node.kind);
    if (leaf == indexed_.end() || (node.implied && !rules->whens.empty())) return;
    auto& rows = leaf->second[node.value];
    if (there)
      rows.push_back(node.parent);
    else
      std::erase(rows, node.parent);
    if (rows.empty()) leaf->second.erase(node.value);
  });
}

bool YangState::has_twin(const YangNode& row) const {
  const auto list = keys_.find(row.kind);
  const auto found = list->second.find(keys_text(row));
  return found != list->second.end() && found->second > 1;
}

bool YangState::is_satisfied(const YangReference& reference, const YangNode& node) const {
  for (const lysc_type* const type : reference.others)
    if (accepts(*type, node)) return true;
  return std::ranges::any_of(reference.targets, [&](const YangReference::Target& target) {
    if (target.is_whole) return rows_by(target.leaf, node.value) != nullptr;
    return std::ranges::any_of(nodes_of(target.path, node, *this),
                               [&node](const YangNode* one) { return one->value == node.value; });
  });
}

bool YangState::refers(const YangReference& reference, const std::string& value) const {
  const auto found = referred_.find(&reference);
  return found != referred_.end() && found->second.contains(value);
}

bool YangState::accepts(const lysc_type& type, const YangNode& node) const {
  const auto [known, is_new] = accepted_.try_emplace({&type, node.value}, false);
  if (!is_new) return known->second;
  lyd_value value{};
  ly_err_item* error = nullptr;
  const LY_ERR stored =
      type.plugin->store(schema_.context.get(), &type, node.value.data(), node.value.size(), 0, LY_VALUE_JSON,
                         nullptr, LYD_HINT_DATA, node.kind, &value, nullptr, &error);
  ly_err_free(error);
  known->second = stored == LY_SUCCESS || stored == LY_EINCOMPLETE;
  if (known->second && type.plugin->free != nullptr) type.plugin->free(schema_.context.get(), &value);
  return known->second;
}

void YangState::each_of(const lysc_node* kind, const std::function<void(const YangNode&)>& each) const {
  const lysc_node* const row = row_kind(kind);
  const YangNode& table = *tables_.at(row == nullptr ? kind->name : row->parent->name);
  if (row == nullptr) return each(table);
  table.each_child(row, [&](const YangNode& one) {
    each_below(one, [&](const YangNode& node) {
      if (node.kind == kind) each(node);
    });
  });
}

const std::vector<const YangNode*>* YangState::rows_by(const lysc_node* leaf,
                                                       const std::string& value) const {
  const auto values = indexed_.find(leaf);
  if (values == indexed_.end()) return nullptr;
  const auto found = values->second.find(value);
  return found == values->second.end() ? nullptr : &found->second;
}

bool YangState::applies(const YangNode& implied) const {
  const YangNodeRules* const rules = rules_.of(implied.kind);
  return rules == nullptr || std::ranges::all_of(rules->whens, [&](const YangRule& when) {
           return holds(when.expression, when.at_parent ? *implied.parent : implied, *this);
         });
}

ConfigFault YangState::place_of(const YangNode& node) const {
  std::vector<const YangNode*> chain;  // root, module, table, row, field, and in a map its value
  for (const YangNode* at = &node; at != nullptr; at = at->parent) chain.insert(chain.begin(), at);
  ConfigFault place;
  if (chain.size() > 2) place.table = chain[2]->kind->name;
  if (chain.size() > 3) place.key = chain[3]->value;
  if (chain.size() > 4 && !lysc_is_key(chain[4]->kind))
    place.field = chain[4]->kind->nodetype == LYS_LIST ? keys_text(*chain[4]) : chain[4]->kind->name;
  return place;
}

}  // namespace lockstep::sonic
