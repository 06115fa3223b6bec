// make_sonic_driver: the driver interface over the Redis of a switch that runs SONiC.
//
// Promises: reads CONFIG_DB for what is configured, and APPL_DB, STATE_DB and ASIC_DB for what is so, kept
// apart: what the daemons have not passed on is an effect that is missing (taken_over.hpp). Changes rows of
// CONFIG_DB by a plan (config_plan.hpp) whose every state is valid by the given YANG models, or by the
// built-in rules where there are none or the configuration broke them before; faults that were there before
// stay, and are none of its own. Each transaction of Redis has as many rows as the order allows, and none is
// written if another program has changed one of them. Rows and fields that no entry stands for stay as they
// are. After an error, ports that it has shut down come up and rows that it was to make again come back, or
// no outcome is without an error; outcomes say what is there by what was read back; after a lost reply all
// are unknown. way_back() names those ports and rows beforehand, and the next apply() of the same changes
// makes that plan or none. Refuses: undo_after and settle(undo) (SONiC has no commit timer; the engine rolls
// back with a plan; lockstep-agent rolls back by itself), and an epoch older than one that it has seen. On
// the switch it takes a checkpoint for `config rollback` before the first write of a change, and saves, as a
// change of its own; from elsewhere what it writes is lost at the switch's next boot until `config save` is
// run there (docs/sonic.md).
#pragma once

#include <string>

#include "drivers/driver.hpp"
#include "drivers/sonic/database_config.hpp"

namespace lockstep {

struct SonicTarget {
  std::string device;
  sonic::DatabaseConfig databases;
  std::string models{};  // folder of SONiC's YANG models; empty: the built-in rules
  // On the switch itself, else empty (kDatabaseConfigFile, kSavedConfigFile, kCheckpointFolder).
  std::string database_file{};  // `databases` is read from it at the first call: SONiC writes it at its start
  std::string saved_file{};     // what the switch's next boot loads
  std::string checkpoints{};
};

Attached make_sonic_driver(SonicTarget target);

// The databases of a Redis that is reached over the network, where SONiC's database_config.json can't be
// read: numbers and separators as SONiC ships them.
sonic::DatabaseConfig usual_databases(const sonic::RedisServer& server);

}  // namespace lockstep
