// The rules as data; builtin_check.cpp applies them.
#include "drivers/sonic/builtin_rules.hpp"

namespace lockstep::sonic {
namespace {

constexpr ValueRule integer(std::int64_t least, std::int64_t most, std::string_view or_words = {}) {
  return {.form = ValueForm::integer, .or_words = or_words, .least = least, .most = most};
}
constexpr ValueRule kUnsigned{.form = ValueForm::integer};  // up to 64 bits
constexpr ValueRule words(std::string_view all) { return {.form = ValueForm::words, .words = all}; }
constexpr ValueRule row_of(std::string_view table, std::string_view or_words = {}) {
  return {.form = ValueForm::reference, .words = table, .or_words = or_words};
}
constexpr ValueRule range(std::int64_t most) { return {.form = ValueForm::range, .least = 0, .most = most}; }
constexpr ValueRule kAny{};
constexpr ValueRule kName{.form = ValueForm::name};
constexpr ValueRule kPriorities{.form = ValueForm::priorities};
constexpr ValueRule kCable{.form = ValueForm::cable};
constexpr ValueRule kPrefix{.form = ValueForm::prefix};
constexpr ValueRule kPort = row_of("PORT");
constexpr ValueRule kBoolean = words("true|false");
constexpr ValueRule kOnOff = words("on|off");
constexpr ValueRule kUpDown = words("up|down");
constexpr ValueRule kEnable = words("enable|disable");
constexpr ValueRule kPercent = integer(0, 100);
constexpr ValueRule kAlpha = integer(-8, 7);  // 2^alpha

// Keys.
constexpr ValueRule kOneAny[]{kAny};
constexpr ValueRule kOneName[]{kName};
constexpr ValueRule kOnePort[]{kPort};
constexpr ValueRule kPortOrGlobal[]{row_of("PORT", "global")};
constexpr ValueRule kPortOrGLOBAL[]{row_of("PORT", "GLOBAL")};
constexpr ValueRule kQueueOfPort[]{row_of("PORT", "CPU"), kAny};
constexpr ValueRule kBufferedQueue[]{kPort, range(15)};
constexpr ValueRule kPriorityGroup[]{kPort, range(7)};
constexpr ValueRule kVoq[]{kAny, kAny, kAny, kAny};  // host|asic|port|queue
constexpr ValueRule kPortPrefix[]{row_of("INTERFACE"), kPrefix};
constexpr ValueRule kLoopbackPrefix[]{row_of("LOOPBACK_INTERFACE"), kPrefix};
constexpr ValueRule kGlobal[]{words("GLOBAL")};

constexpr KeyRule kByAny[]{{kOneAny}};
constexpr KeyRule kByName[]{{kOneName}};
constexpr KeyRule kByPort[]{{kOnePort}};
constexpr KeyRule kByPortOrGlobal[]{{kPortOrGlobal}};
constexpr KeyRule kByPortOrGLOBAL[]{{kPortOrGLOBAL}};
constexpr KeyRule kByQueue[]{{kQueueOfPort}, {kVoq}};
constexpr KeyRule kByBufferedQueue[]{{kBufferedQueue}, {kVoq}};
constexpr KeyRule kByPriorityGroup[]{{kPriorityGroup}};
constexpr KeyRule kByPortAndPrefix[]{{kOnePort}, {kPortPrefix}};
constexpr KeyRule kByLoopbackAndPrefix[]{{kOneAny}, {kLoopbackPrefix}};
constexpr KeyRule kByGlobal[]{{kGlobal}};

constexpr FieldRule kPortFields[]{
    {"speed", integer(1, 1'600'000), true},  // Mb/s
    {"mtu", integer(68, 9216)},
    {"fec", words("rs|fc|none|auto")},
    {"admin_status", kUpDown},
    {"autoneg", kOnOff},
    {"link_training", kOnOff},
    {"pfc_asym", kOnOff},
    {"index", integer(0, 65535)},
    {"role", words("Ext|Int|Inb|Rec|Dpc")},
    {"subport", integer(0, 8)},
    {"mode", words("routed|access|trunk")},
    {"tpid", words("0x8100|0x9100|0x9200|0x88a8|0x88A8")},
    {"dom_polling", words("enabled|disabled")},
    {"mux_cable", kBoolean},
    {"adv_speeds", integer(1, 1'600'000, "all"), false, Several::list_or_commas},
};
constexpr FieldRule kSchedulerFields[]{
    {"type", words("DWRR|WRR|STRICT")},
    {"weight", integer(1, 100)},
    {"priority", integer(0, 9)},
    {"meter_type", words("packets|bytes")},
    {"cir", kUnsigned},
    {"pir", kUnsigned},
    {"cbs", kUnsigned},
    {"pbs", kUnsigned},
};
constexpr FieldRule kWredFields[]{
    {"green_min_threshold", kUnsigned},
    {"green_max_threshold", kUnsigned},
    {"yellow_min_threshold", kUnsigned},
    {"yellow_max_threshold", kUnsigned},
    {"red_min_threshold", kUnsigned},
    {"red_max_threshold", kUnsigned},
    {"green_drop_probability", kPercent},
    {"yellow_drop_probability", kPercent},
    {"red_drop_probability", kPercent},
    {"wred_green_enable", kBoolean},
    {"wred_yellow_enable", kBoolean},
    {"wred_red_enable", kBoolean},
    {"ecn", words("ecn_none|ecn_green|ecn_yellow|ecn_red|ecn_green_yellow|ecn_green_red|ecn_yellow_red|"
                  "ecn_all")},
};
constexpr FieldRule kQueueFields[]{
    {"scheduler", row_of("SCHEDULER")},
    {"wred_profile", row_of("WRED_PROFILE")},
};
constexpr FieldRule kPortQosFields[]{
    {"dscp_to_tc_map", row_of("DSCP_TO_TC_MAP")},
    {"dot1p_to_tc_map", row_of("DOT1P_TO_TC_MAP")},
    {"tc_to_queue_map", row_of("TC_TO_QUEUE_MAP")},
    {"tc_to_pg_map", row_of("TC_TO_PRIORITY_GROUP_MAP")},
    {"tc_to_dscp_map", row_of("TC_TO_DSCP_MAP")},
    {"pfc_to_queue_map", row_of("MAP_PFC_PRIORITY_TO_QUEUE")},
    {"pfc_to_pg_map", row_of("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP")},
    {"scheduler", row_of("SCHEDULER")},
    {"pfc_enable", kPriorities},
    {"pfcwd_sw_enable", kPriorities},
};
constexpr FieldRule kPoolFields[]{
    {"type", words("ingress|egress|both"), true},
    {"mode", words("static|dynamic"), true},
    {"size", kUnsigned},
    {"xoff", kUnsigned},
    {"percentage", integer(0, 255)},
};
constexpr FieldRule kProfileFields[]{
    {"pool", row_of("BUFFER_POOL"), true},
    {"size", kUnsigned, true},
    {"dynamic_th", kAlpha},
    {"static_th", kUnsigned},
    {"xon", kUnsigned},
    {"xoff", kUnsigned},
    {"xon_offset", kUnsigned},
    {"headroom_type", words("static|dynamic")},
    {"packet_discard_action", words("drop|trim")},
};
constexpr FieldRule kPriorityGroupFields[]{{"profile", row_of("BUFFER_PROFILE", "NULL")}};
constexpr FieldRule kBufferQueueFields[]{{"profile", row_of("BUFFER_PROFILE")}};
constexpr FieldRule kProfileListFields[]{
    {"profile_list", row_of("BUFFER_PROFILE"), false, Several::list_or_commas}};
constexpr FieldRule kWatchdogFields[]{
    {"POLL_INTERVAL", integer(100, 1000), false, Several::no, "GLOBAL"},  // ms
    {"action", words("drop|forward|alert"), false, Several::no, "!GLOBAL"},
    {"detection_time", integer(100, 5000), false, Several::no, "!GLOBAL"},
    {"restoration_time", integer(100, 60'000), false, Several::no, "!GLOBAL"},
    {"pfc_stat_history", kEnable, false, Several::no, "!GLOBAL"},
};
constexpr FieldRule kTrafficFields[]{
    {"mtu", integer(1, 9216), true},
    {"small_packet_percentage", kPercent, true},
};
constexpr FieldRule kLosslessFields[]{
    {"default_dynamic_th", kAlpha, true},
    {"over_subscribe_ratio", integer(0, 65535)},
};
constexpr FieldRule kMetadataFields[]{
    {"bgp_asn", integer(0, 4'294'967'295)},
    {"buffer_model", words("traditional|dynamic")},
    {"create_only_config_db_buffers", kBoolean},
    {"frr_mgmt_framework_config", kBoolean},
    {"docker_routing_config_mode", words("separated|unified|split|split-unified")},
    {"default_pfcwd_status", kEnable},
    {"switch_type", words("chassis-packet|fabric|npu|voq|dpu|dummy-sup")},
};
constexpr FieldRule kInterfaceFields[]{
    {"vrf_name", row_of("VRF")},           {"mpls", kEnable},
    {"ipv6_use_link_local_only", kEnable}, {"loopback_action", words("drop|forward")},
    {"scope", words("global|local")},      {"family", words("IPv4|IPv6")},
};
constexpr FieldRule kLoopbackFields[]{
    {"vrf_name", row_of("VRF")},
    {"admin_status", kUpDown},
    {"scope", words("global|local")},
    {"family", words("IPv4|IPv6")},
};
constexpr FieldRule kCounterFields[]{
    {"FLEX_COUNTER_STATUS", kEnable},
    {"POLL_INTERVAL", integer(100, 4'294'967'295)},  // ms
    {"BULK_CHUNK_SIZE", integer(1, 4'294'967'295)},
};
constexpr ValueRule kHashField = words(
    "IN_PORT|DST_MAC|SRC_MAC|ETHERTYPE|VLAN_ID|IP_PROTOCOL|DST_IP|SRC_IP|L4_DST_PORT|L4_SRC_PORT|INNER_DST_"
    "MAC|"
    "INNER_SRC_MAC|INNER_ETHERTYPE|INNER_IP_PROTOCOL|INNER_DST_IP|INNER_SRC_IP|INNER_L4_DST_PORT|"
    "INNER_L4_SRC_PORT|IPV6_FLOW_LABEL");
constexpr ValueRule kHashAlgorithm = words("CRC|XOR|RANDOM|CRC_32LO|CRC_32HI|CRC_CCITT|CRC_XOR");
constexpr FieldRule kHashFields[]{
    {"ecmp_hash", kHashField, false, Several::list},
    {"lag_hash", kHashField, false, Several::list},
    {"ecmp_hash_algorithm", kHashAlgorithm},
    {"lag_hash_algorithm", kHashAlgorithm},
};

constexpr FieldRule kTrimmingFields[]{
    {"size", integer(0, 4'294'967'295)},
    {"dscp_value", integer(0, 63, "from-tc")},
    {"tc_value", integer(0, 255)},
    {"queue_index", integer(0, 255, "dynamic")},
};

// Both sides of maps.
constexpr ValueRule kDscp = integer(0, 63);
constexpr ValueRule kTrafficClass = integer(0, 15);
constexpr ValueRule kPriority = integer(0, 7);
constexpr ValueRule kQueue = integer(0, 9);

constexpr TableRule kTables[]{
    {"PORT", kByAny, kPortFields},
    {"DSCP_TO_TC_MAP", kByName, {}, &kDscp, &kTrafficClass},
    {"DOT1P_TO_TC_MAP", kByName, {}, &kPriority, &kTrafficClass},
    {"TC_TO_QUEUE_MAP", kByName, {}, &kTrafficClass, &kQueue},
    {"TC_TO_PRIORITY_GROUP_MAP", kByName, {}, &kTrafficClass, &kPriority},
    {"TC_TO_DSCP_MAP", kByName, {}, &kTrafficClass, &kDscp},
    {"MAP_PFC_PRIORITY_TO_QUEUE", kByName, {}, &kPriority, &kPriority},
    {"PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", kByName, {}, &kPriority, &kPriority},
    {"CABLE_LENGTH", kByName, {}, &kPort, &kCable},
    {"SCHEDULER", kByAny, kSchedulerFields},
    {"WRED_PROFILE", kByName, kWredFields},
    {"QUEUE", kByQueue, kQueueFields},
    {"PORT_QOS_MAP", kByPortOrGlobal, kPortQosFields},
    {"BUFFER_POOL", kByAny, kPoolFields},
    {"BUFFER_PROFILE", kByAny, kProfileFields},
    {"BUFFER_PG", kByPriorityGroup, kPriorityGroupFields},
    {"BUFFER_QUEUE", kByBufferedQueue, kBufferQueueFields},
    {"BUFFER_PORT_INGRESS_PROFILE_LIST", kByPort, kProfileListFields},
    {"BUFFER_PORT_EGRESS_PROFILE_LIST", kByPort, kProfileListFields},
    {"PFC_WD", kByPortOrGLOBAL, kWatchdogFields},
    {"LOSSLESS_TRAFFIC_PATTERN", kByName, kTrafficFields},
    {"DEFAULT_LOSSLESS_BUFFER_PARAMETER", kByName, kLosslessFields},
    {"DEVICE_METADATA", kByAny, kMetadataFields},
    {"INTERFACE", kByPortAndPrefix, kInterfaceFields},
    {"LOOPBACK_INTERFACE", kByLoopbackAndPrefix, kLoopbackFields},
    {"FLEX_COUNTER_TABLE", kByAny, kCounterFields},
    {"SWITCH_HASH", kByGlobal, kHashFields},
    {"SWITCH_TRIMMING", kByGlobal, kTrimmingFields},
};

constexpr OrderRule kOrders[]{
    {"WRED_PROFILE", "green_max_threshold", "green_min_threshold"},
    {"WRED_PROFILE", "yellow_max_threshold", "yellow_min_threshold"},
    {"WRED_PROFILE", "red_max_threshold", "red_min_threshold"},
    {"SCHEDULER", "pir", "cir"},
    {"SCHEDULER", "pbs", "cbs"},
    {"PFC_WD", "detection_time", "POLL_INTERVAL", "GLOBAL"},
    {"PFC_WD", "restoration_time", "POLL_INTERVAL", "GLOBAL"},
};

constexpr NeedRule kNeeds[]{
    {"WRED_PROFILE", "green_max_threshold", "green_min_threshold"},
    {"WRED_PROFILE", "yellow_max_threshold", "yellow_min_threshold"},
    {"WRED_PROFILE", "red_max_threshold", "red_min_threshold"},
    {"SCHEDULER", "pir", "cir"},
    {"SCHEDULER", "cbs", "cir"},
    {"SCHEDULER", "pbs", "pir"},
};

constexpr ExclusionRule kExclusions[]{{"BUFFER_POOL", "percentage", "size"}};

}  // namespace

std::span<const TableRule> table_rules() { return kTables; }
std::span<const OrderRule> order_rules() { return kOrders; }
std::span<const NeedRule> need_rules() { return kNeeds; }
std::span<const ExclusionRule> exclusion_rules() { return kExclusions; }

}  // namespace lockstep::sonic
