// The stand-in for SONiC's daemons on a SONiC switch of a twin. It is no SONiC, and is named so everywhere.
//
// It runs in the device's network namespace, as a daemon of the twin. What a switch has of itself it puts
// into an empty CONFIG_DB (first_config.hpp). Then it carries rows of CONFIG_DB to the kernel and FRR of that
// namespace and reports to APPL_DB and STATE_DB:
//
//   row                                              carried to                   instead of SONiC's
//   PORT admin_status, mtu                           the link                     portmgrd, orchagent
//   INTERFACE, LOOPBACK_INTERFACE (Loopback0 is lo)  addresses                    intfmgrd
//   BGP_GLOBALS, _AF, _AF_AGGREGATE_ADDR,            bgpd, over its vty           frrcfgd
//   BGP_NEIGHBOR, _AF, ROUTE_REDISTRIBUTE
//
//   reported                                         from                         instead of SONiC's
//   APPL_DB PORT_TABLE                               the kernel's links           portsyncd
//   APPL_DB LLDP_ENTRY_TABLE                         lldpd                        lldp_syncd
//   STATE_DB NEIGH_STATE_TABLE                       bgpd                         bgpmon
//
// Promises: a change of a row is carried within a second, woken by keyspace events; the list of all rows is
// the truth, not the events. It compares the list with the one that it carried last, and writes when they
// differ, when it has been started, when a link is new, or when bgpd has lost its speaker: what others break
// in the kernel stays broken until then, as on a switch. What can't be carried is in its log, once, and is
// tried again. Refuses nothing that CONFIG_DB may hold. Not carried: QoS, buffers, PFC and its watchdog,
// speed, FEC, autonegotiation and hashing, as the kernel's veth has none of them; VLANs, port channels, VRFs,
// BFD. Not shown: what SONiC's daemons do differently when rows come in another order, and what an ASIC
// refuses.
#pragma once

namespace lockstep {

// `argv`: the program, kSonicStandIn, the device's run directory, its sonic_type. Runs until it is killed.
int sonic_stand_in_main(int argc, char** argv);

}  // namespace lockstep
