#include <fmt/format.h>

#include <algorithm>

#include "reconciler/twin/fault_kinds.hpp"
#include "reconciler/twin/sonic_device.hpp"
#include "reconciler/twin/twin.hpp"

namespace lockstep {
namespace {

// By the word that ends an order.
Result<bool> begins(const std::string& word) {
  if (word == "on" || word == "off") return word == "on";
  return Error{ErrorKind::invalid_spec, "'" + word + "' is neither on nor off"};
}

// A table that the stand-in carries, or a row of one.
Result<Done> check_row(const std::string& row) {
  const std::string table = row.substr(0, row.find('|'));
  if (std::ranges::find(kSonicCarriedTables, table) != kSonicCarriedTables.end()) return Done{};
  return Error{ErrorKind::invalid_spec, fmt::format("the stand-in carries no '{}'; it carries rows of {}",
                                                    table, fmt::join(kSonicCarriedTables, ", "))};
}

Result<Done> give_orders(const FaultOrder& order, const std::function<void(SonicOrders&)>& edit) {
  TRY(SonicOrders orders, read_orders(order.at.run_dir));
  edit(orders);
  return write_orders(order.at.run_dir, orders);
}

Result<FaultLines> told(const FaultOrder& order, const std::string& what) {
  return FaultLines{fmt::format("{}: {} {}", order.device, kSonicStandIn, what)};
}

}  // namespace

Result<FaultLines> break_sonic_ignores_row(const FaultOrder& order) {
  const std::string row = order.argument(0);
  TRY_DONE(check_row(row));
  TRY(const bool on, begins(order.argument(1, "on")));
  TRY_DONE(give_orders(order, [&](SonicOrders& orders) {
    if (on)
      orders.ignores.insert(row);
    else
      orders.ignores.erase(row);
  }));
  return told(order, on ? "ignores what changes in " + row : "carries " + row + " again");
}

Result<FaultLines> break_sonic_reports_up(const FaultOrder& order) {
  const std::string port = order.argument(0);
  TRY_DONE(port_of(order, port));
  TRY(const bool on, begins(order.argument(1, "on")));
  TRY_DONE(give_orders(order, [&](SonicOrders& orders) {
    if (on)
      orders.reports_up.insert(port);
    else
      orders.reports_up.erase(port);
  }));
  return told(order,
              on ? "sets " + port + " down, and APPL_DB has it up" : "carries PORT|" + port + " again");
}

Result<FaultLines> break_sonic_stand_in_dies(const FaultOrder& order) {
  TRY(const bool on, begins(order.argument(0, "on")));
  TRY_DONE(give_orders(order, [on](SonicOrders& orders) { orders.dies = on; }));
  if (on) return told(order, "dies when half of the next change is carried");
  TRY_DONE(restart_daemon(order.twin.cluster, order.device, kSonicStandIn));
  return told(order, "is started again");
}

}  // namespace lockstep
