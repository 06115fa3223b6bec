// YangRules: what SONiC's models say of each of their nodes, compiled so that it can be judged row by row
// (incremental_check.hpp).
//
// Promises: has everything that libyang judges of configuration in these models: types are judged by libyang
// itself when a row is translated; here are must, when, mandatory, the least and greatest number of entries,
// unique, choices, keys and references. Refuses (unsupported), naming it, what it has no rule for: in choices
// other choices, defaults and what must be there, unique of what is deeper, and expressions beyond
// yang_expression.hpp.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "drivers/sonic/yang_expression.hpp"

namespace lockstep::sonic {

struct YangRule {
  YangExpression expression;
  std::string message;  // what is wrong where it does not hold
  const lysc_node* kind = nullptr;
  bool at_parent = false;  // a when that is judged at the parent of its node
};

// A value that must be that of another node.
struct YangReference {
  struct Target {
    YangExpression path;
    const lysc_node* leaf = nullptr;
    std::string table;
    // All instances of the leaf are meant, wherever the reference is.
    bool is_whole = false;
  };
  const lysc_node* kind = nullptr;
  std::vector<Target> targets;  // one of them has it
  // A union's members that are no references: a value that one of them accepts needs no target.
  std::vector<const lysc_type*> others;
};

struct YangNodeRules {
  std::vector<YangRule> musts;
  std::vector<YangRule> whens;
  const YangReference* reference = nullptr;
  // Of a container or an entry.
  std::vector<const lysc_node*> mandatory;
  std::vector<const lysc_node*> with_default;
  std::vector<const lysc_node*> choices;
  std::vector<const lysc_node*> counted;  // lists and leaf-lists with a least or greatest number
  std::vector<std::vector<const lysc_node*>> uniques;
};

struct YangRules {
  std::unordered_map<const lysc_node*, YangNodeRules> nodes;
  std::vector<std::unique_ptr<YangReference>> references;
  // By a node of the models: the rules elsewhere that look at it.
  std::unordered_map<const lysc_node*, std::vector<const YangRule*>> lookers;
  std::unordered_map<const lysc_node*, std::vector<const YangReference*>> referrers;
  std::vector<const lysc_node*> indexed;  // leaves by which rows are found

  const YangNodeRules* of(const lysc_node* kind) const {
    const auto found = nodes.find(kind);
    return found == nodes.end() ? nullptr : &found->second;
  }
};

Result<YangRules> compile_yang_rules(const YangSchema& schema);

// Least and greatest number of entries of a list or leaf-list.
struct EntryLimits {
  std::size_t least;
  std::size_t most;
};
EntryLimits entry_limits(const lysc_node& kind);

}  // namespace lockstep::sonic
