#include "drivers/sonic/taken_over.hpp"

#include <charconv>
#include <utility>

#include "drivers/sonic/config_plan.hpp"
#include "drivers/sonic/text_parts.hpp"

namespace lockstep::sonic {
namespace {

constexpr std::string_view kAdmin = "admin_status";

const ConfigTable& table_in(const ConfigDb& config, std::string_view name) {
  static const ConfigTable kNone;
  const auto found = config.tables.find(name);
  return found == config.tables.end() ? kNone : found->second;
}

std::string field_of_row(const ConfigRow& row, std::string_view field) {
  const auto found = row.find(field);
  const auto* const text = found == row.end() ? nullptr : std::get_if<std::string>(&found->second);
  return text == nullptr ? "" : *text;
}

// Empty: it is not shown.
std::string shown(const StateRows& rows, const std::string& key, std::string_view field) {
  const auto row = rows.find(key);
  if (row == rows.end()) return {};
  const auto found = row->second.find(field);
  return found == row->second.end() ? "" : found->second;
}

std::string differs(const std::string& what, const std::string& wanted, const std::string& there,
                    const char* where) {
  return what + " is " + wanted + ", and " + there + " in " + where;
}

// "3,4" as the bits of SAI_PORT_ATTR_PRIORITY_FLOW_CONTROL; none: it is no such list.
std::string bits_of(std::string_view list) {
  unsigned bits = 0;
  for (const std::string& one : list.empty() ? std::vector<std::string>() : parts_of(list, ',')) {
    unsigned number = 0;
    const auto [end, failed] = std::from_chars(one.data(), one.data() + one.size(), number);
    if (failed != std::errc() || end != one.data() + one.size() || number > 7) return {};
    bits |= 1U << number;
  }
  return std::to_string(bits);
}

std::string port_not_taken_over(const ConfigDb& config, const std::string& port, const ConfigRow& row,
                                const TakenOver& there) {
  const std::string admin = is_port_up(row) ? "up" : "down";
  if (const std::string now = shown(there.ports, port, kAdmin); !now.empty() && now != admin)
    return differs("PORT|" + port + " admin_status", admin, now, "APPL_DB");
  const std::string mtu = field_of_row(row, "mtu");
  if (const std::string now = shown(there.ports, port, "mtu"); !now.empty() && !mtu.empty() && now != mtu)
    return differs("PORT|" + port + " mtu", mtu, now, "APPL_DB");
  const std::string state = shown(there.asic_ports, port, "SAI_PORT_ATTR_ADMIN_STATE");
  if (!state.empty() && (state == "true") != is_port_up(row))
    return differs("PORT|" + port + " admin_status", admin, state == "true" ? "up" : "down", "ASIC_DB");
  // With asymmetric PFC other attributes have them.
  const std::string pfc = shown(there.asic_ports, port, "SAI_PORT_ATTR_PRIORITY_FLOW_CONTROL");
  if (pfc.empty() || field_of_row(row, "pfc_asym") == "on") return {};
  const ConfigRow* const maps = config.find("PORT_QOS_MAP", port);
  const std::string wanted = bits_of(maps == nullptr ? "" : field_of_row(*maps, "pfc_enable"));
  if (wanted.empty() || wanted == pfc) return {};
  return differs("PORT_QOS_MAP|" + port + " pfc_enable, as bits,", wanted, pfc, "ASIC_DB");
}

std::string address_not_taken_over(const ConfigDb& config, const TakenOver& there) {
  std::set<std::pair<std::string, IpPrefix>> wanted;
  for (const char* const table : {"INTERFACE", "LOOPBACK_INTERFACE"})
    for (const auto& [key, row] : table_in(config, table)) {
      const std::size_t bar = key.find('|');
      const auto prefix = bar == key.npos ? std::nullopt : IpPrefix::parse(key.substr(bar + 1));
      if (!prefix) continue;
      wanted.emplace(key.substr(0, bar), *prefix);
      if (!there.addresses.contains({key.substr(0, bar), *prefix}))
        return std::string(table) + "|" + key + " is not in APPL_DB";
    }
  for (const auto& one : there.addresses)
    if (table_in(config, "PORT").contains(one.first) && !wanted.contains(one))
      return one.second.text() + " of " + one.first + " is in APPL_DB, and not in CONFIG_DB";
  return {};
}

Result<Done> read_asic_ports(StateDatabase& counters, StateDatabase& asic, StateRows& out, const Call& call) {
  const RedisCommand names[] = {{"HGETALL", "COUNTERS_PORT_NAME_MAP"}};
  TRY(const auto named, counters.connection.send(names, RedisIntention::asks, call));
  TRY(const RedisHash ids, redis_hash_in("COUNTERS_PORT_NAME_MAP", named[0]));
  std::vector<RedisCommand> commands;
  std::vector<std::string> ports;
  for (const auto& [port, id] : ids) {
    const std::string row = "ASIC_STATE" + asic.separator + "SAI_OBJECT_TYPE_PORT" + asic.separator + id;
    commands.push_back({"HGETALL", row});
    ports.push_back(port);
  }
  if (commands.empty()) return Done{};
  TRY(const auto replies, asic.connection.send(commands, RedisIntention::asks, call));
  for (std::size_t i = 0; i < ports.size(); ++i) {
    TRY(out[ports[i]], redis_hash_in("ASIC_DB", replies[i]));
  }
  return Done{};
}

}  // namespace

void add_interface_rows(const StateRows& rows, std::string_view separator, TakenOver& out) {
  for (const auto& [key, fields] : rows) {
    const std::size_t end = key.find(separator);  // the first: an IPv6 address has others
    if (end == key.npos) continue;
    if (const auto prefix = IpPrefix::parse(std::string_view(key).substr(end + separator.size())))
      out.addresses.emplace(key.substr(0, end), *prefix);
  }
}

Result<TakenOver> read_taken_over(StateRows ports, StateDatabase& appl, StateDatabase* counters,
                                  StateDatabase* asic, const Call& call) {
  TakenOver out;
  out.ports = std::move(ports);
  if (!out.has_started()) return out;
  TRY(const StateRows interfaces, rows_of(appl, "INTF_TABLE", call));
  add_interface_rows(interfaces, appl.separator, out);
  if (counters != nullptr && asic != nullptr)
    TRY_DONE(read_asic_ports(*counters, *asic, out.asic_ports, call));
  return out;
}

std::string not_taken_over(const ConfigDb& config, const TakenOver& there) {
  for (const auto& [port, row] : table_in(config, "PORT"))
    if (std::string why = port_not_taken_over(config, port, row, there); !why.empty()) return why;
  return address_not_taken_over(config, there);
}

}  // namespace lockstep::sonic
