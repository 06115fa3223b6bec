// SwitchState: what SONiC's daemons say of the switch itself: APPL_DB and STATE_DB, which are kept apart from
// the configuration.
//
// Promises: what a database does not say is absent. Read in two round trips of each database, whatever the
// number of ports.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "drivers/sonic/config_db.hpp"
#include "drivers/sonic/redis_connection.hpp"

namespace lockstep::sonic {

using StateRows = std::map<std::string, RedisHash>;  // of a table, by key

struct PortState {
  std::optional<bool> is_up{};  // oper_status
  std::string peer{};           // "gpu1:rail0", by LLDP; empty: none is known
};

struct SwitchState {
  StateRows port_rows{};  // of APPL_DB PORT_TABLE
  std::map<std::string, PortState> ports;
  std::map<std::string, std::string> sessions;  // of BGP neighbors by name or address: "established"
  std::optional<std::int64_t> hash_seed{};      // of ECMP
  // The profiles of ports' priority groups as buffermgrd has computed them, by port and group.
  std::map<std::string, std::map<int, ConfigRow>> groups{};
  // Rows that say what the ASIC counts (counter_capability_rows()), by their names; those that are there.
  std::map<std::string, RedisHash, std::less<>> capabilities{};
};

// What rows say: of APPL_DB PORT_TABLE and LLDP_ENTRY_TABLE; of STATE_DB NEIGH_STATE_TABLE; of
// APPL_DB SWITCH_TABLE; of BUFFER_PROFILE_TABLE and BUFFER_PG_TABLE.
void add_port_states(StateRows ports, const StateRows& neighbors, SwitchState& state);
void add_sessions(const StateRows& neighbors, SwitchState& state);
void add_hash_seed(const StateRows& rows, SwitchState& state);
void add_groups(const StateRows& profiles, const StateRows& groups, std::string_view separator,
                SwitchState& state);
// All that can change while the configuration does not, for a revision.
std::string state_text(const SwitchState& state);

// One database of a switch.
struct StateDatabase {
  RedisConnection connection;
  std::string separator;
};

// The rows of a table by key, in two round trips.
Result<StateRows> rows_of(StateDatabase& database, const std::string& table, const Call& call);
Result<Done> read_port_states(StateDatabase& appl, SwitchState& state, const Call& call);
Result<Done> read_hash_seed(StateDatabase& appl, SwitchState& state, const Call& call);
Result<Done> read_groups(StateDatabase& appl, SwitchState& state, const Call& call);
Result<Done> read_capabilities(StateDatabase& state_db, SwitchState& state, const Call& call);
Result<Done> read_sessions(StateDatabase& state_db, SwitchState& state, const Call& call);
// Identity of the Redis process: another one has loaded its databases anew.
Result<std::string> redis_run_id(RedisConnection& connection, const Call& call);

}  // namespace lockstep::sonic
