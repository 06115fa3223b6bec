#include "drivers/sonic/yang_validation.hpp"

#include <algorithm>

#include "drivers/sonic/text_parts.hpp"

namespace lockstep::sonic {
namespace {

// A part of a path of the models, without its prefix: "PORT" of "/prt:sonic-port/prt:PORT/prt:PORT_LIST".
std::string part_of_path(std::string_view path, std::size_t number) {
  for (std::size_t i = 0; i <= number; ++i) {
    const std::size_t slash = path.find('/');
    if (slash == path.npos) return {};
    path.remove_prefix(slash + 1);
  }
  path = path.substr(0, path.find_first_of("/["));
  return std::string(path.substr(path.find(':') + 1));  // npos + 1 is 0
}

// libyang's words, but for a dangling reference: `Invalid leafref value "AZURE" - no target instance
// "/dtm:sonic-dscp-tc-map/dtm:DSCP_TO_TC_MAP/..." with the same value`.
std::string message_of(const std::string& said, const lyd_node* node) {
  constexpr std::string_view kDangling = "Invalid leafref value \"";
  constexpr std::string_view kTarget = "no target instance \"";
  if (node == nullptr || !said.starts_with(kDangling)) return said;
  const std::size_t target = said.rfind(kTarget);
  const std::string table =
      target == said.npos ? "" : part_of_path(std::string_view(said).substr(target + kTarget.size()), 1);
  if (table.empty() || said[target + kTarget.size()] != '/') return said;
  return "there is no " + std::string(lyd_get_value(node)) + " in " + table;
}

class Validation {
 public:
  explicit Validation(YangData& data) : data_(data), context_(*data.schema().context) {}

  void all() {
    lyd_node* tree = data_.tree().release();
    // Before any model is judged, because rules of one may ask for defaults of another.
    LY_ERR failed = lyd_new_implicit_all(&tree, &context_, 0, nullptr);
    if (failed == LY_SUCCESS) failed = lyd_validate_all(&tree, &context_, 0, nullptr);
    data_.tree().reset(tree);
    if (failed == LY_SUCCESS) return;
    // libyang ends at the first fault.
    const YangMessage first = take_message(context_);
    const lyd_node* top = nullptr;
    LY_LIST_FOR(data_.tree().get(), top) { node_by_node(*top); }
    add_first(first);
  }

 private:
  void node_by_node(const lyd_node& top) {
    const lyd_node* node = nullptr;
    LYD_TREE_DFS_BEGIN(&top, node) {
      if ((node->flags & LYD_DEFAULT) == 0) {
        if ((node->schema->nodetype & LYD_NODE_TERM) != 0)
          value(*node);
        else
          mandatory(*node);
        rules(*node);
      }
      LYD_TREE_DFS_END(&top, node)
    }
  }

  // Values whose types need the whole tree.
  void value(const lyd_node& node) {
    const lysc_type* const type = reinterpret_cast<const lysc_node_leaf*>(node.schema)->type;
    const bool needs_tree = type->basetype == LY_TYPE_LEAFREF || type->basetype == LY_TYPE_UNION;
    if (!needs_tree) return;
    const std::string_view text = lyd_get_value(&node);
    const LY_ERR failed =
        lyd_value_validate(&context_, node.schema, text.data(), text.size(), &node, nullptr, nullptr);
    if (failed == LY_SUCCESS) return;
    std::string message = message_of(take_message(context_).text, &node);
    if (lysc_is_key(node.schema)) message = "the key's " + std::string(node.schema->name) + ": " + message;
    add(place_of(node), std::move(message));
  }

  void mandatory(const lyd_node& node) {
    const lysc_node* kind = nullptr;
    while ((kind = lys_getnext(kind, node.schema, nullptr, LYS_GETNEXT_NOCHOICE)) != nullptr) {
      const bool must = kind->nodetype == LYS_LEAF && (kind->flags & LYS_MAND_TRUE) != 0;
      if (!must || lysc_is_key(kind) || lysc_node_when(kind) != nullptr) continue;
      if (lyd_find_sibling_val(lyd_child(&node), kind, nullptr, 0, nullptr) == LY_SUCCESS) continue;
      ConfigPlace place = place_of(node);
      (place.key.empty() ? place.key : place.field) = kind->name;
      report(place, "it must be there, and is not");
    }
    (void)take_message(context_);
  }

  // What the model says must hold between this node and others.
  void rules(const lyd_node& node) {
    const lysc_must* const musts = lysc_node_musts(node.schema);
    LY_ARRAY_COUNT_TYPE i = 0;
    LY_ARRAY_FOR(musts, i) {
      const lysc_must& must = musts[i];
      ly_bool holds = 0;
      const char* const rule = lyxp_get_expr(must.cond);
      const LY_ERR failed = lyd_eval_xpath3(&node, node.schema->module, rule, LY_VALUE_SCHEMA_RESOLVED,
                                            must.prefixes, nullptr, &holds);
      if (failed != LY_SUCCESS || holds != 0) continue;
      report(place_of(node), must.emsg != nullptr ? must.emsg : "this does not hold: " + in_one_line(rule));
    }
    (void)take_message(context_);
  }

  // libyang's own finding, which may be of a kind that is not looked for node by node.
  void add_first(const YangMessage& said) {
    lyd_node* node = nullptr;
    if (!said.data_path.empty() && data_.tree())
      (void)lyd_find_path(data_.tree().get(), said.data_path.c_str(), 0, &node);
    (void)take_message(context_);
    const std::string& path = said.data_path.empty() ? said.schema_path : said.data_path;
    ConfigPlace place =
        node != nullptr ? place_of(*node) : ConfigPlace{part_of_path(path, 1), "", part_of_path(path, 3)};
    if (const lyd_node* const without = node == nullptr ? only_one_without(said.schema_path) : nullptr)
      place.key = place_of(*without).key;
    // Without its node, it is one of those in its table.
    const bool is_known = std::ranges::any_of(reported_, [&place, node](const ConfigPlace& one) {
      return one.table == place.table &&
             (node == nullptr || (one.key == place.key && one.field == place.field));
    });
    if (!is_known) report(place, message_of(said.text, node));
  }

  // The only row that lacks this field, which libyang names by its model alone; null: there are several.
  const lyd_node* only_one_without(const std::string& schema_path) const {
    const lysc_node* const field =
        schema_path.empty() ? nullptr : lys_find_path(&context_, nullptr, schema_path.c_str(), 0);
    const lyd_node* found = nullptr;
    const lyd_node* top = nullptr;
    LY_LIST_FOR(data_.tree().get(), top) {
      const lyd_node* node = nullptr;
      LYD_TREE_DFS_BEGIN(top, node) {
        if (field != nullptr && node->schema == field->parent &&
            lyd_find_sibling_val(lyd_child(node), field, nullptr, 0, nullptr) != LY_SUCCESS) {
          if (found != nullptr) return nullptr;
          found = node;
        }
        LYD_TREE_DFS_END(top, node)
      }
    }
    (void)take_message(context_);
    return found;
  }

  // What may follow from a value of the row that could not be translated is left out.
  void report(const ConfigPlace& place, std::string message) {
    if (!data_.has_misfit(place.table, place.key)) add(place, std::move(message));
  }

  void add(const ConfigPlace& place, std::string message) {
    reported_.push_back(place);
    data_.fault(place, std::move(message));
  }

  YangData& data_;
  const ly_ctx& context_;
  std::vector<ConfigPlace> reported_;
};

}  // namespace

void validate(YangData& data) {
  if (!data.lacks_rows()) Validation(data).all();
}

}  // namespace lockstep::sonic
