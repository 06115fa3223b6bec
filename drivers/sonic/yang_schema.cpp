#include "drivers/sonic/yang_schema.hpp"

#include <algorithm>
#include <filesystem>

#include "specs/files/read_file.hpp"

namespace lockstep::sonic {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kModelMax = 4U << 20;  // bytes; SONiC's largest has 0.1 MB
constexpr std::size_t kModelsMax = 2000;     // SONiC has 146

// Models by name ("sonic-port" of "sonic-port.yang" and of "sonic-port@2019-05-15.yang").
using ModelFiles = std::map<std::string, std::string, std::less<>>;
using ModelTexts = std::map<std::string, std::string, std::less<>>;

Result<Done> add_files(const fs::path& folder, bool also_below, ModelFiles& files) {
  std::error_code failed;
  fs::directory_iterator entries(folder, failed);
  for (; !failed && entries != fs::directory_iterator(); entries.increment(failed)) {
    const fs::path& path = entries->path();
    std::error_code unknown;
    if (also_below && fs::is_directory(entries->symlink_status(unknown))) {
      TRY_DONE(add_files(path, false, files));
      continue;
    }
    if (path.extension() != ".yang") continue;
    const std::string stem = path.stem().string();
    const auto [known, is_new] = files.emplace(stem.substr(0, stem.find('@')), path.string());
    if (!is_new)
      return Error{ErrorKind::invalid_spec,
                   "model " + known->first + " is there twice: " + known->second + " and " + path.string()};
    if (files.size() > kModelsMax)
      return Error{ErrorKind::invalid_spec,
                   "more than " + std::to_string(kModelsMax) + " models in " + folder.string()};
  }
  if (failed)
    return Error{ErrorKind::refused, "cannot read folder " + folder.string() + ": " + failed.message()};
  return Done{};
}

LY_ERR give_text(const char* name, const char*, const char* submodule, const char*, void* texts,
                 LYS_INFORMAT* format, const char** text, ly_module_imp_data_free_clb* frees) {
  const auto& all = *static_cast<const ModelTexts*>(texts);
  const auto found = all.find(std::string_view(submodule == nullptr ? name : submodule));
  if (found == all.end()) return LY_ENOTFOUND;
  *format = LYS_IN_YANG;
  *text = found->second.c_str();
  *frees = nullptr;
  return LY_SUCCESS;
}

Error refused(const std::string& model, const ly_ctx& context) {
  const YangMessage said = take_message(context);
  std::string what = model + ": libyang does not accept it: " + said.text;
  if (!said.schema_path.empty()) what += " (" + said.schema_path + ")";
  return Error{ErrorKind::invalid_spec, std::move(what)};
}

// The container of the module that has its name; null: it has none, and so no table.
const lysc_node* container_of(const lys_module& module) {
  if (module.compiled == nullptr) return nullptr;
  const lysc_node* node = nullptr;
  while ((node = lys_getnext(node, nullptr, module.compiled, 0)) != nullptr)
    if (node->nodetype == LYS_CONTAINER && std::string_view(node->name) == module.name) return node;
  return nullptr;
}

Result<Done> add_tables(const lys_module& module, std::map<std::string, YangTable, std::less<>>& tables) {
  const lysc_node* const container = container_of(module);
  const lysc_node* table = nullptr;
  while (container != nullptr && (table = lys_getnext(table, container, nullptr, 0)) != nullptr) {
    if (table->nodetype != LYS_CONTAINER) continue;
    YangTable known{container, table, {}};
    const lysc_node* row = nullptr;
    while ((row = lys_getnext(row, table, nullptr, 0)) != nullptr)
      if (row->nodetype == LYS_LIST) known.lists.push_back(row);
    for (const lysc_node* const list : known.lists)
      if (keys_of(*list).empty() || keys_of(*list).size() > kKeysMax)
        return Error{ErrorKind::invalid_spec, std::string(module.name) + ": list " + list->name + " has " +
                                                  std::to_string(keys_of(*list).size()) + " keys"};
    const auto [first, is_new] = tables.emplace(table->name, std::move(known));
    if (!is_new)
      return Error{ErrorKind::invalid_spec, "table " + first->first + " is in the models " +
                                                first->second.module->name + " and " + module.name};
  }
  return Done{};
}

Result<ModelTexts> read_texts(const std::string& folder) {
  ModelFiles files;
  TRY_DONE(add_files(folder, true, files));
  if (files.empty())
    return Error{ErrorKind::invalid_spec, folder + " has no YANG models: files whose names end in .yang"};
  ModelTexts texts;
  for (const auto& [name, file] : files) {
    FileText read = read_named(file, kModelMax);
    if (!read) return Error{ErrorKind::refused, file + ": " + read.why};
    texts.emplace(name, std::move(read.text));
  }
  return texts;
}

}  // namespace

const lysc_node* child_of(const lysc_node& parent, std::string_view name) {
  const lysc_node* child = nullptr;
  while ((child = lys_getnext(child, &parent, nullptr, 0)) != nullptr)
    if (name == child->name) return child;
  return nullptr;
}

const lysc_node* row_kind(const lysc_node* kind) {
  // A row is below its table, and that below the container of its module.
  while (kind != nullptr) {
    const lysc_node* const table = lysc_data_parent(kind);
    const lysc_node* const module = table == nullptr ? nullptr : table->parent;
    if (module != nullptr && module->parent == nullptr) return kind;
    kind = table;
  }
  return nullptr;
}

std::vector<const lysc_node*> keys_of(const lysc_node& list) {
  std::vector<const lysc_node*> keys;
  const lysc_node* child = nullptr;
  while ((child = lys_getnext(child, &list, nullptr, 0)) != nullptr)
    if (lysc_is_key(child)) keys.push_back(child);
  return keys;
}

Result<YangSchema> load_yang_schema(const std::string& folder) {
  TRY(ModelTexts texts, read_texts(folder));
  keep_yang_messages();
  ly_ctx* context = nullptr;
  constexpr std::uint16_t kOptions =
      LY_CTX_NO_YANGLIBRARY | LY_CTX_EXPLICIT_COMPILE | LY_CTX_DISABLE_SEARCHDIRS;
  if (ly_ctx_new(nullptr, kOptions, &context) != LY_SUCCESS)
    return Error{ErrorKind::refused, "libyang does not start"};
  YangSchema schema;
  schema.context.reset(context);
  ly_ctx_set_module_imp_clb(context, give_text, &texts);
  const char* all_features[] = {"*", nullptr};
  for (const auto& [name, text] : texts)
    if (ly_ctx_load_module(context, name.c_str(), nullptr, all_features) == nullptr)
      return refused(folder + ": model " + name, *context);
  if (ly_ctx_compile(context) != LY_SUCCESS) return refused(folder, *context);
  ly_ctx_set_module_imp_clb(context, nullptr, nullptr);  // the texts go
  for (const auto& [name, text] : texts) {
    const lys_module* const module = ly_ctx_get_module_implemented(context, name.c_str());
    if (module == nullptr) continue;
    schema.modules.push_back(module);
    TRY_DONE(add_tables(*module, schema.tables));
  }
  (void)take_message(*context);
  if (schema.tables.empty())
    return Error{ErrorKind::invalid_spec, folder + " has YANG models, but none of a table of CONFIG_DB"};
  return schema;
}

}  // namespace lockstep::sonic
