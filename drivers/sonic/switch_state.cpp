#include "drivers/sonic/switch_state.hpp"

#include <algorithm>

#include "drivers/sonic/counter_gates.hpp"
#include "drivers/sonic/port_rows.hpp"

namespace lockstep::sonic {
namespace {

// The rows of a table by key: a list of names, and then all rows in one piece.
Result<std::map<std::string, RedisHash>> table_of(StateDatabase& database, const std::string& table,
                                                  const Call& call) {
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
  std::map<std::string, RedisHash> rows;
  if (commands.empty()) return rows;
  TRY(const auto replies, database.connection.send(commands, RedisIntention::asks, call));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    TRY(rows[keys[i]], redis_hash_in(table, replies[i]));
  }
  return rows;
}

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

Result<Done> read_hash_seed(StateDatabase& appl, SwitchState& state, const Call& call) {
  const std::string name = "SWITCH_TABLE" + appl.separator + "switch";
  const RedisCommand ask[] = {{"HGET", name, "ecmp_hash_seed"}};
  TRY(const auto replies, appl.connection.send(ask, RedisIntention::asks, call));
  if (auto error = redis_error(name, replies[0])) return *std::move(error);
  const ConfigRow row{{"seed", replies[0].text}};
  state.hash_seed = number_in(&row, "seed");
  return Done{};
}

Result<Done> read_groups(StateDatabase& appl, SwitchState& state, const Call& call) {
  TRY(const auto profiles, table_of(appl, "BUFFER_PROFILE_TABLE", call));
  TRY(const auto groups, table_of(appl, "BUFFER_PG_TABLE", call));
  for (const auto& [key, fields] : groups) {
    const std::size_t end = key.find(appl.separator);
    const std::string* const name = find(fields, "profile");
    const auto profile =
        name == nullptr ? profiles.end() : profiles.find(std::string(name_in_reference(*name)));
    if (end == key.npos || profile == profiles.end()) continue;
    const Result<ConfigRow> row = row_of_redis_hash(profile->second);
    if (!row) continue;
    for (const int group : numbers_of_range(std::string_view(key).substr(end + appl.separator.size())))
      state.groups[key.substr(0, end)][group] = *row;
  }
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

Result<Done> read_port_states(StateDatabase& appl, SwitchState& state, const Call& call) {
  TRY(const auto ports, table_of(appl, "PORT_TABLE", call));
  for (const auto& [port, fields] : ports)
    if (const std::string* const status = find(fields, "oper_status"))
      state.ports[port].is_up = *status == "up";
  TRY(const auto neighbors, table_of(appl, "LLDP_ENTRY_TABLE", call));
  for (const auto& [port, fields] : neighbors) state.ports[port].peer = peer_of(fields);
  return Done{};
}

Result<Done> read_sessions(StateDatabase& state_db, SwitchState& state, const Call& call) {
  TRY(const auto neighbors, table_of(state_db, "NEIGH_STATE_TABLE", call));
  for (const auto& [neighbor, fields] : neighbors)
    if (const std::string* const session = find(fields, "state")) {
      std::string lower = *session;
      std::ranges::transform(lower, lower.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      });
      state.sessions[neighbor] = std::move(lower);
    }
  return Done{};
}

Result<std::string> redis_run_id(RedisConnection& connection, const Call& call) {
  const RedisCommand ask[] = {{"INFO", "server"}};
  TRY(const auto replies, connection.send(ask, RedisIntention::asks, call));
  if (auto error = redis_error("INFO server", replies[0])) return *std::move(error);
  return run_id_in(replies[0]);
}

}  // namespace lockstep::sonic
