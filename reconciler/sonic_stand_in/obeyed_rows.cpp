#include "reconciler/sonic_stand_in/obeyed_rows.hpp"

namespace lockstep::sonic {
namespace {

// An order names a table, or a row and with it what hangs on it ("INTERFACE|swp1": its addresses too).
bool is_ignored(const SonicOrders& orders, const std::string& table, const std::string& key) {
  if (orders.ignores.contains(table)) return true;
  std::string name = redis_name(table, key);
  while (!orders.ignores.contains(name)) {
    const std::size_t bar = name.rfind('|');
    if (bar == name.npos || bar <= table.size()) return false;
    name.resize(bar);
  }
  return true;
}

}  // namespace

ConfigDb obeyed_rows(const ConfigDb& now, const ConfigDb& carried, const SonicOrders& orders) {
  ConfigDb out;
  for (const auto& [table, rows] : now.tables)
    for (const auto& [key, row] : rows)
      if (!is_ignored(orders, table, key)) out.tables[table][key] = row;
  for (const auto& [table, rows] : carried.tables)
    for (const auto& [key, row] : rows)
      if (is_ignored(orders, table, key)) out.tables[table][key] = row;
  for (const std::string& port : orders.reports_up)
    if (out.find("PORT", port) != nullptr) out.tables["PORT"][port]["admin_status"] = "down";
  return out;
}

}  // namespace lockstep::sonic
