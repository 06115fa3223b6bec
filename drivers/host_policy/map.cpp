#include "drivers/host_policy/map.hpp"

#include <algorithm>
#include <charconv>

#include "drivers/mapped/map_table.hpp"
#include "specs/compile/wanted_by_name.hpp"
#include "specs/model/schema_rows.hpp"
#include "specs/platforms/devlink_settings.hpp"

namespace lockstep {
namespace {

template <PolicySubject subject>
void by_key(const Change& change, Touched& out) {
  out.names.emplace_back(subject, std::string(change.path.key(0)));
  out.ruled = true;
}

// A devlink parameter's name is the second key, after its port's.
void parameter(const Change& change, Touched& out) {
  out.names.emplace_back(PolicySubject::parameter, std::string(change.path.key(1)));
  out.ruled = true;
}

// A setting that devlink sets counts by devlink's name, so that a policy needs one name for what can be
// written in two ways.
void setting(const Change& change, Touched& out) {
  const DevlinkSetting* const known = find_devlink_setting(change.path.key(1));
  const std::string_view name = known == nullptr ? change.path.key(1) : known->parameter;
  out.names.emplace_back(PolicySubject::parameter, std::string(name));
  out.ruled = true;
}

void acs(const Change&, Touched& out) { out.acs = out.ruled = true; }

// A text that is not a prefix can't be inside any block: the empty prefix represents it.
void add_prefix(std::string_view text, Touched& out) {
  out.prefixes.push_back(IpPrefix::parse(text).value_or(IpPrefix{}));
}

void every_interface(const Change&, Touched& out) { out.every_interface = true; }

// Parameters of all interfaces (ip-sysctl.rst, "conf/all" and ip_forward), and of future ones.
void sysctl(const Change& change, Touched& out) {
  by_key<PolicySubject::sysctl>(change, out);
  const std::string_view name = change.path.key(0);
  for (const std::string_view of_all : {".conf.all.", ".conf.default.", ".neigh.default."})
    if (name.find(of_all) != name.npos) out.every_interface = true;
  if (name == "net.ipv4.ip_forward") out.every_interface = true;
}

void address(const Change& change, Touched& out) { add_prefix(change.path.key(1), out); }
void prefix(const Change& change, Touched& out) { add_prefix(change.path.key(0), out); }

// A rail's own table contains a default route, which a rule of its address leads to (numbered_entries.hpp:
// 1000 and up); any other table may be used by one of the host's own rules.
void route(const Change& change, Touched& out) {
  constexpr unsigned kRails = 1000;
  const std::string_view key = change.path.key(0);
  const std::size_t colon = key.find(':');
  const std::string_view table = key.substr(0, colon);
  const std::string_view prefix = colon == key.npos ? key : key.substr(colon + 1);
  unsigned number = 0;
  const bool numbered =
      std::from_chars(table.data(), table.data() + table.size(), number).ptr == table.data() + table.size();
  const bool everything = prefix == "0.0.0.0/0" || prefix == "::/0";
  if (!numbered || number < kRails || !everything) add_prefix(prefix, out);
}

// "from PREFIX lookup TABLE".
void rule(const Change& change, Touched& out) {
  for (const Value value : {change.was, change.want}) {
    if (!value) continue;
    constexpr std::string_view kFrom = "from ";
    const std::string_view text = value.as_text();
    const std::size_t begin = text.find(kFrom);
    const std::string_view rest = begin == text.npos ? "" : text.substr(begin + kFrom.size());
    add_prefix(rest.substr(0, rest.find(' ')), out);
  }
}

void gateway(const Change& change, Touched& out) {
  for (const Value value : {change.was, change.want})
    if (value) add_prefix(value.as_text(), out);
}

void asn(const Change& change, Touched& out) {
  for (const Value value : {change.was, change.want})
    if (value.kind() == Value::Kind::integer) out.asns.push_back(value.as_integer());
}

void members(const Change& change, Touched& out) {
  for (const Value value : {change.was, change.want})
    if (value.kind() == Value::Kind::list)
      for (const std::string_view one : value.as_list())
        out.names.emplace_back(PolicySubject::interface, std::string(one));
}

// Tables whose keys begin with a port (sonic-buildimage 086b03bd, yang-models).
constexpr std::string_view kTablesOfPorts[] = {"BREAKOUT_CFG",
                                               "BUFFER_PG",
                                               "BUFFER_PORT_EGRESS_PROFILE_LIST",
                                               "BUFFER_PORT_INGRESS_PROFILE_LIST",
                                               "BUFFER_QUEUE",
                                               "INTERFACE",
                                               "LOOPBACK_INTERFACE",
                                               "PFC_WD",
                                               "PORT",
                                               "PORT_QOS_MAP",
                                               "QUEUE",
                                               "VLAN_SUB_INTERFACE"};

// "VLAN" of "VLAN|Vlan20 vlanid"; of "INTERFACE|Ethernet0|192.0.2.1/31 " port and address as well. Some
// tables start containers and let people in. Nothing else than SONiC has such settings yet.
void native(const Change& change, Touched& out) {
  if (change.path.key(0) != to_string(DriverName::sonic)) return;
  std::string_view name = change.path.key(1);
  name = name.substr(0, name.rfind(' '));
  const std::string_view table = name.substr(0, name.find('|'));
  out.names.emplace_back(PolicySubject::table, std::string(table));
  out.ruled = true;
  if (std::ranges::find(kTablesOfPorts, table) == std::end(kTablesOfPorts) || table.size() == name.size())
    return;
  name.remove_prefix(table.size() + 1);
  const std::string_view port = name.substr(0, name.find('|'));
  out.names.emplace_back(PolicySubject::interface, std::string(port));
  if (table.ends_with("INTERFACE") && port.size() < name.size())
    add_prefix(name.substr(port.size() + 1), out);
}

struct TouchedRow {
  RowId row;
  void (*touches)(const Change&, Touched&);
};
constexpr TouchedRow kRows[] = {
    {row("bgp/aggregate[*]"), prefix},
    {row("bgp/asn"), asn},
    {row("bond[*]/members"), members},
    {row("cpu/irq-affinity"), every_interface},
    {row("interface[*]/address[*]"), address},
    {row("interface[*]/parameter[*]"), parameter},
    {row("interface[*]/setting[*]"), setting},
    {row("kernel/module[*]"), by_key<PolicySubject::module>},
    {row("pcie/acs"), acs},
    {row("pcie/max-read-request"), every_interface},
    {row("pfc-watchdog/poll-interval"), every_interface},
    {row("raw[*][*]"), native},
    {row("route-mtu[*]"), prefix},
    {row("route[*]"), route},
    {row("rule[*]"), rule},
    {row("service[*]"), by_key<PolicySubject::service>},
    {row("sysctl[*]"), sysctl},
    {row("vlan[*]/gateway"), gateway},
};
static_assert(has_each_row_once(kRows));

}  // namespace

Touched touched_by(const Change& change) {
  Touched out;
  const Row& row = schema_row(change.path.row());
  constexpr std::string_view kNeighbour = "bgp/neighbor[*]";  // by the interface that it is on
  if (row.is_of_port() || row.is_of_bond() || row.pattern == kNeighbour || row.is_part_of(kNeighbour))
    out.names.emplace_back(PolicySubject::interface, std::string(change.path.key(0)));
  for (const Value value : {change.was, change.want})
    for (const Path port : ports_needed(change.path, value))
      out.names.emplace_back(PolicySubject::interface, std::string(port.key(0)));
  if (const TouchedRow* const found = find_row(kRows, change.path.row())) found->touches(change, out);
  return out;
}

}  // namespace lockstep
