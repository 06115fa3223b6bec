#include "drivers/sonic/port_rows.hpp"

#include <charconv>

#include "drivers/sonic/state_check.hpp"
#include "drivers/sonic/text_parts.hpp"

namespace lockstep::sonic {
namespace {

std::optional<std::int64_t> whole_number(std::string_view text) {
  text = without_blanks(text);
  std::int64_t out = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

}  // namespace

const std::string* text_in(const ConfigRow* row, std::string_view field) {
  if (row == nullptr) return nullptr;
  const auto found = row->find(field);
  return found == row->end() ? nullptr : std::get_if<std::string>(&found->second);
}

std::optional<std::int64_t> number_in(const ConfigRow* row, std::string_view field) {
  const std::string* const text = text_in(row, field);
  return text == nullptr ? std::nullopt : whole_number(*text);
}

std::set<int> numbers_in(const ConfigRow* row, std::string_view field) {
  std::set<int> out;
  const std::string* const text = text_in(row, field);
  if (text != nullptr)
    for (const std::string& part : parts_of(*text, ','))
      if (const auto number = whole_number(part); number && *number >= 0 && *number < kQueues)
        out.insert(static_cast<int>(*number));
  return out;
}

NumberMap map_of(const ConfigDb& config, std::string_view table, const std::string* name) {
  NumberMap out;
  const ConfigRow* const row = name == nullptr ? nullptr : config.find(table, *name);
  if (row == nullptr) return out;
  for (const auto& [field, value] : *row) {
    const auto from = whole_number(field);
    const auto to = number_in(row, field);
    if (from && to && *from >= 0 && *from < 64 && *to >= 0 && *to < 64)
      out[static_cast<int>(*from)] = static_cast<int>(*to);
  }
  return out;
}
int at_or_same(const NumberMap& map, int number) {
  const auto found = map.find(number);
  return found == map.end() ? number : found->second;
}

std::map<int, const ConfigRow*> rows_of_port(const ConfigDb& config, std::string_view table,
                                             const std::string& port) {
  std::map<int, const ConfigRow*> out;
  const auto rows = config.tables.find(table);
  if (rows == config.tables.end()) return out;
  const std::string prefix = port + "|";
  for (auto at = rows->second.lower_bound(prefix); at != rows->second.end() && at->first.starts_with(prefix);
       ++at)
    for (const int number : numbers_of_range(std::string_view(at->first).substr(prefix.size())))
      out[number] = &at->second;
  return out;
}

void split_ranges(ConfigDb& config, const std::string& table, const std::string& port) {
  const auto rows = config.tables.find(table);
  if (rows == config.tables.end()) return;
  const std::string prefix = port + "|";
  std::vector<std::pair<std::string, ConfigRow>> ranges;
  for (auto at = rows->second.lower_bound(prefix); at != rows->second.end() && at->first.starts_with(prefix);
       ++at)
    if (numbers_of_range(std::string_view(at->first).substr(prefix.size())).size() > 1)
      ranges.emplace_back(*at);
  for (const auto& [key, row] : ranges) {
    rows->second.erase(key);
    for (const int number : numbers_of_range(std::string_view(key).substr(prefix.size())))
      rows->second.insert_or_assign(prefix + std::to_string(number), row);
  }
}

const std::string* map_name(const ConfigDb& config, const std::string& port, std::string_view field) {
  const std::string* const own = text_in(config.find("PORT_QOS_MAP", port), field);
  return own != nullptr ? own : text_in(config.find("PORT_QOS_MAP", "global"), field);
}

NumberMap groups_of(const ConfigDb& config, const std::string& port) {
  return map_of(config, "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", map_name(config, port, "pfc_to_pg_map"));
}

std::vector<int> numbers_of_range(std::string_view range) {
  const std::size_t dash = range.find('-');
  const auto first = whole_number(range.substr(0, dash));
  const auto last = dash == range.npos ? first : whole_number(range.substr(dash + 1));
  std::vector<int> out;
  if (!first || !last || *first < 0 || *last >= 64) return out;
  for (std::int64_t i = *first; i <= *last; ++i) out.push_back(static_cast<int>(i));
  return out;
}

ConfigRow copy_of(const ConfigDb& config, std::string_view table, const std::string* name) {
  const ConfigRow* const row = name == nullptr ? nullptr : config.find(table, *name);
  return row == nullptr ? ConfigRow() : *row;
}

void set_field(ConfigDb& config, const std::string& table, const std::string& key, const std::string& field,
               const std::optional<std::string>& value) {
  if (value) {
    config.tables[table][key][field] = *value;
    return;
  }
  const auto rows = config.tables.find(table);
  if (rows == config.tables.end()) return;
  const auto row = rows->second.find(key);
  if (row == rows->second.end()) return;
  row->second.erase(field);
  if (row->second.empty() && table == "PORT_QOS_MAP") make_move({table, key, std::nullopt}, config);
}

}  // namespace lockstep::sonic
