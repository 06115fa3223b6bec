#include "drivers/sonic/shared_rows.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "drivers/sonic/state_check.hpp"
#include "drivers/sonic/text_parts.hpp"
#include "specs/model/fnv.hpp"

namespace lockstep::sonic {
namespace {

// Who names rows of which table.
struct Naming {
  std::string_view table;
  std::string_view field;
  std::string_view names;
};
constexpr std::array<Naming, 13> kNamings{{
    {"BUFFER_PG", "profile", "BUFFER_PROFILE"},
    {"BUFFER_PORT_EGRESS_PROFILE_LIST", "profile_list", "BUFFER_PROFILE"},
    {"BUFFER_PORT_INGRESS_PROFILE_LIST", "profile_list", "BUFFER_PROFILE"},
    {"BUFFER_QUEUE", "profile", "BUFFER_PROFILE"},
    {"PORT_QOS_MAP", "dot1p_to_tc_map", "DOT1P_TO_TC_MAP"},
    {"PORT_QOS_MAP", "dscp_to_tc_map", "DSCP_TO_TC_MAP"},
    {"PORT_QOS_MAP", "pfc_to_pg_map", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"},
    {"PORT_QOS_MAP", "scheduler", "SCHEDULER"},
    {"PORT_QOS_MAP", "pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE"},
    {"PORT_QOS_MAP", "tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP"},
    {"PORT_QOS_MAP", "tc_to_queue_map", "TC_TO_QUEUE_MAP"},
    {"QUEUE", "scheduler", "SCHEDULER"},
    {"QUEUE", "wred_profile", "WRED_PROFILE"},
}};

std::string digest(const ConfigRow& row) {
  Fnv hash;
  for (const auto& [field, value] : row) {
    hash.add(field).add("\n");
    const auto* const text = std::get_if<std::string>(&value);
    const ConfigList list = text != nullptr ? ConfigList{*text} : std::get<ConfigList>(value);
    for (const std::string& one : list) hash.add(one).add("\n");
  }
  return hash.text();
}

// "lockstep-dwrr-60". What such a name does not say, that is taken, or that is longer than SONiC's models
// allow (32), is called after the digest, and after a number where somebody has changed a row of that name.
std::string new_name(const ConfigTable& table, const std::string& about, const ConfigRow& row) {
  constexpr std::size_t kLongest = 32;
  std::string name = std::string(kOurRows) + about;
  if (about.empty() || name.size() > kLongest || table.contains(name))
    name = std::string(kOurRows) + digest(row);
  const std::string digested = name;
  for (int number = 2; table.contains(name); ++number) name = digested + "-" + std::to_string(number);
  return name;
}

using UsedRows = std::set<std::pair<std::string_view, std::string>>;
UsedRows used_rows(const ConfigDb& config) {
  UsedRows used;
  for (const Naming& naming : kNamings) {
    const auto rows = config.tables.find(naming.table);
    if (rows == config.tables.end()) continue;
    for (const auto& [key, row] : rows->second) {
      const auto field = row.find(naming.field);
      if (field == row.end()) continue;
      const auto* const text = std::get_if<std::string>(&field->second);
      const ConfigList list = text != nullptr ? parts_of(*text, ',') : std::get<ConfigList>(field->second);
      for (const std::string& name : list) used.emplace(naming.names, name);
    }
  }
  return used;
}

}  // namespace

std::string shared_row(ConfigDb& config, const std::string& table, const std::string& about,
                       const ConfigRow& row, const std::string* named) {
  if (named != nullptr)
    if (const ConfigRow* const now = config.find(table, *named); now != nullptr && *now == row) return *named;
  ConfigTable& rows = config.tables[table];
  const auto same = std::ranges::find(rows, row, &ConfigTable::value_type::second);
  if (same != rows.end()) return same->first;
  std::string name = new_name(rows, about, row);
  rows.insert_or_assign(name, row);
  return name;
}

void drop_unused(ConfigDb& config) {
  const UsedRows used = used_rows(config);
  std::vector<ConfigMove> unused;
  for (const Naming& naming : kNamings) {
    const auto table = config.tables.find(naming.names);
    if (table == config.tables.end()) continue;
    for (const auto& [name, row] : table->second)
      if (name.starts_with(kOurRows) && !used.contains({naming.names, name}))
        unused.push_back({table->first, name, std::nullopt});
  }
  for (const ConfigMove& one : unused) make_move(one, config);
}

}  // namespace lockstep::sonic
