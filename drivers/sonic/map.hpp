// Entries ↔ CONFIG_DB: which rows of the schema SONiC's configuration stands for, and how.
//
// The only file of the driver that names entries. Promises: entries_of() of what edited() returns has every
// change that has no error in its outcome; rows and fields that no entry stands for stay as they are; an edit
// of what is already so changes nothing. Refuses, per change: values that SONiC's fields can't hold, and
// entries of a port that PORT does not have.
#pragma once

#include <optional>
#include <vector>

#include "drivers/driver.hpp"
#include "drivers/sonic/config_db.hpp"
#include "drivers/sonic/switch_state.hpp"

namespace lockstep::sonic {

std::vector<RowId> rows_read();
std::vector<RowId> rows_written();

void add_entries(const ConfigDb& config, const Scope& scope, TreeBuilder& tree);
// What the switch's daemons say.
void add_effects(const SwitchState& state, const Scope& scope, TreeBuilder& tree);
bool wants_ports(const Scope& scope);
bool wants_sessions(const Scope& scope);
// All rows of configuration, of ports' effects, of sessions: could not be read.
std::vector<Unread> unread_config(const Scope& scope, const Error& why);
std::vector<Unread> unread_ports(const Scope& scope, const Error& why);
std::vector<Unread> unread_sessions(const Scope& scope, const Error& why);
// What is computed by SONiC's own daemons and can't be set.
std::vector<Incapable> incapable_of(const ConfigDb& config, const Scope& scope);

// Whether what is configured is saved for the switch's next boot: the driver saves (saved_config.hpp).
RowId saving_row();
void add_saved(TreeBuilder& tree);
// Where the driver can't reach the switch's files.
Incapable unsavable();
// The first entry that two configurations do not have alike, with both values; empty: none. What SONiC's
// daemons compute does not count.
std::string first_difference(const ConfigDb& running, const ConfigDb& saved, const Scope& scope);

// Brings a port up that is down.
Change coming_up(const std::string& port);
// Every setting that was observed, as changes that make it.
ChangeSet settings_of(const Tree& have);

struct Edited {
  ConfigDb config;
  std::vector<std::optional<Error>> outcomes;  // one for each change, in order
};
Edited edited(const ConfigDb& config, const ChangeSet& changes);
// What a switch has of itself before these changes: their ports, and the pool of lossless traffic.
ConfigDb bare_config(const ChangeSet& changes);

}  // namespace lockstep::sonic
