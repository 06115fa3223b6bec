#include "drivers/sonic/yang_rules.hpp"

#include <algorithm>
#include <limits>

#include "drivers/sonic/text_parts.hpp"

namespace lockstep::sonic {
namespace {

const lysc_type* type_of(const lysc_node& kind) {
  return kind.nodetype == LYS_LEAF ? reinterpret_cast<const lysc_node_leaf&>(kind).type
                                   : reinterpret_cast<const lysc_node_leaflist&>(kind).type;
}

class Compilation {
 public:
  explicit Compilation(const YangSchema& schema) : schema_(schema) {}

  Result<YangRules> all() {
    for (const auto& [name, table] : schema_.tables) TRY_DONE(node(*table.table));
    link();
    return std::move(rules_);
  }

 private:
  Result<Done> node(const lysc_node& kind) {
    YangNodeRules& rules = rules_.nodes[&kind];  // stays where it is while others are added
    TRY_DONE(conditions(kind, rules));
    if ((kind.nodetype & (LYS_LEAF | LYS_LEAFLIST)) != 0) return value(kind, rules);
    TRY_DONE(choices(kind, rules));
    const lysc_node* child = nullptr;
    while ((child = lys_getnext(child, &kind, nullptr, 0)) != nullptr) {
      if ((child->nodetype & (LYS_CONTAINER | LYS_LIST | LYS_LEAF | LYS_LEAFLIST)) == 0)
        return Error{ErrorKind::unsupported, std::string(kind.module->name) + ": " + child->name +
                                                 " is of a kind that is not judged row by row"};
      const auto& leaf = reinterpret_cast<const lysc_node_leaf&>(*child);
      const bool is_mandatory =
          child->nodetype == LYS_LEAF && (child->flags & LYS_MAND_TRUE) != 0 && !lysc_is_key(child);
      const bool is_counted =
          (child->nodetype & (LYS_LIST | LYS_LEAFLIST)) != 0 && entry_limits(*child).least != 0;
      if ((is_mandatory || is_counted) && child->parent != &kind)
        return Error{ErrorKind::unsupported, std::string(kind.module->name) + ": " + child->name +
                                                 " must be there in its case of a choice"};
      if (is_mandatory) rules.mandatory.push_back(child);
      const bool has_default = child->nodetype == LYS_LEAF
                                   ? leaf.dflt != nullptr
                                   : child->nodetype == LYS_LEAFLIST &&
                                         reinterpret_cast<const lysc_node_leaflist&>(*child).dflts != nullptr;
      if (has_default && child->parent != &kind)
        return Error{ErrorKind::unsupported,
                     std::string(kind.module->name) + ": " + child->name + " of a choice has a default"};
      if (has_default) rules.with_default.push_back(child);
      if ((child->nodetype & (LYS_LIST | LYS_LEAFLIST)) != 0) {
        const EntryLimits limits = entry_limits(*child);
        if (limits.least != 0 || limits.most != std::numeric_limits<std::uint32_t>::max())
          rules.counted.push_back(child);
      }
      TRY_DONE(node(*child));
    }
    if (kind.nodetype == LYS_LIST) return uniques(reinterpret_cast<const lysc_node_list&>(kind), rules);
    return Done{};
  }

  static Result<Done> choices(const lysc_node& kind, YangNodeRules& rules) {
    const lysc_node* child = nullptr;
    while ((child = lys_getnext(child, &kind, nullptr, LYS_GETNEXT_WITHCHOICE)) != nullptr) {
      if (child->nodetype != LYS_CHOICE) continue;
      for (const lysc_node* below = nullptr; (below = lys_getnext(below, child, nullptr, 0)) != nullptr;)
        if (below->parent->parent != child)
          return Error{ErrorKind::unsupported,
                       std::string(kind.module->name) + ": a choice in the choice " + child->name};
      if ((child->flags & LYS_MAND_TRUE) != 0 && lysc_node_when(child) != nullptr)
        return Error{ErrorKind::unsupported, std::string(kind.module->name) + ": the choice " + child->name +
                                                 " must be made under a condition"};
      rules.choices.push_back(child);
    }
    return Done{};
  }

  static Result<Done> uniques(const lysc_node_list& list, YangNodeRules& rules) {
    LY_ARRAY_COUNT_TYPE i = 0;
    LY_ARRAY_FOR(list.uniques, i) {
      std::vector<const lysc_node*> leaves;
      LY_ARRAY_COUNT_TYPE j = 0;
      LY_ARRAY_FOR(list.uniques[i], j) {
        leaves.push_back(reinterpret_cast<const lysc_node*>(list.uniques[i][j]));
        if (leaves.back()->parent != &list.node)
          return Error{ErrorKind::unsupported, std::string(list.module->name) + ": unique of " +
                                                   leaves.back()->name + ", which is deeper"};
      }
      rules.uniques.push_back(std::move(leaves));
    }
    return Done{};
  }

  Result<Done> conditions(const lysc_node& kind, YangNodeRules& rules) {
    const lysc_must* const musts = lysc_node_musts(&kind);
    LY_ARRAY_COUNT_TYPE i = 0;
    LY_ARRAY_FOR(musts, i) {
      const char* const text = lyxp_get_expr(musts[i].cond);
      TRY(YangExpression expression, parse_yang_expression(text, kind, schema_));
      rules.musts.push_back(
          {std::move(expression),
           musts[i].emsg != nullptr ? musts[i].emsg : "this does not hold: " + in_one_line(text), &kind});
    }
    TRY_DONE(add_whens(kind, kind, rules));
    for (const lysc_node* above = kind.parent;
         above != nullptr && (above->nodetype & (LYS_CHOICE | LYS_CASE)) != 0; above = above->parent)
      TRY_DONE(add_whens(*above, kind, rules));
    return Done{};
  }

  // Conditions of `owner`, which is the kind itself or a choice or case that it is in.
  Result<Done> add_whens(const lysc_node& owner, const lysc_node& kind, YangNodeRules& rules) {
    lysc_when** const whens = lysc_node_when(&owner);
    LY_ARRAY_COUNT_TYPE i = 0;
    LY_ARRAY_FOR(whens, i) {
      const bool at_parent = whens[i]->context != &kind;
      if (at_parent && (whens[i]->context == nullptr || whens[i]->context != lysc_data_parent(&kind)))
        return Error{ErrorKind::unsupported, std::string(kind.module->name) + ": the condition of " +
                                                 kind.name + " is judged elsewhere"};
      const char* const text = lyxp_get_expr(whens[i]->cond);
      TRY(YangExpression expression, parse_yang_expression(text, *whens[i]->context, schema_));
      rules.whens.push_back(
          {std::move(expression), "it may be there only when " + in_one_line(text), &kind, at_parent});
    }
    return Done{};
  }

  Result<Done> value(const lysc_node& kind, YangNodeRules& rules) {
    auto reference = std::make_unique<YangReference>();
    reference->kind = &kind;
    const lysc_type* const type = type_of(kind);
    if (type->basetype == LY_TYPE_UNION) {
      const auto& all = reinterpret_cast<const lysc_type_union&>(*type);
      LY_ARRAY_COUNT_TYPE i = 0;
      LY_ARRAY_FOR(all.types, i) { TRY_DONE(member(*all.types[i], kind, *reference)); }
    } else if (type->basetype == LY_TYPE_LEAFREF) {
      TRY_DONE(member(*type, kind, *reference));
    } else if (type->basetype == LY_TYPE_INST) {
      return Error{ErrorKind::unsupported,
                   std::string(kind.module->name) + ": " + kind.name + " is an instance-identifier"};
    }
    if (reference->targets.empty()) return Done{};
    rules.reference = reference.get();
    rules_.references.push_back(std::move(reference));
    return Done{};
  }

  Result<Done> member(const lysc_type& type, const lysc_node& kind, YangReference& reference) {
    if (type.basetype != LY_TYPE_LEAFREF ||
        reinterpret_cast<const lysc_type_leafref&>(type).require_instance == 0) {
      reference.others.push_back(&type);
      return Done{};
    }
    const auto& leafref = reinterpret_cast<const lysc_type_leafref&>(type);
    TRY(YangExpression path, parse_yang_expression(lyxp_get_expr(leafref.path), kind, schema_));
    YangReference::Target target;
    target.leaf = path.steps.empty() ? nullptr : path.steps.back().kind;
    if (target.leaf == nullptr)
      return Error{ErrorKind::unsupported,
                   std::string(kind.module->name) + ": " + kind.name + " refers to nothing in the models"};
    const lysc_node* const row = row_kind(target.leaf);
    target.table = row == nullptr ? "" : lysc_data_parent(row)->name;
    target.is_whole = leads_to_all(path, kind);
    target.path = std::move(path);
    reference.targets.push_back(std::move(target));
    return Done{};
  }

  // Without predicates, and from above all rows.
  static bool leads_to_all(const YangExpression& path, const lysc_node& kind) {
    const lysc_node* top = path.start == YangExpression::Start::root ? nullptr : &kind;
    for (const YangStep& step : path.steps) {
      if (!step.predicates.empty()) return false;
      if (step.axis == YangStep::Axis::parent) top = step.kind;
    }
    return top == nullptr || row_kind(top) == nullptr;
  }

  // After all nodes are there, as pointers to rules stay from then on.
  void link() {
    for (auto& [kind, rules] : rules_.nodes) {
      for (const auto* const group : {&rules.musts, &rules.whens})
        for (const YangRule& rule : *group) {
          const lysc_node& at = rule.at_parent ? *lysc_data_parent(kind) : *kind;
          for (const lysc_node* const seen : looks_at(rule.expression, at))
            rules_.lookers[seen].push_back(&rule);
          add_indexed(finds_by(rule.expression));
        }
    }
    for (const auto& reference : rules_.references)
      for (const YangReference::Target& target : reference->targets) {
        add_indexed({target.leaf});
        add_indexed(finds_by(target.path));
        std::vector<const lysc_node*> seen{target.leaf};
        if (!target.is_whole) seen = looks_at(target.path, *reference->kind);
        for (const lysc_node* const one : seen) {
          auto& referrers = rules_.referrers[one];
          if (std::ranges::find(referrers, reference.get()) == referrers.end())
            referrers.push_back(reference.get());
        }
      }
  }

  void add_indexed(const std::vector<const lysc_node*>& leaves) {
    for (const lysc_node* const leaf : leaves)
      if (std::ranges::find(rules_.indexed, leaf) == rules_.indexed.end()) rules_.indexed.push_back(leaf);
  }

  const YangSchema& schema_;
  YangRules rules_;
};

}  // namespace

EntryLimits entry_limits(const lysc_node& kind) {
  std::uint32_t least = 0;
  std::uint32_t most = 0;
  if (kind.nodetype == LYS_LIST) {
    const auto& list = reinterpret_cast<const lysc_node_list&>(kind);
    least = list.min;
    most = list.max;
  } else {
    const auto& list = reinterpret_cast<const lysc_node_leaflist&>(kind);
    least = list.min;
    most = list.max;
  }
  // libyang has 0 where no greatest number is stated.
  return {least, most == 0 ? std::numeric_limits<std::uint32_t>::max() : most};
}

Result<YangRules> compile_yang_rules(const YangSchema& schema) { return Compilation(schema).all(); }

}  // namespace lockstep::sonic
