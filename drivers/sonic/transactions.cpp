#include "drivers/sonic/transactions.hpp"

#include <set>

#include "drivers/sonic/config_store.hpp"
#include "drivers/sonic/plan_rules.hpp"

namespace lockstep::sonic {
namespace {

std::optional<ConfigRow> row_in(const ConfigDb& config, const ConfigMove& move) {
  const ConfigRow* const row = config.find(move.table, move.key);
  return row == nullptr ? std::nullopt : std::optional(*row);
}

// Shuts a port down or brings it up.
bool turns_port(const ConfigMove& move, const std::optional<ConfigRow>& was) {
  return move.table == "PORT" && was && move.row && is_port_up(*was) != is_port_up(*move.row);
}

}  // namespace

std::vector<std::vector<RowWrite>> transactions_of(const std::vector<ConfigMove>& moves, ConfigDb from) {
  std::vector<std::vector<RowWrite>> out;
  std::set<std::pair<std::string, std::string>> rows;  // of the last transaction
  std::set<std::string> leaving;                       // addresses that lose their interface in it
  bool closed = true;
  for (const ConfigMove& move : moves) {
    const std::optional<ConfigRow> was = row_in(from, move);
    const bool turns = turns_port(move, was);
    const bool is_new_row = rows.emplace(move.table, move.key).second;
    const std::string address = address_of_row(move.table, move.key);
    const bool moves_address = move.row && !address.empty() && leaving.contains(address);
    if (closed || turns || !is_new_row || moves_address || out.back().size() == kRowsPerWrite) {
      out.emplace_back();
      rows = {{move.table, move.key}};
      leaving.clear();
    }
    if (!move.row && !address.empty()) leaving.insert(address);
    out.back().push_back({move.table, move.key, was, move.row});
    closed = turns;
    make_move(move, from);
  }
  return out;
}

}  // namespace lockstep::sonic
