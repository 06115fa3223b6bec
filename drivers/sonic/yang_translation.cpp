#include "drivers/sonic/yang_translation.hpp"

#include "drivers/sonic/text_parts.hpp"
#include "drivers/sonic/yang_exceptions.hpp"

namespace lockstep::sonic {
namespace {

class TableTranslation {
 public:
  TableTranslation(const std::string& name, const YangTable& table, YangData& data)
      : name_(name), table_(table), data_(data) {}

  void rows(const ConfigTable& rows) {
    lyd_node* const module = data_.container(nullptr, *table_.module);
    lyd_node* const table = module == nullptr ? nullptr : data_.container(module, *table_.table);
    if (table == nullptr)
      return data_.misfit_row({name_, "", ""}, take_message(*data_.schema().context).text);
    for (const auto& [key, row] : rows) add(*table, key, row);
  }

 private:
  void add(lyd_node& table, const std::string& key, const ConfigRow& row) {
    const lysc_node* const own = child_of(*table_.table, key);
    if (own != nullptr && own->nodetype == LYS_CONTAINER) {
      if (lyd_node* const made = data_.container(&table, *own); made != nullptr) add_fields(*made, key, row);
      return;
    }
    const std::vector<std::string> keys = parts_of(key, '|');
    const lysc_node* const list = list_for(keys.size(), row);
    if (list == nullptr) return data_.misfit_row({name_, key, ""}, why_no_list(keys.size()));
    lyd_node* const entry = data_.entry(&table, *list, keys, {name_, key, ""});
    if (entry == nullptr) return;
    if (is_map_table(name_))
      add_map(*entry, key, row);
    else
      add_fields(*entry, key, row);
  }

  // The only list of a table must be called as the table is. Of several, the first whose fields the row has;
  // where none has them all, the first with as many keys, so that the fields are reported.
  const lysc_node* list_for(std::size_t keys, const ConfigRow& row) const {
    const lysc_node* nearest = nullptr;
    for (const lysc_node* const list : table_.lists) {
      if (table_.lists.size() == 1 && std::string_view(list->name) != name_ + "_LIST") continue;
      if (keys_of(*list).size() != keys) continue;
      if (has_fields(*list, row)) return list;
      if (nearest == nullptr) nearest = list;
    }
    return nearest;
  }

  bool has_fields(const lysc_node& list, const ConfigRow& row) const {
    if (is_map_table(name_)) return true;
    for (const auto& [field, value] : row)
      if (child_of(list, field) == nullptr) return false;
    return true;
  }

  std::string why_no_list(std::size_t keys) const {
    std::string known;
    for (const lysc_node* const list : table_.lists) {
      std::string parts;
      for (const lysc_node* const key : keys_of(*list))
        parts += (parts.empty() ? "" : "|") + std::string(key->name);
      known += (known.empty() ? "" : " or ") + parts;
    }
    const lysc_node* child = nullptr;
    while ((child = lys_getnext(child, table_.table, nullptr, 0)) != nullptr)
      if (child->nodetype == LYS_CONTAINER) known += (known.empty() ? "" : " or ") + std::string(child->name);
    return "a key of " + std::to_string(keys) + (keys == 1 ? " part" : " parts") + "; this table has " +
           (known.empty() ? "no rows" : known);
  }

  void add_fields(lyd_node& parent, const std::string& key, const ConfigRow& row) {
    for (const auto& [field, value] : row) {
      const ConfigPlace place{name_, key, field};
      const lysc_node* const kind = child_of(*parent.schema, field);
      if (kind == nullptr || (kind->nodetype & (LYS_LEAF | LYS_LEAFLIST)) == 0)
        data_.misfit(place, "the model has no such field");
      else if (lysc_is_key(kind))
        data_.misfit(place, "it is a part of the row's key, and no field");
      else if (kind->nodetype == LYS_LEAFLIST)
        add_list(parent, *kind, value, place);
      else if (const auto* const text = std::get_if<std::string>(&value))
        data_.leaf(&parent, *kind, *text, place);
      else
        data_.misfit(place, "a list, where the model has one value");
    }
  }

  void add_list(lyd_node& parent, const lysc_node& kind, const ConfigField& value, const ConfigPlace& place) {
    ConfigList list;
    if (const auto* const text = std::get_if<std::string>(&value)) {
      const JoinedList* const joined = joined_list(name_, kind.name);
      if (joined == nullptr)
        return data_.misfit(place, "one text, where the model has a list: write [\"...\"]");
      list = parts_of(*text, joined->separator);
    } else {
      list = std::get<ConfigList>(value);
    }
    const bool has_default = reinterpret_cast<const lysc_node_leaflist&>(kind).dflts != nullptr;
    if (has_default && list.empty())
      return data_.misfit(place, "an empty list, where the model has a default: leave the field out");
    for (const std::string& one : list)
      if (has_default || !one.empty()) data_.leaf(&parent, kind, one, place);
  }

  // {"26": "3"}: a list in the list, which has the table's name, a key and a value.
  void add_map(lyd_node& entry, const std::string& key, const ConfigRow& row) {
    const lysc_node* inner = nullptr;
    while ((inner = lys_getnext(inner, entry.schema, nullptr, 0)) != nullptr && inner->nodetype != LYS_LIST) {
    }
    if (row.empty()) return;
    const lysc_node* value_kind = nullptr;
    const lysc_node* child = nullptr;
    while (inner != nullptr && (child = lys_getnext(child, inner, nullptr, 0)) != nullptr)
      if (child->nodetype == LYS_LEAF && !lysc_is_key(child)) value_kind = child;
    if (value_kind == nullptr || keys_of(*inner).size() != 1)
      return data_.misfit({name_, key, ""}, "the model of this table has no map of fields");
    for (const auto& [field, value] : row) {
      const ConfigPlace place{name_, key, field};
      const auto* const text = std::get_if<std::string>(&value);
      if (text == nullptr) {
        data_.misfit(place, "a list, where a map has one value");
        continue;
      }
      lyd_node* const made = data_.entry(&entry, *inner, {field}, place);
      if (made != nullptr) data_.leaf(made, *value_kind, *text, place);
    }
  }

  const std::string& name_;
  const YangTable& table_;
  YangData& data_;
};

}  // namespace

void translate(const ConfigDb& config, YangData& data) {
  for (const auto& [name, rows] : config.tables) {
    const auto table = data.schema().tables.find(name);
    if (table != data.schema().tables.end()) TableTranslation(name, table->second, data).rows(rows);
  }
}

}  // namespace lockstep::sonic
