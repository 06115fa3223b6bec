// What SONiC's translation of CONFIG_DB knows and no model says (sonic_yang_ext.py: LEAF_LIST_WITH_STRING_
// VALUE_DICT and Type_1_list_maps_model).
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace lockstep::sonic {

// Lists that CONFIG_DB holds as one text, and what parts it.
struct JoinedList {
  std::string_view table;
  std::string_view field;
  char separator;
};
inline constexpr std::array<JoinedList, 8> kJoinedLists{{
    {"BGP_ALLOWED_PREFIXES", "prefixes_v4", ','},
    {"BGP_ALLOWED_PREFIXES", "prefixes_v6", ','},
    {"BUFFER_PORT_EGRESS_PROFILE_LIST", "profile_list", ','},
    {"BUFFER_PORT_INGRESS_PROFILE_LIST", "profile_list", ','},
    {"MIRROR_SESSION", "src_ip", ','},
    {"NTP", "src_intf", ';'},
    {"PORT", "adv_interface_types", ','},
    {"PORT", "adv_speeds", ','},
}};
// Null: the field is a list in CONFIG_DB too.
constexpr const JoinedList* joined_list(std::string_view table, std::string_view field) {
  const auto* const found = std::ranges::find_if(
      kJoinedLists, [&](const JoinedList& one) { return one.table == table && one.field == field; });
  return found == kJoinedLists.end() ? nullptr : found;
}

// Tables whose fields are the map: {"AZURE": {"26": "3"}} is a list in a list.
inline constexpr std::array<std::string_view, 11> kMapTables{
    "CABLE_LENGTH",   "DOT1P_TO_TC_MAP",           "DSCP_TO_FC_MAP",    "DSCP_TO_TC_MAP",
    "EXP_TO_FC_MAP",  "MAP_PFC_PRIORITY_TO_QUEUE", "MPLS_TC_TO_TC_MAP", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
    "TC_TO_DSCP_MAP", "TC_TO_PRIORITY_GROUP_MAP",  "TC_TO_QUEUE_MAP",
};
constexpr bool is_map_table(std::string_view table) {
  return std::ranges::find(kMapTables, table) != kMapTables.end();
}

}  // namespace lockstep::sonic
