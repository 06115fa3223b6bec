// A driver's map as a table: a constexpr array, one line for each row of the schema that the driver supports.
// The rows that the driver reads and writes, and the functions for a row, follow from it.
//
// A line is a struct of the driver's own: `row`, and the functions that read it, write it and print it as a
// native command; a read-only row has no `write` (null, or none). Promises: rows are listed in the table's
// order. Refuses nothing: a row that is not in the table has no line (null), and the driver decides what that
// means.
#pragma once

#include <algorithm>
#include <iterator>
#include <vector>

#include "drivers/driver.hpp"

namespace lockstep {

// Null: the table has no such row.
template <class Table>
constexpr auto find_row(const Table& table, RowId row) -> decltype(&*std::begin(table)) {
  for (const auto& line : table)
    if (line.row == row) return &line;
  return nullptr;
}

template <class Table>
std::vector<RowId> rows_of(const Table& table) {
  std::vector<RowId> out;
  for (const auto& line : table) out.push_back(line.row);
  return out;
}

template <class Table>
std::vector<RowId> written_rows_of(const Table& table) {
  std::vector<RowId> out;
  for (const auto& line : table)
    if (line.write) out.push_back(line.row);
  return out;
}

template <class Table>
bool wants_any(const Scope& scope, const Table& table) {
  return std::ranges::any_of(table, [&](const auto& line) { return scope.wants(line.row); });
}

// For a static_assert beside a table.
template <class Table>
constexpr bool has_each_row_once(const Table& table) {
  for (auto line = std::begin(table); line != std::end(table); ++line)
    if (find_row(table, line->row) != &*line) return false;
  return true;
}

}  // namespace lockstep
