// What the order of changes in CONFIG_DB depends on and no YANG model says, as data.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep::sonic {

// Tables in the order in which rows are made; they are deleted in the opposite order. References are between
// these tables from later to earlier ones (SONiC's models; orchagent waits for what is missing, and holds a
// port until its buffers are there: sonic-swss e6b0c5b5, orchagent/portsorch.cpp). Other tables are made
// after these. References that this order does not have are found by judging each state.
inline constexpr std::array<std::string_view, 49> kTableOrder{
    "DEVICE_METADATA",
    "FEATURE",
    "VRF",
    "PORT",
    "CABLE_LENGTH",
    "DSCP_TO_TC_MAP",
    "DOT1P_TO_TC_MAP",
    "TC_TO_QUEUE_MAP",
    "TC_TO_PRIORITY_GROUP_MAP",
    "TC_TO_DSCP_MAP",
    "MAP_PFC_PRIORITY_TO_QUEUE",
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
    "SCHEDULER",
    "WRED_PROFILE",
    "LOSSLESS_TRAFFIC_PATTERN",
    "DEFAULT_LOSSLESS_BUFFER_PARAMETER",
    "BUFFER_POOL",
    "BUFFER_PROFILE",
    "BUFFER_PG",
    "BUFFER_QUEUE",
    "BUFFER_PORT_INGRESS_PROFILE_LIST",
    "BUFFER_PORT_EGRESS_PROFILE_LIST",
    "QUEUE",
    "PORT_QOS_MAP",
    "PFC_WD",
    "PORTCHANNEL",
    "PORTCHANNEL_MEMBER",
    "VLAN",
    "VLAN_MEMBER",
    "LOOPBACK",
    "LOOPBACK_INTERFACE",
    "INTERFACE",
    "PORTCHANNEL_INTERFACE",
    "VLAN_INTERFACE",
    "VLAN_SUB_INTERFACE",
    "SWITCH_HASH",
    "SWITCH_TRIMMING",
    "ROUTE_MAP_SET",
    "ROUTE_MAP",
    "BGP_GLOBALS",
    "BGP_GLOBALS_AF",
    "BGP_PEER_GROUP",
    "BGP_PEER_GROUP_AF",
    "BGP_NEIGHBOR",
    "BGP_NEIGHBOR_AF",
    "STATIC_ROUTE",
    "ACL_TABLE",
    "ACL_RULE",
    "FLEX_COUNTER_TABLE",
};
constexpr std::size_t table_rank(std::string_view table) {
  return static_cast<std::size_t>(std::ranges::find(kTableOrder, table) - kTableOrder.begin());
}

// Fields that a daemon reads only when the row is made, so that the row is deleted and made again: those of
// SONiC's own tool (sonic-utilities 691b1bbc, generic_config_updater/patch_sorter.py, CreateOnlyFilter), and
// what SAI has as create-only (sonic-buildimage#5170: a pool's type; #3971: a profile's pool).
struct CreateOnlyField {
  std::string_view table;
  std::string_view field;  // empty: every field
};
inline constexpr std::array<CreateOnlyField, 14> kCreateOnly{{
    {"BGP_MONITORS", ""},
    {"BGP_NEIGHBOR", "asn"},
    {"BGP_NEIGHBOR", "holdtime"},
    {"BGP_NEIGHBOR", "keepalive"},
    {"BGP_NEIGHBOR", "local_addr"},
    {"BGP_NEIGHBOR", "name"},
    {"BGP_NEIGHBOR", "nhopself"},
    {"BGP_NEIGHBOR", "rrclient"},
    {"BGP_PEER_RANGE", ""},
    {"BUFFER_POOL", "type"},
    {"BUFFER_PROFILE", "pool"},
    {"LOOPBACK_INTERFACE", "vrf_name"},
    {"MIRROR_SESSION", ""},
    {"PORT", "lanes"},
}};
constexpr bool is_create_only(std::string_view table, std::string_view field) {
  return std::ranges::any_of(kCreateOnly, [&](const CreateOnlyField& one) {
    return one.table == table && (one.field.empty() || one.field == field);
  });
}

// Rows of a port, by the first part of their key, that change only while the port is shut down
// (patch_sorter.py, PortCriticalMoveValidator).
inline constexpr std::array<std::string_view, 6> kWhilePortIsDown{
    "BUFFER_PG",
    "BUFFER_PORT_EGRESS_PROFILE_LIST",
    "BUFFER_PORT_INGRESS_PROFILE_LIST",
    "BUFFER_QUEUE",
    "PORT_QOS_MAP",
    "QUEUE",
};
constexpr bool changes_while_port_is_down(std::string_view table) {
  return std::ranges::find(kWhilePortIsDown, table) != kWhilePortIsDown.end();
}

// Why this row must not be deleted, for an operator; empty: it may be. orchagent crashes when PFC_WD|GLOBAL
// goes, in all releases before sonic-swss#4760 of 2026-07 (orchagent/pfcwdorch.cpp, deleteEntry); later ones
// ignore it, and go on with the interval that was there.
constexpr std::string_view why_stays(std::string_view table, std::string_view key) {
  return table == "PFC_WD" && key == "GLOBAL" ? "orchagent crashes when this row is deleted "
                                                "(sonic-swss#4760), or ignores it; set POLL_INTERVAL "
                                                "to what it was, in ms"
                                              : "";
}

// Tables whose keys are INTERFACE|PREFIX: an address is on one interface at a time.
inline constexpr std::array<std::string_view, 5> kAddressTables{
    "INTERFACE", "LOOPBACK_INTERFACE", "PORTCHANNEL_INTERFACE", "VLAN_INTERFACE", "VLAN_SUB_INTERFACE",
};

// The address of a row INTERFACE|PREFIX, in the form of RFC 5952; empty: it is no such row.
std::string address_of_row(std::string_view table, std::string_view key);

}  // namespace lockstep::sonic
