// Rows of CONFIG_DB that belong to one port, and what they name: read as numbers, changed field by field.
//
// Promises: what is no number is left out. Rows of ranges (QUEUE|Ethernet0|0-2) stand for each number.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "drivers/sonic/config_db.hpp"

namespace lockstep::sonic {

inline constexpr int kQueues = 8;  // IEEE 802.1Q-2018 8.6.8: eight traffic classes

// Null: no row, no such field, or a list.
const std::string* text_in(const ConfigRow* row, std::string_view field);
std::optional<std::int64_t> number_in(const ConfigRow* row, std::string_view field);
// "3,4": those below kQueues.
std::set<int> numbers_in(const ConfigRow* row, std::string_view field);

// A map row as numbers.
using NumberMap = std::map<int, int>;
NumberMap map_of(const ConfigDb& config, std::string_view table, const std::string* name);
int at_or_same(const NumberMap& map, int number);
// The map that a port names, or that is named for all; null: none.
const std::string* map_name(const ConfigDb& config, const std::string& port, std::string_view field);
// Which priority group each PFC priority has; empty: that of its number.
NumberMap groups_of(const ConfigDb& config, const std::string& port);

// The numbers of "3" or "3-4"; nothing: it is neither, or beyond the queues that there can be.
std::vector<int> numbers_of_range(std::string_view range);
// Rows PORT|NUMBERS of a table, by number; the last of two that have it.
std::map<int, const ConfigRow*> rows_of_port(const ConfigDb& config, std::string_view table,
                                             const std::string& port);
// A row for each number, so that one can be changed alone.
void split_ranges(ConfigDb& config, const std::string& table, const std::string& port);

// A copy of the row that is named; no row: no fields.
ConfigRow copy_of(const ConfigDb& config, std::string_view table, const std::string* name);
// None: the field goes.
void set_field(ConfigDb& config, const std::string& table, const std::string& key, const std::string& field,
               const std::optional<std::string>& value);

}  // namespace lockstep::sonic
