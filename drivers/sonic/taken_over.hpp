// Whether SONiC's daemons have taken over what CONFIG_DB says, as far as they show it.
//
// Promises: holds against the configuration what they have passed on: a port's admin_status and mtu
// (portmgrd, APPL_DB PORT_TABLE), the addresses of ports and loopbacks (intfmgrd, APPL_DB INTF_TABLE), and,
// where ASIC_DB is at hand, a port's admin state and lossless priorities as orchagent has set them
// (sonic-swss e6b0c5b5, cfgmgr/portmgr.cpp, intfmgr.cpp, orchagent/portsorch.cpp setPortAdminStatus,
// setPortPfc). A field that they do not show is not held against them. Maps, schedulers and buffers are shown
// nowhere by name.
#pragma once

#include <set>
#include <string>

#include "drivers/sonic/config_db.hpp"
#include "drivers/sonic/switch_state.hpp"
#include "specs/model/ip.hpp"

namespace lockstep::sonic {

struct TakenOver {
  StateRows ports{};                                       // APPL_DB PORT_TABLE
  std::set<std::pair<std::string, IpPrefix>> addresses{};  // APPL_DB INTF_TABLE, by interface
  StateRows asic_ports{};                                  // ASIC_DB, by the port's name

  // orchagent knows all ports (PORT_TABLE:PortInitDone); before that nothing can be told.
  bool has_started() const { return ports.contains("PortInitDone"); }
};

// Rows of INTF_TABLE by key: "Ethernet0", "Ethernet0:10.0.0.0/31".
void add_interface_rows(const StateRows& rows, std::string_view separator, TakenOver& out);

// `ports`: of APPL_DB PORT_TABLE. `counters`, `asic`: null: they are not at hand.
Result<TakenOver> read_taken_over(StateRows ports, StateDatabase& appl, StateDatabase* counters,
                                  StateDatabase* asic, const Call& call);

// The first that they have otherwise: "PORT|Ethernet0 mtu is 9000, and 9100 in APPL_DB"; empty: nothing.
std::string not_taken_over(const ConfigDb& config, const TakenOver& there);

}  // namespace lockstep::sonic
