#include "drivers/sonic/config_patch.hpp"

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "drivers/sonic/state_check.hpp"
#include "specs/model/bounded_json.hpp"

namespace lockstep::sonic {
namespace {

using PatchJson = nlohmann::ordered_json;

PatchJson patch_json_of(const ConfigField& field) {
  return std::visit([](const auto& held) { return PatchJson(held); }, field);
}
PatchJson patch_json_of(const ConfigRow& row) {
  PatchJson out = PatchJson::object();
  for (const auto& [field, value] : row) out[field] = patch_json_of(value);
  return out;
}
PatchJson patch_json_of(const ConfigTable& table) {
  PatchJson out = PatchJson::object();
  for (const auto& [key, row] : table) out[key] = patch_json_of(row);
  return out;
}

// RFC 6901, section 3.
std::string escaped(std::string_view name) {
  std::string out;
  for (const char c : name) out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return out;
}

std::string pointer_to(std::string_view table, std::string_view key, std::string_view field) {
  std::string out = "/" + escaped(table);
  if (!key.empty()) out += "/" + escaped(key);
  if (!field.empty()) out += "/" + escaped(field);
  return out;
}

PatchJson json_of(const PatchOperation& operation) {
  PatchJson out;
  out["op"] = to_string(operation.kind);
  out["path"] = pointer_to(operation.table, operation.key, operation.field);
  if (operation.want)
    out["value"] = std::visit([](const auto& held) { return patch_json_of(held); }, *operation.want);
  return out;
}

// What differs between two maps: each name with both values, null where there is none.
template <class Map, class Each>
void each_difference(const Map& now, const Map& target, Each each) {
  for (const auto& [name, value] : now) {
    const auto found = target.find(name);
    if (found == target.end() || !(found->second == value))
      each(name, &value, found == target.end() ? nullptr : &found->second);
  }
  for (const auto& [name, value] : target)
    if (!now.contains(name)) each(name, static_cast<decltype(&value)>(nullptr), &value);
}

template <class Value>
void set_values(PatchOperation& operation, const Value* was, const Value* want) {
  operation.kind = was == nullptr ? PatchKind::add : want == nullptr ? PatchKind::remove : PatchKind::replace;
  if (was != nullptr) operation.was = *was;
  if (want != nullptr) operation.want = *want;
}

}  // namespace

std::vector<PatchOperation> patch_of(const ConfigDb& now, const ConfigDb& target) {
  std::vector<PatchOperation> out;
  const auto add = [&out](PatchOperation operation, const auto* was, const auto* want) {
    set_values(operation, was, want);
    out.push_back(std::move(operation));
  };
  each_difference(
      now.tables, target.tables, [&](const std::string& table, const auto* was, const auto* want) {
        if (was == nullptr || want == nullptr) return add({PatchKind::add, table}, was, want);
        each_difference(*was, *want, [&](const std::string& key, const auto* row, const auto* wanted) {
          if (row == nullptr || wanted == nullptr) return add({PatchKind::add, table, key}, row, wanted);
          each_difference(*row, *wanted, [&](const std::string& field, const auto* one, const auto* other) {
            add({PatchKind::add, table, key, field}, one, other);
          });
        });
      });
  std::ranges::stable_sort(out, {},
                           [](const PatchOperation& one) { return std::tie(one.table, one.key, one.field); });
  return out;
}

void revert(const PatchOperation& operation, ConfigDb& target) {
  if (operation.key.empty()) {
    target.tables.erase(operation.table);
    if (operation.was) target.tables[operation.table] = std::get<ConfigTable>(*operation.was);
    return;
  }
  std::optional<ConfigRow> row;
  if (operation.field.empty()) {
    if (operation.was) row = std::get<ConfigRow>(*operation.was);
  } else {
    const ConfigRow* const now = target.find(operation.table, operation.key);
    row = now == nullptr ? ConfigRow() : *now;
    row->erase(operation.field);
    if (operation.was) (*row)[operation.field] = std::get<ConfigField>(*operation.was);
  }
  make_move({operation.table, operation.key, std::move(row)}, target);
}

std::string place_text(const PatchOperation& operation) {
  return operation.key.empty() ? operation.table : redis_name(operation.table, operation.key);
}

std::string operation_json(const PatchOperation& operation) {
  return json_of(operation).dump(-1, ' ', false, PatchJson::error_handler_t::replace);
}

Result<std::string> patch_json(const std::vector<PatchOperation>& patch, std::string_view now_text) {
  TRY(const nlohmann::json now, parse_bounded_json(now_text));
  PatchJson out = PatchJson::array();
  std::set<std::pair<std::string, std::string>> tested;
  const auto test = [&](const std::string& table, const std::string& key) {
    if (!tested.emplace(table, key).second) return;
    const nlohmann::json::json_pointer at(pointer_to(table, key, ""));
    out.push_back({{"op", "test"}, {"path", at.to_string()}, {"value", now.at(at)}});
  };
  for (const PatchOperation& one : patch) {
    if (!one.key.empty() && (one.was || !one.field.empty())) test(one.table, one.key);
    if (one.key.empty() && one.was)
      for (const auto& [key, row] : std::get<ConfigTable>(*one.was)) test(one.table, key);
  }
  for (const PatchOperation& one : patch) out.push_back(json_of(one));
  return out.dump(1, ' ', false, PatchJson::error_handler_t::replace) + "\n";
}

}  // namespace lockstep::sonic
