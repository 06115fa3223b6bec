#include "drivers/sonic/switch_state.hpp"

#include <algorithm>
#include <utility>

#include "drivers/sonic/counter_gates.hpp"
#include "drivers/sonic/port_rows.hpp"

namespace lockstep::sonic {
namespace {

const std::string* find(const RedisHash& fields, std::string_view name) {
  const auto found = fields.find(name);
  return found == fields.end() ? nullptr : &found->second;
}

// As lldpd says it: an interface's name (subtype 5, IEEE 802.1AB-2016 8.5.3.2; 7: assigned locally), else the
// description has it.
std::string peer_of(const RedisHash& neighbor) {
  const std::string* const system = find(neighbor, "lldp_rem_sys_name");
  const std::string* const subtype = find(neighbor, "lldp_rem_port_id_subtype");
  const bool is_name = subtype == nullptr || *subtype == "5" || *subtype == "7";
  const std::string* const port = find(neighbor, is_name ? "lldp_rem_port_id" : "lldp_rem_port_desc");
  if (system == nullptr || port == nullptr || system->empty() || port->empty()) return {};
  return *system + ":" + *port;
}

// Releases up to 202106 write "[BUFFER_PROFILE_TABLE:name]".
std::string_view name_in_reference(std::string_view text) {
  if (!text.starts_with('[') || !text.ends_with(']')) return text;
  text = text.substr(1, text.size() - 2);
  return text.substr(std::min(text.find(':'), text.size() - 1) + 1);
}

}  // namespace

Result<StateRows> rows_of(StateDatabase& database, const std::string& table, const Call& call) {
  const std::string prefix = table + database.separator;
  const RedisCommand list[] = {{"KEYS", prefix + "*"}};
  TRY(const auto names, database.connection.send(list, RedisIntention::asks, call));
  if (auto error = redis_error(table, names[0])) return *std::move(error);
  std::vector<std::string> keys;
  std::vector<RedisCommand> commands;
  for (const RedisReply& name : names[0].elements) {
    if (name.kind != RedisReply::Kind::text || !name.text.starts_with(prefix)) continue;
    keys.push_back(name.text.substr(prefix.size()));
    commands.push_back({"HGETALL", name.text});
  }
  StateRows rows;
  if (commands.empty()) return rows;
  TRY(const auto replies, database.connection.send(commands, RedisIntention::asks, call));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    TRY(rows[keys[i]], redis_hash_in(table, replies[i]));
  }
  return rows;
}

void add_hash_seed(const StateRows& rows, SwitchState& state) {
  const auto found = rows.find("switch");
  const std::string* const seed = found == rows.end() ? nullptr : find(found->second, "ecmp_hash_seed");
  if (seed == nullptr) return;
  const ConfigRow row{{"seed", *seed}};
  state.hash_seed = number_in(&row, "seed");
}

void add_groups(const StateRows& profiles, const StateRows& groups, std::string_view separator,
                SwitchState& state) {
  for (const auto& [key, fields] : groups) {
    const std::size_t end = key.find(separator);
    const std::string* const name = find(fields, "profile");
    const auto profile =
        name == nullptr ? profiles.end() : profiles.find(std::string(name_in_reference(*name)));
    if (end == key.npos || profile == profiles.end()) continue;
    const Result<ConfigRow> row = row_of_redis_hash(profile->second);
    if (!row) continue;
    for (const int group : numbers_of_range(std::string_view(key).substr(end + separator.size())))
      state.groups[key.substr(0, end)][group] = *row;
  }
}

std::string state_text(const SwitchState& state) {
  std::string out;
  for (const auto& [port, seen] : state.ports)
    out += port + (seen.is_up ? *seen.is_up ? "+" : "-" : "?") + seen.peer + "\n";
  for (const auto& [neighbor, session] : state.sessions) out += neighbor + "=" + session + "\n";
  if (state.hash_seed) out += "seed=" + std::to_string(*state.hash_seed) + "\n";
  ConfigDb computed;
  for (const auto& [port, groups] : state.groups)
    for (const auto& [group, profile] : groups) computed.tables[port][std::to_string(group)] = profile;
  return out + config_db_json(computed);
}

Result<Done> read_hash_seed(StateDatabase& appl, SwitchState& state, const Call& call) {
  TRY(const StateRows rows, rows_of(appl, "SWITCH_TABLE", call));
  add_hash_seed(rows, state);
  return Done{};
}

Result<Done> read_groups(StateDatabase& appl, SwitchState& state, const Call& call) {
  TRY(const StateRows profiles, rows_of(appl, "BUFFER_PROFILE_TABLE", call));
  TRY(const StateRows groups, rows_of(appl, "BUFFER_PG_TABLE", call));
  add_groups(profiles, groups, appl.separator, state);
  return Done{};
}

Result<Done> read_capabilities(StateDatabase& state_db, SwitchState& state, const Call& call) {
  const std::vector<std::string> names = counter_capability_rows();
  std::vector<RedisCommand> commands;
  for (const std::string& name : names) commands.push_back({"HGETALL", name});
  TRY(const auto replies, state_db.connection.send(commands, RedisIntention::asks, call));
  for (std::size_t i = 0; i < names.size(); ++i) {
    TRY(RedisHash fields, redis_hash_in(names[i], replies[i]));
    if (!fields.empty()) state.capabilities[names[i]] = std::move(fields);
  }
  return Done{};
}

void add_port_states(StateRows ports, const StateRows& neighbors, SwitchState& state) {
  for (const auto& [port, fields] : ports)
    if (const std::string* const status = find(fields, "oper_status"))
      state.ports[port].is_up = *status == "up";
  for (const auto& [port, fields] : neighbors) state.ports[port].peer = peer_of(fields);
  state.port_rows = std::move(ports);
}

void add_sessions(const StateRows& neighbors, SwitchState& state) {
  for (const auto& [neighbor, fields] : neighbors)
    if (const std::string* const session = find(fields, "state")) {
      std::string lower = *session;
      std::ranges::transform(lower, lower.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      });
      state.sessions[neighbor] = std::move(lower);
    }
}

Result<Done> read_port_states(StateDatabase& appl, SwitchState& state, const Call& call) {
  TRY(StateRows ports, rows_of(appl, "PORT_TABLE", call));
  TRY(const StateRows neighbors, rows_of(appl, "LLDP_ENTRY_TABLE", call));
  add_port_states(std::move(ports), neighbors, state);
  return Done{};
}

Result<Done> read_sessions(StateDatabase& state_db, SwitchState& state, const Call& call) {
  TRY(const StateRows neighbors, rows_of(state_db, "NEIGH_STATE_TABLE", call));
  add_sessions(neighbors, state);
  return Done{};
}

Result<std::string> redis_run_id(RedisConnection& connection, const Call& call) {
  const RedisCommand ask[] = {{"INFO", "server"}};
  TRY(const auto replies, connection.send(ask, RedisIntention::asks, call));
  if (auto error = redis_error("INFO server", replies[0])) return *std::move(error);
  return run_id_in(replies[0]);
}

}  // namespace lockstep::sonic
