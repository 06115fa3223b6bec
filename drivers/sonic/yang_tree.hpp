// YangData: a configuration as a libyang data tree, made node by node, so that a value of a wrong type is a
// fault with its place and the rest is checked as well.
//
// Promises: a number or a boolean may be given as a text. Faults go to the findings, with the place that the
// caller names.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "drivers/sonic/findings.hpp"
#include "drivers/sonic/yang_schema.hpp"

namespace lockstep::sonic {

// A row or a field of CONFIG_DB.
struct ConfigPlace {
  std::string table;
  std::string key;
  std::string field = {};
};

class YangData {
 public:
  YangData(const YangSchema& schema, ConfigFindings& findings) : schema_(schema), findings_(findings) {}

  const YangSchema& schema() const { return schema_; }
  YangTree& tree() { return tree_; }
  // Rows could not be translated: what refers to them only seems to dangle.
  bool lacks_rows() const { return lacks_rows_; }
  // A value of this row could not be translated: what else is wrong with it may follow from that.
  bool has_misfit(const std::string& table, const std::string& key) const {
    return misfits_.contains({table, key});
  }

  // The one container of this kind below `parent` (null: at the top).
  lyd_node* container(lyd_node* parent, const lysc_node& kind);
  // Null, with a fault: a key has the wrong form.
  lyd_node* entry(lyd_node* parent, const lysc_node& list, const std::vector<std::string>& keys,
                  const ConfigPlace& place);
  void leaf(lyd_node* parent, const lysc_node& kind, const std::string& value, const ConfigPlace& place);

  // What cannot be translated: a value, or a row that is then left out.
  void misfit(const ConfigPlace& place, std::string message);
  void misfit_row(const ConfigPlace& place, std::string message);
  // What is wrong with a value that was translated.
  void fault(const ConfigPlace& place, std::string message);

 private:
  const YangSchema& schema_;
  ConfigFindings& findings_;
  YangTree tree_;
  std::map<std::pair<const lyd_node*, const lysc_node*>, lyd_node*> containers_;
  std::set<std::pair<std::string, std::string>> misfits_;
  bool lacks_rows_ = false;
};

// Where a node of a tree is in CONFIG_DB.
ConfigPlace place_of(const lyd_node& node);

}  // namespace lockstep::sonic
