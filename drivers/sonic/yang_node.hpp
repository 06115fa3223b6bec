// YangNode: a configuration in the form of SONiC's YANG models, as a tree of our own: rows can be replaced
// one by one, and are found by their CONFIG_DB key. libyang's trees can't be searched by a row's key, and
// lose memory.
//
// Promises: values are canonical, as libyang prints them. The single rows of a table (DEVICE_METADATA
// localhost) and the defaults of each row are always there, as the models have it.
#pragma once

#include <libyang/libyang.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace lockstep::sonic {

struct YangNode {
  const lysc_node* kind = nullptr;  // null: the root
  YangNode* parent = nullptr;
  std::string value = {};  // of a leaf or a member of a leaf-list
  bool implied = false;    // a default
  std::vector<std::unique_ptr<YangNode>> children = {};
  // Of a table: its rows by CONFIG_DB key, in the order in which a whole translation adds them.
  std::map<std::string, std::unique_ptr<YangNode>, std::less<>> rows = {};

  bool has_value() const { return kind != nullptr && (kind->nodetype & (LYS_LEAF | LYS_LEAFLIST)) != 0; }

  // Calls `each` for every child of this kind.
  template <class Each>
  void each_child(const lysc_node* wanted, Each each) const {
    for (const auto& child : children)
      if (child->kind == wanted) each(*child);
    for (const auto& [key, row] : rows)
      if (row->kind == wanted) each(*row);
  }
  // The one value of a leaf; null: it has none, and no default.
  const YangNode* leaf(const lysc_node* wanted) const {
    for (const auto& child : children)
      if (child->kind == wanted) return child.get();
    return nullptr;
  }
};

// Calls `each` for this node and every node below it.
template <class Node, class Each>
void each_below(Node& node, Each each) {
  each(node);
  for (const auto& child : node.children) each_below(*child, each);
  for (const auto& [key, row] : node.rows) each_below(*row, each);
}

}  // namespace lockstep::sonic
