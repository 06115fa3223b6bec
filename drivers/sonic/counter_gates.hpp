// Counter gates: whether a SONiC switch reads the groups of its counters, and why not: FLEX_COUNTER_TABLE and
// PFC_WD of CONFIG_DB, and what STATE_DB says that the ASIC can count. So that an absent counter has a
// reason.
//
// Promises: one CounterGroup for each of sonic_counter_groups(), in its order. A group whose row is missing
// is off, as orchagent makes it (portsorch.cpp, syncd's FlexCounter: not enabled). `switch_on` is the field
// of CONFIG_DB that turns it on; none where that is a choice for each port (PFC_WD). A group of which the
// ASIC counts nothing is unsupported even if it is on: orchagent then reads nothing and says nothing. What
// cannot be read makes groups `unknown`; it is no error. Refuses nothing.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/sonic/config_db.hpp"
#include "drivers/sonic/counter_names.hpp"
#include "specs/model/counter_reading.hpp"

namespace lockstep::sonic {

// The rows that the gates are read from, by their names in Redis ("FLEX_COUNTER_TABLE|QUEUE").
std::vector<std::string> counter_gate_rows(const std::vector<std::string>& ports);
std::vector<std::string> counter_capability_rows();

struct StoredGates {
  std::map<std::string, RedisHash, std::less<>> config{};        // rows that are there
  std::map<std::string, RedisHash, std::less<>> capabilities{};  // the same
  std::string config_error{};                                    // empty: CONFIG_DB was read
  std::string state_error{};                                     // empty: STATE_DB was read
};
std::vector<CounterGroup> counter_groups_of(const StoredGates& stored);

}  // namespace lockstep::sonic
