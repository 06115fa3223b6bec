// libyang for a program that must start where it is not installed (lockstep-agent): the functions that this
// folder calls, each passed on to a libyang that is loaded at the first call. Debian has no archive of it.
#include <dlfcn.h>

#include <array>
#include <cstdarg>
#include <cstdlib>
#include <type_traits>

#include "drivers/sonic/libyang.hpp"
#include "drivers/sonic/yang_models.hpp"
#include "drivers/sonic/yang_schema.hpp"

namespace lockstep::sonic {
namespace {

// The name by which libyang 2 is installed: another number would have other structures.
constexpr const char* kLibrary = "libyang.so.2";

constexpr const char* kFunctions[] = {"ly_ctx_compile",
                                      "ly_ctx_destroy",
                                      "ly_ctx_get_module_implemented",
                                      "ly_ctx_load_module",
                                      "ly_ctx_new",
                                      "ly_ctx_set_module_imp_clb",
                                      "ly_err_clean",
                                      "ly_err_first",
                                      "ly_err_free",
                                      "ly_log_level",
                                      "ly_log_options",
                                      "lyd_eval_xpath3",
                                      "lyd_find_path",
                                      "lyd_find_sibling_val",
                                      "lyd_free_all",
                                      "lyd_insert_sibling",
                                      "lyd_new_implicit_all",
                                      "lyd_new_inner",
                                      "lyd_new_list",
                                      "lyd_new_term",
                                      "lyd_validate_all",
                                      "lyd_value_get_canonical",
                                      "lyd_value_validate",
                                      "lys_find_child",
                                      "lys_find_path",
                                      "lys_getnext",
                                      "lysc_data_node",
                                      "lysc_node_musts",
                                      "lysc_node_when",
                                      "lyxp_get_expr"};

struct Loaded {
  Loaded() {
    if (handle == nullptr) why = ::dlerror();
    for (const char* const name : kFunctions)
      if (why.empty() && ::dlsym(handle, name) == nullptr)
        why = std::string(kLibrary) + " has no " + name + ": it is older than 2.1";
  }
  void* handle = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  std::string why;
};
const Loaded& loaded() {
  static const Loaded once;
  return once;
}

// Callers have asked why_no_libyang() before.
template <class Function>
Function* found(const char* name) {
  void* const symbol = loaded().handle == nullptr ? nullptr : ::dlsym(loaded().handle, name);
  if (symbol == nullptr) std::abort();
  return reinterpret_cast<Function*>(symbol);
}

}  // namespace

std::string why_no_libyang() { return loaded().why; }

}  // namespace lockstep::sonic

// The function of the same name in the library.
#define THE_SAME(name) \
  static auto* const name##_there = lockstep::sonic::found<std::remove_pointer_t<decltype(&name)>>(#name)

extern "C" {

LY_ERR ly_ctx_compile(ly_ctx* ctx) {
  THE_SAME(ly_ctx_compile);
  return ly_ctx_compile_there(ctx);
}
void ly_ctx_destroy(ly_ctx* ctx) {
  THE_SAME(ly_ctx_destroy);
  ly_ctx_destroy_there(ctx);
}
lys_module* ly_ctx_get_module_implemented(const ly_ctx* ctx, const char* name) {
  THE_SAME(ly_ctx_get_module_implemented);
  return ly_ctx_get_module_implemented_there(ctx, name);
}
lys_module* ly_ctx_load_module(ly_ctx* ctx, const char* name, const char* revision, const char** features) {
  THE_SAME(ly_ctx_load_module);
  return ly_ctx_load_module_there(ctx, name, revision, features);
}
LY_ERR ly_ctx_new(const char* search_dir, std::uint16_t options, ly_ctx** new_ctx) {
  THE_SAME(ly_ctx_new);
  return ly_ctx_new_there(search_dir, options, new_ctx);
}
void ly_ctx_set_module_imp_clb(ly_ctx* ctx, ly_module_imp_clb clb, void* user_data) {
  THE_SAME(ly_ctx_set_module_imp_clb);
  ly_ctx_set_module_imp_clb_there(ctx, clb, user_data);
}
void ly_err_clean(ly_ctx* ctx, ly_err_item* eitem) {
  THE_SAME(ly_err_clean);
  ly_err_clean_there(ctx, eitem);
}
ly_err_item* ly_err_first(const ly_ctx* ctx) {
  THE_SAME(ly_err_first);
  return ly_err_first_there(ctx);
}
void ly_err_free(void* ptr) {
  THE_SAME(ly_err_free);
  ly_err_free_there(ptr);
}
LY_LOG_LEVEL ly_log_level(LY_LOG_LEVEL level) {
  THE_SAME(ly_log_level);
  return ly_log_level_there(level);
}
std::uint32_t ly_log_options(std::uint32_t opts) {
  THE_SAME(ly_log_options);
  return ly_log_options_there(opts);
}
LY_ERR lyd_eval_xpath3(const lyd_node* ctx_node, const lys_module* cur_mod, const char* xpath,
                       LY_VALUE_FORMAT format, void* prefix_data, const lyxp_var* vars, ly_bool* result) {
  THE_SAME(lyd_eval_xpath3);
  return lyd_eval_xpath3_there(ctx_node, cur_mod, xpath, format, prefix_data, vars, result);
}
LY_ERR lyd_find_path(const lyd_node* ctx_node, const char* path, ly_bool output, lyd_node** match) {
  THE_SAME(lyd_find_path);
  return lyd_find_path_there(ctx_node, path, output, match);
}
LY_ERR lyd_find_sibling_val(const lyd_node* siblings, const lysc_node* schema, const char* key_or_value,
                            std::size_t val_len, lyd_node** match) {
  THE_SAME(lyd_find_sibling_val);
  return lyd_find_sibling_val_there(siblings, schema, key_or_value, val_len, match);
}
void lyd_free_all(lyd_node* node) {
  THE_SAME(lyd_free_all);
  lyd_free_all_there(node);
}
LY_ERR lyd_insert_sibling(lyd_node* sibling, lyd_node* node, lyd_node** first) {
  THE_SAME(lyd_insert_sibling);
  return lyd_insert_sibling_there(sibling, node, first);
}
LY_ERR lyd_new_implicit_all(lyd_node** tree, const ly_ctx* ctx, std::uint32_t options, lyd_node** diff) {
  THE_SAME(lyd_new_implicit_all);
  return lyd_new_implicit_all_there(tree, ctx, options, diff);
}
LY_ERR lyd_new_inner(lyd_node* parent, const lys_module* module, const char* name, ly_bool output,
                     lyd_node** node) {
  THE_SAME(lyd_new_inner);
  return lyd_new_inner_there(parent, module, name, output, node);
}
// Called with kKeysMax keys always (yang_tree.cpp).
LY_ERR lyd_new_list(lyd_node* parent, const lys_module* module, const char* name, ly_bool output,
                    lyd_node** node, ...) {
  THE_SAME(lyd_new_list);
  std::array<const char*, lockstep::sonic::kKeysMax> k{};
  va_list keys;
  va_start(keys, node);
  for (const char*& key : k) key = va_arg(keys, const char*);
  va_end(keys);
  return lyd_new_list_there(parent, module, name, output, node, k[0], k[1], k[2], k[3], k[4], k[5], k[6],
                            k[7]);
}
LY_ERR lyd_new_term(lyd_node* parent, const lys_module* module, const char* name, const char* val_str,
                    ly_bool output, lyd_node** node) {
  THE_SAME(lyd_new_term);
  return lyd_new_term_there(parent, module, name, val_str, output, node);
}
LY_ERR lyd_validate_all(lyd_node** tree, const ly_ctx* ctx, std::uint32_t val_opts, lyd_node** diff) {
  THE_SAME(lyd_validate_all);
  return lyd_validate_all_there(tree, ctx, val_opts, diff);
}
const char* lyd_value_get_canonical(const ly_ctx* ctx, const lyd_value* value) {
  THE_SAME(lyd_value_get_canonical);
  return lyd_value_get_canonical_there(ctx, value);
}
LY_ERR lyd_value_validate(const ly_ctx* ctx, const lysc_node* schema, const char* value,
                          std::size_t value_len, const lyd_node* ctx_node, const lysc_type** realtype,
                          const char** canonical) {
  THE_SAME(lyd_value_validate);
  return lyd_value_validate_there(ctx, schema, value, value_len, ctx_node, realtype, canonical);
}
const lysc_node* lys_find_child(const lysc_node* parent, const lys_module* module, const char* name,
                                std::size_t name_len, std::uint16_t nodetype, std::uint32_t options) {
  THE_SAME(lys_find_child);
  return lys_find_child_there(parent, module, name, name_len, nodetype, options);
}
const lysc_node* lys_find_path(const ly_ctx* ctx, const lysc_node* ctx_node, const char* path,
                               ly_bool output) {
  THE_SAME(lys_find_path);
  return lys_find_path_there(ctx, ctx_node, path, output);
}
const lysc_node* lys_getnext(const lysc_node* last, const lysc_node* parent, const lysc_module* module,
                             std::uint32_t options) {
  THE_SAME(lys_getnext);
  return lys_getnext_there(last, parent, module, options);
}
const lysc_node* lysc_data_node(const lysc_node* schema) {
  THE_SAME(lysc_data_node);
  return lysc_data_node_there(schema);
}
lysc_must* lysc_node_musts(const lysc_node* node) {
  THE_SAME(lysc_node_musts);
  return lysc_node_musts_there(node);
}
lysc_when** lysc_node_when(const lysc_node* node) {
  THE_SAME(lysc_node_when);
  return lysc_node_when_there(node);
}
const char* lyxp_get_expr(const lyxp_expr* path) {
  THE_SAME(lyxp_get_expr);
  return lyxp_get_expr_there(path);
}

}  // extern "C"
