#include "drivers/sonic/switch_state.hpp"

#include <algorithm>

namespace lockstep::sonic {
namespace {

// The rows of a table by key: a list of names, and then all rows in one piece.
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

}  // namespace

void add_port_states(const StateRows& ports, const StateRows& neighbors, SwitchState& state) {
  for (const auto& [port, fields] : ports)
    if (const std::string* const status = find(fields, "oper_status"))
      state.ports[port].is_up = *status == "up";
  for (const auto& [port, fields] : neighbors) state.ports[port].peer = peer_of(fields);
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
  TRY(const StateRows ports, rows_of(appl, "PORT_TABLE", call));
  TRY(const StateRows neighbors, rows_of(appl, "LLDP_ENTRY_TABLE", call));
  add_port_states(ports, neighbors, state);
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
