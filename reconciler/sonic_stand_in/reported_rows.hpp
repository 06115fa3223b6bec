// What the stand-in reports: rows of APPL_DB and STATE_DB from what kernel, lldpd and bgpd say: pure.
//
// Promises: the fields that SONiC's own daemons write there, as far as Lockstep reads them (switch_state.hpp)
// and a namespace has them. Each port of PORT has a row of PORT_TABLE. A neighbor that exchanges no IPv4
// routes has no NEIGH_STATE_TABLE, as bgpmon lists those of IPv4 unicast.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "drivers/linux/kernel_state.hpp"
#include "drivers/linux/lldp.hpp"
#include "drivers/sonic/config_db.hpp"
#include "drivers/sonic/redis_protocol.hpp"

namespace lockstep::sonic {

using ReportedRows = std::map<std::string, RedisHash>;  // by their name in Redis

// `reports_up`: see SonicOrders.
ReportedRows reported_ports(const ConfigDb& rows, const std::vector<Link>& links,
                            const std::set<std::string>& reports_up);
// INTF_TABLE, and that all ports are known.
ReportedRows reported_addresses(const ConfigDb& rows, const NetworkState& kernel);
ReportedRows reported_peers(const ConfigDb& rows, const std::map<std::string, LldpNeighbour>& heard);
// `sessions`: as frr::BgpState has them.
ReportedRows reported_sessions(const std::map<std::string, std::string>& sessions);

// What makes `is` of `was`. A row that stays is never deleted, nor empty in between.
std::vector<RedisCommand> commands_between(const ReportedRows& was, const ReportedRows& is);

}  // namespace lockstep::sonic
