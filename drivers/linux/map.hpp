// The map between entries and the kernel, for the rows that belong to no part of the driver: besides the maps
// of the parts the only file of this driver that names rows. Each row is one line in a table: in map.cpp, or,
// for a port's egress scheduler, in map_scheduler.cpp.
//
// Promises: entries() and change() are inverses: what change() was given, entries() then reports. Not
// reported, as the kernel's own state: link-local and loopback addresses, routes of the local table, routes
// and rules of another protocol (fib[...] shows the main table's best routes of any protocol). Refuses a
// change of a row that the kernel does not support (see capabilities.hpp) and a value of the wrong form.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "drivers/driver.hpp"
#include "drivers/linux/host_state.hpp"
#include "drivers/linux/lldp.hpp"
#include "drivers/linux/session.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep::linux_map {

inline constexpr RowId kPort = row("interface[*]");
inline constexpr RowId kMtu = row("interface[*]/mtu");
inline constexpr RowId kClass = row("interface[*]/class[*]");
inline constexpr RowId kFib = row("fib[*]");
inline constexpr RowId kAddress = row("interface[*]/address[*]");
inline constexpr RowId kAdmin = row("interface[*]/admin");
inline constexpr RowId kLldpAgent = row("lldp-agent");
inline constexpr RowId kSysctl = row("sysctl[*]");

// The rows that are read here, without those of lldpd, and those that are written.
std::vector<RowId> rows_read();
std::vector<RowId> rows_written();

// Where a row is supported; capabilities.hpp asks the machine, and returns the reason if it is not.
enum class Given : std::uint8_t {
  always,
  by_software,    // on ports whose speed is enforced by software
  by_red,         // on those, if the kernel has RED
  by_marker,      // if RED does not do the marking
  not_by_htb,     // by every carrier of a port's classes except HTB
  not_by_mqprio,  // by every carrier except mqprio
};
Given given_of(RowId row);

HostWanted wanted_for(const Scope& scope);
// The parameters to read: those that a fabric's hosts and switches are known to need, and `named` ones.
std::vector<std::string> sysctl_names(const NetworkState& network, const std::set<std::string>& named);

void entries(const HostState& state, const Scope& scope, const std::set<std::string>& named_sysctls,
             TreeBuilder& tree, std::vector<Unread>& unread);

// Describes which ECN markers are in use.
std::vector<std::string> marker_notes(const HostState& state);

std::vector<RowId> lldp_rows();
bool wants_lldp(const Scope& scope);
// A port without carrier has no neighbour, even if lldpd still reports one: it processes a link change one
// second late (event.c, levent_iface_recv).
void lldp_entries(const LldpdAnswer& answer, const NetworkState& network, const Scope& scope,
                  TreeBuilder& tree, std::vector<Unread>& unread);

// A port's egress scheduler is one object made of many entries: all changes of one port belong together.
std::vector<RowId> scheduler_rows();
bool is_scheduler_row(RowId row);
bool wants_scheduler(const Scope& scope);
Given scheduler_row_given(RowId row);  // `always` for any other row
void scheduler_entries(const HostState& state, const Scope& scope, TreeBuilder& tree,
                       std::vector<Unread>& unread);
// The scheduler's rows except its rate: those of its traffic classes.
bool is_class_row(RowId row);
void classes_unread(const std::string& port, const Error& why, const Scope& scope,
                    std::vector<Unread>& unread);
Result<Done> overlay(const Change& change, PortScheduler& scheduler);
std::string scheduler_words(const Change& change, Carrier carrier);

// Any other change.
Result<Done> change(Session& session, const Change& change);

// The sysctl's name, if the change is about one.
std::optional<std::string> sysctl_of(const Change& change);

// The same as commands of ip(8), tc(8) and sysctl(8), for display. `carrier`: implements the traffic classes
// of the change's port.
std::string native(const Change& change, Carrier carrier);

}  // namespace lockstep::linux_map
