#include "specs/platforms/map_native.hpp"

#include <algorithm>

#include "specs/model/counter_groups.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

// Which part of a native name is the entry's first key. counters: the group of a row of FLEX_COUNTER_TABLE.
enum class KeyPart : std::uint8_t { none, after_table, whole, counters };

struct NativeName {
  std::string_view driver;
  std::string_view table;  // the name up to the first '|'; empty: any
  std::string_view field;  // of the entry; empty: any
  RowId row;
  KeyPart key;
  std::string_view source;
};

constexpr auto kPort = KeyPart::after_table;

constexpr NativeName kNames[] = {
    {"linux", "", "", row("sysctl[*]"), KeyPart::whole, "sysctl(8): a kernel parameter by its name"},
    {"sonic", "PORT", "admin_status", row("interface[*]/admin"), kPort, "SONiC sonic-port.yang"},
    {"sonic", "PORT", "autoneg", row("interface[*]/autoneg"), kPort, "SONiC sonic-port.yang"},
    {"sonic", "PORT", "fec", row("interface[*]/fec"), kPort, "SONiC sonic-port.yang"},
    {"sonic", "PORT", "mtu", row("interface[*]/mtu"), kPort, "SONiC sonic-port.yang"},
    {"sonic", "PORT", "speed", row("interface[*]/speed"), kPort, "SONiC sonic-port.yang"},
    {"sonic", "PORT_QOS_MAP", "pfc_enable", row("interface[*]/pfc"), kPort, "SONiC sonic-port-qos-map.yang"},
    {"sonic", "PORT_QOS_MAP", "dscp_to_tc_map", row("interface[*]/class[*]/dscp"), kPort,
     "SONiC sonic-port-qos-map.yang"},
    {"sonic", "PORT_QOS_MAP", "tc_to_queue_map", row("interface[*]/class[*]"), kPort,
     "SONiC sonic-port-qos-map.yang"},
    {"sonic", "DSCP_TO_TC_MAP", "", row("interface[*]/class[*]/dscp"), KeyPart::none,
     "SONiC sonic-dscp-tc-map.yang: the fields are the map, and ports name it"},
    {"sonic", "QUEUE", "scheduler", row("interface[*]/class[*]/strict"), kPort, "SONiC sonic-queue.yang"},
    {"sonic", "QUEUE", "wred_profile", row("interface[*]/class[*]/ecn-max"), kPort, "SONiC sonic-queue.yang"},
    {"sonic", "WRED_PROFILE", "", row("interface[*]/class[*]/ecn-max"), KeyPart::none,
     "SONiC sonic-wred-profile.yang: queues name it"},
    {"sonic", "BUFFER_PG", "", row("interface[*]/buffer[*]/size"), kPort, "SONiC sonic-buffer-pg.yang"},
    {"sonic", "PFC_WD", "action", row("interface[*]/pfc-watchdog/action"), kPort, "SONiC sonic-pfcwd.yang"},
    {"sonic", "PFC_WD", "detection_time", row("interface[*]/pfc-watchdog/detection-time"), kPort,
     "SONiC sonic-pfcwd.yang"},
    {"sonic", "PFC_WD", "restoration_time", row("interface[*]/pfc-watchdog/restoration-time"), kPort,
     "SONiC sonic-pfcwd.yang"},
    {"sonic", "PFC_WD", "POLL_INTERVAL", row("pfc-watchdog/poll-interval"), KeyPart::none,
     "SONiC sonic-pfcwd.yang"},
    {"sonic", "FLEX_COUNTER_TABLE", "FLEX_COUNTER_STATUS", row("counter-group[*]"), KeyPart::counters,
     "SONiC sonic-flex_counter.yang"},
    {"sonic", "FLEX_COUNTER_TABLE", "POLL_INTERVAL", row("counter-group[*]/interval"), KeyPart::counters,
     "SONiC sonic-flex_counter.yang"},
    {"sonic", "INTERFACE", "vrf_name", row("interface[*]/vrf"), kPort, "SONiC sonic-interface.yang"},
    {"sonic", "DEVICE_METADATA", "bgp_asn", row("bgp/asn"), KeyPart::none,
     "SONiC sonic-device_metadata.yang"},
    {"sonic", "BGP_GLOBALS", "local_asn", row("bgp/asn"), KeyPart::none, "SONiC sonic-bgp-global.yang"},
    {"sonic", "BGP_GLOBALS", "router_id", row("bgp/router-id"), KeyPart::none, "SONiC sonic-bgp-global.yang"},
    {"sonic", "BGP_GLOBALS_AF", "max_ebgp_paths", row("bgp/max-paths"), KeyPart::none,
     "SONiC sonic-bgp-global.yang"},
    {"sonic", "SWITCH_HASH", "ecmp_hash", row("load-balancing/hash-fields"), KeyPart::none,
     "SONiC sonic-hash.yang"},
};

// "Ethernet0" of "BUFFER_PG|Ethernet0|3-4"; empty if the entry applies to all ports (`global`, `GLOBAL`).
std::string_view port_of(std::string_view name) {
  const std::size_t bar = name.find('|');
  if (bar == name.npos) return {};
  const std::string_view rest = name.substr(bar + 1);
  const std::string_view port = rest.substr(0, rest.find('|'));
  return port == "global" || port == "GLOBAL" ? std::string_view() : port;
}

// "queue" of "FLEX_COUNTER_TABLE|QUEUE"; empty: no group that has a name here.
std::string_view group_of(std::string_view name) {
  const std::size_t bar = name.find('|');
  const std::string_view key = bar == name.npos ? std::string_view() : name.substr(bar + 1);
  const auto* const found = std::ranges::find(kCountedGroups, key, &CountedGroupRow::sonic);
  return found == kCountedGroups.end() ? std::string_view() : found->name;
}

bool says(const Literal& value, std::string_view field) {
  if (field.empty() || value.shape != Literal::Shape::map) return true;
  return std::any_of(value.fields.begin(), value.fields.end(),
                     [field](const auto& one) { return *one.key == field; });
}

}  // namespace

bool MeantEntries::has(Path path) const {
  if (path.row() != row || keys.size() > path.key_count()) return false;
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (path.key(i) != keys[i]) return false;
  return true;
}

std::vector<MeantEntries> meant_entries(std::string_view driver, const std::string& name,
                                        const Literal& value) {
  std::vector<MeantEntries> out;
  if (const Result<Path> path = Path::parse(name)) {
    MeantEntries& own = out.emplace_back(MeantEntries{path->row(), {}});
    for (std::size_t i = 0; i < path->key_count(); ++i) own.keys.emplace_back(path->key(i));
    return out;
  }
  const std::string_view table = std::string_view(name).substr(0, name.find('|'));
  for (const NativeName& one : kNames) {
    if (one.driver != driver || (!one.table.empty() && one.table != table) || !says(value, one.field))
      continue;
    const std::string_view group = one.key == KeyPart::counters ? group_of(name) : std::string_view();
    if (one.key == KeyPart::counters && group.empty()) continue;
    MeantEntries& entries = out.emplace_back(MeantEntries{one.row, {}});
    if (!group.empty()) entries.keys.emplace_back(group);
    if (one.key == KeyPart::whole) entries.keys.push_back(name);
    if (const std::string_view port = port_of(name); one.key == KeyPart::after_table && !port.empty())
      entries.keys.emplace_back(port);
  }
  return out;
}

}  // namespace lockstep
