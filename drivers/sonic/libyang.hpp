// Owners of libyang's objects, and what it says of them.
#pragma once

#include <libyang/libyang.h>

#include <memory>
#include <string>
#include <string_view>

namespace lockstep::sonic {

struct FreesContext {
  void operator()(ly_ctx* context) const { ly_ctx_destroy(context); }
};
using YangContext = std::unique_ptr<ly_ctx, FreesContext>;

// All of a data tree, by any of its nodes.
struct FreesTree {
  void operator()(lyd_node* node) const { lyd_free_all(node); }
};
using YangTree = std::unique_ptr<lyd_node, FreesTree>;

// From now on, in this process, libyang's errors stay in the context that they are of, and nothing is written
// to standard error. (Of this version, the options of one thread, ly_temp_log_options, do not stop that.)
void keep_yang_messages();

struct YangMessage {
  std::string text;         // one line; empty: there was none
  std::string data_path;    // of the data node at fault; empty: not a data node
  std::string schema_path;  // the same in the models
};
// The first error since the last call: later ones follow from it. Removes all.
YangMessage take_message(const ly_ctx& context);

}  // namespace lockstep::sonic
