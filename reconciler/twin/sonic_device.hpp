// A SONiC switch in a twin: where its Redis and its stand-in have their files, and the orders that make the
// stand-in misbehave.
//
// There is no SONiC in a twin. Such a device has a real redis-server, FRR and lldpd, and in the place of
// SONiC's own daemons the stand-in (reconciler/sonic_stand_in). Promises: what order_text() prints,
// orders_from_text() reads; a missing file is no orders. The files are root's alone, as the stand-in and the
// command that orders are. Refuses (refused): a file that is not such orders.
#pragma once

#include <array>
#include <set>
#include <string>
#include <string_view>

#include "specs/model/result.hpp"

namespace lockstep {

// The first argument of a program that must run as a stand-in: its main() then returns
// sonic_stand_in_main(), before it does anything else. Also the name of the daemon.
inline constexpr const char* kSonicStandIn = "sonic-stand-in";
inline constexpr const char* kSonicRedis = "redis-server";

// The tables of CONFIG_DB whose rows the stand-in carries.
inline constexpr std::array<std::string_view, 9> kSonicCarriedTables{
    "PORT",         "INTERFACE",       "LOOPBACK_INTERFACE",
    "BGP_GLOBALS",  "BGP_GLOBALS_AF",  "BGP_GLOBALS_AF_AGGREGATE_ADDR",
    "BGP_NEIGHBOR", "BGP_NEIGHBOR_AF", "ROUTE_REDISTRIBUTE",
};

// In the device's run directory (DevicePlaces::run_dir).
std::string sonic_redis_socket(std::string_view run_dir);
// Made when the stand-in has carried and reported everything once since it was started.
std::string sonic_ready_file(std::string_view run_dir);

// How the stand-in misbehaves, until the orders are taken back.
struct SonicOrders {
  // Tables ("BGP_NEIGHBOR") and rows ("PORT|swp1"): what changes in them is not carried.
  std::set<std::string> ignores{};
  // Ports that are down in the kernel, whatever their row says, and up as APPL_DB has it.
  std::set<std::string> reports_up{};
  // It dies when it has carried half of what the next change takes.
  bool dies = false;

  bool operator==(const SonicOrders&) const = default;
};

std::string order_text(const SonicOrders& orders);
Result<SonicOrders> orders_from_text(std::string_view text);
Result<SonicOrders> read_orders(const std::string& run_dir);
Result<Done> write_orders(const std::string& run_dir, const SonicOrders& orders);

}  // namespace lockstep
