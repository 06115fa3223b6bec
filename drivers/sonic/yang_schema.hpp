// YangSchema: a folder of SONiC's YANG models in libyang, and the tables of CONFIG_DB that they describe.
//
// Promises: reads only the .yang files of the folder and of the folders in it, each bounded, and waits for
// none of them. Refuses (invalid_spec): a folder without models, two models of one name, a model that libyang
// does not accept, with its words.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/sonic/libyang.hpp"
#include "specs/model/result.hpp"

namespace lockstep::sonic {

inline constexpr std::size_t kKeysMax = 8;  // keys of one list; SONiC's models have up to 4

// A container in the container of a module, which is called as the module is.
struct YangTable {
  const lysc_node* module = nullptr;
  const lysc_node* table = nullptr;
  std::vector<const lysc_node*> lists;  // of rows, in the order of the model
};

struct YangSchema {
  YangContext context;
  std::vector<const lys_module*> modules;
  std::map<std::string, YangTable, std::less<>> tables;
};

Result<YangSchema> load_yang_schema(const std::string& folder);

// The data node below `parent` that is called so, also in a choice; null: there is none.
const lysc_node* child_of(const lysc_node& parent, std::string_view name);
// The kind of row that a node of the models is in, or is; null: it is above rows.
const lysc_node* row_kind(const lysc_node* kind);
// Names of a list's keys, in their order.
std::vector<const lysc_node*> keys_of(const lysc_node& list);

}  // namespace lockstep::sonic
