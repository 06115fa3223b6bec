// YANG's JSON into a data tree.
#include <nlohmann/json.hpp>
#include <optional>

#include "drivers/sonic/yang_translation.hpp"

namespace lockstep::sonic {
namespace {

using Json = nlohmann::json;

// "sonic-port:PORT": the name in its module, which need not be said where it is the parent's.
struct QualifiedName {
  std::string module;
  std::string name;
};
QualifiedName qualified(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos) return {{}, text};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

std::optional<std::string> scalar_of(const Json& json) {
  if (json.is_string()) {
    const auto& text = json.get_ref<const std::string&>();
    if (text.find('\0') == text.npos) return text;
    return std::nullopt;
  }
  if (json.is_number() || json.is_boolean()) return json.dump();
  return std::nullopt;
}

class JsonTranslation {
 public:
  explicit JsonTranslation(YangData& data) : data_(data) {}

  void top(const Json& json) {
    if (!json.is_object()) return data_.misfit_row({}, "the data is an object of modules");
    for (const auto& [name, value] : json.items()) {
      const QualifiedName at = qualified(name);
      const lys_module* const module =
          ly_ctx_get_module_implemented(data_.schema().context.get(), at.module.c_str());
      const lysc_node* const kind =
          module == nullptr ? nullptr : lys_find_child(nullptr, module, at.name.c_str(), 0, LYS_CONTAINER, 0);
      if (kind == nullptr)
        data_.misfit_row({}, "no model has '" + name + "' at the top");
      else
        container(nullptr, *kind, value);
    }
  }

 private:
  ConfigPlace place(lyd_node* parent, const std::string& name) const {
    ConfigPlace out = parent == nullptr ? ConfigPlace{} : place_of(*parent);
    if (out.table.empty())
      out.table = parent == nullptr ? "" : name;
    else if (out.key.empty())
      out.key = name;
    else if (out.field.empty())
      out.field = name;
    return out;
  }

  void container(lyd_node* parent, const lysc_node& kind, const Json& json) {
    if (!json.is_object()) return data_.misfit_row(place(parent, kind.name), "it is an object in the model");
    lyd_node* const made = data_.container(parent, kind);
    if (made == nullptr)
      return data_.misfit_row(place(parent, kind.name), take_message(*data_.schema().context).text);
    children(*made, json);
  }

  void children(lyd_node& parent, const Json& json) {
    for (const auto& [name, value] : json.items()) {
      const QualifiedName at = qualified(name);
      const lysc_node* const kind = child_of(*parent.schema, at.name);
      if (kind == nullptr || (!at.module.empty() && at.module != kind->module->name)) {
        data_.misfit_row(place(&parent, at.name), "the model has no '" + name + "' here");
        continue;
      }
      if (lysc_is_key(kind)) continue;  // the entry has it
      child(parent, *kind, value);
    }
  }

  void child(lyd_node& parent, const lysc_node& kind, const Json& json) {
    if (kind.nodetype == LYS_CONTAINER) return container(&parent, kind, json);
    if (kind.nodetype == LYS_LEAF) return leaf(parent, kind, json);
    if (kind.nodetype != LYS_LIST && kind.nodetype != LYS_LEAFLIST)
      return data_.misfit_row(place(&parent, kind.name),
                              "neither a container, a list nor a value in the model");
    if (!json.is_array()) return data_.misfit_row(place(&parent, kind.name), "it is a list in the model");
    for (const Json& one : json) {
      if (kind.nodetype == LYS_LIST)
        entry(parent, kind, one);
      else
        leaf(parent, kind, one);
    }
  }

  void leaf(lyd_node& parent, const lysc_node& kind, const Json& json) {
    if (const auto value = scalar_of(json))
      data_.leaf(&parent, kind, *value, place(&parent, kind.name));
    else
      data_.misfit(place(&parent, kind.name),
                   std::string("it is one value in the model, not ") + json.type_name());
  }

  void entry(lyd_node& parent, const lysc_node& list, const Json& json) {
    const ConfigPlace table = place(&parent, "");
    if (!json.is_object())
      return data_.misfit_row(table, std::string("a row of ") + list.name + " is an object");
    std::vector<std::string> keys;
    for (const lysc_node* const key : keys_of(list)) {
      const auto found = key_in(json, *key);
      if (!found)
        return data_.misfit_row(table, std::string("a row of ") + list.name + " has no key " + key->name);
      keys.push_back(*found);
    }
    ConfigPlace at = table;
    std::string& name = at.key.empty() ? at.key : at.field;
    for (const std::string& key : keys) name += (name.empty() ? "" : "|") + key;
    lyd_node* const made =
        keys.empty() || keys.size() > kKeysMax ? nullptr : data_.entry(&parent, list, keys, at);
    if (made != nullptr) children(*made, json);
  }

  static std::optional<std::string> key_in(const Json& json, const lysc_node& key) {
    for (const std::string& name : {std::string(key.name), std::string(key.module->name) + ":" + key.name})
      if (const auto found = json.find(name); found != json.end()) return scalar_of(*found);
    return std::nullopt;
  }

  YangData& data_;
};

}  // namespace

void translate_yang(const Json& json, YangData& data) { JsonTranslation(data).top(json); }

}  // namespace lockstep::sonic
