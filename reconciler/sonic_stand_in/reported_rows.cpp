#include "reconciler/sonic_stand_in/reported_rows.hpp"

#include <algorithm>

#include "drivers/frr/state.hpp"
#include "reconciler/sonic_stand_in/kernel_rows.hpp"

namespace lockstep::sonic {
namespace {

const ConfigTable& ports_of(const ConfigDb& rows) {
  static const ConfigTable kNone;
  const auto found = rows.tables.find("PORT");
  return found == rows.tables.end() ? kNone : found->second;
}

const char* up_or_down(bool up) { return up ? "up" : "down"; }

}  // namespace

ReportedRows reported_ports(const ConfigDb& rows, const std::vector<Link>& links,
                            const std::set<std::string>& reports_up) {
  ReportedRows out;
  for (const auto& [port, row] : ports_of(rows)) {
    const auto link = std::ranges::find(links, port, &Link::name);
    const bool is_there = link != links.end();
    const bool lies = reports_up.contains(port);
    RedisHash& fields = out["PORT_TABLE:" + port];
    fields["admin_status"] = up_or_down(lies || (is_there && link->admin_up));
    fields["oper_status"] = up_or_down(lies || (is_there && link->admin_up && link->carrier));
    if (is_there) fields["mtu"] = std::to_string(link->mtu);
    for (const char* const field : {"lanes", "speed"})
      if (const auto found = row.find(std::string_view(field)); found != row.end())
        if (const auto* const text = std::get_if<std::string>(&found->second)) fields[field] = *text;
  }
  return out;
}

ReportedRows reported_addresses(const ConfigDb& rows, const NetworkState& kernel) {
  ReportedRows out;
  out["PORT_TABLE:PortInitDone"]["lanes"] = "0";  // orchagent/portsorch.cpp
  for (const InterfaceAddress& one : kernel.addresses) {
    const auto link = std::ranges::find(kernel.links, one.index, &Link::index);
    if (link == kernel.links.end() || !is_from_a_row(one)) continue;
    if (!link->loopback && !ports_of(rows).contains(link->name)) continue;  // of the management network
    const std::string name = link->loopback ? "Loopback0" : link->name;
    out["INTF_TABLE:" + name + ":" + one.prefix.text()] = {
        {"scope", "global"}, {"family", one.prefix.address.v6 ? "IPv6" : "IPv4"}};
  }
  return out;
}

ReportedRows reported_peers(const ConfigDb& rows, const std::map<std::string, LldpNeighbour>& heard) {
  ReportedRows out;
  for (const auto& [port, neighbor] : heard) {
    if (!ports_of(rows).contains(port)) continue;  // of the management network
    RedisHash& fields = out["LLDP_ENTRY_TABLE:" + port];
    fields["lldp_rem_chassis_id"] = neighbor.chassis;
    fields["lldp_rem_port_id"] = neighbor.port_id;
    // IEEE 802.1AB-2016 8.5.3.2: an interface's name, or a MAC address.
    fields["lldp_rem_port_id_subtype"] = neighbor.port_is_name ? "5" : "3";
    fields["lldp_rem_port_desc"] = neighbor.port_description;
    fields["lldp_rem_sys_name"] = neighbor.system_name;
  }
  return out;
}

ReportedRows reported_sessions(const std::map<std::string, std::string>& sessions) {
  ReportedRows out;
  for (const auto& [neighbor, session] : sessions) {
    if (session == frr::kSessionInactive || session.empty()) continue;
    std::string state(session == frr::kSessionNoPolicy ? frr::kEstablished : std::string_view(session));
    if (state.front() >= 'a' && state.front() <= 'z')
      state.front() = static_cast<char>(state.front() - 'a' + 'A');  // as bgpd says it, and bgpmon copies it
    out["NEIGH_STATE_TABLE|" + neighbor]["state"] = state;
  }
  return out;
}

std::vector<RedisCommand> commands_between(const ReportedRows& was, const ReportedRows& is) {
  std::vector<RedisCommand> out;
  for (const auto& [name, fields] : was)
    if (!is.contains(name)) out.push_back({"DEL", name});
  for (const auto& [name, fields] : is) {
    const auto before = was.find(name);
    const RedisHash& old = before == was.end() ? RedisHash() : before->second;
    RedisCommand set{"HSET", name};
    for (const auto& [field, value] : fields)
      if (const auto had = old.find(field); had == old.end() || had->second != value)
        set.insert(set.end(), {field, value});
    if (set.size() > 2) out.push_back(std::move(set));
    RedisCommand gone{"HDEL", name};
    for (const auto& [field, value] : old)
      if (!fields.contains(field)) gone.push_back(field);
    if (gone.size() > 2) out.push_back(std::move(gone));
  }
  return out;
}

}  // namespace lockstep::sonic
