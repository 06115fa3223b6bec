// Entries ↔ CONFIG_DB: which rows of the schema SONiC's configuration stands for, and how.
//
// The only files of the driver that name entries are this and map_*. Promises: entries_of() of what edited()
// returns has every change that has no error in its outcome; rows and fields that no entry stands for stay as
// they are; an edit of what is already so changes nothing. Refuses, per change: values that SONiC's fields
// can't hold, entries of a port that PORT does not have, and times that SONiC's watchdog can't keep.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "drivers/driver.hpp"
#include "drivers/sonic/config_db.hpp"
#include "drivers/sonic/switch_state.hpp"

namespace lockstep::sonic {

std::vector<RowId> rows_read();
std::vector<RowId> rows_written();
// Of rows_read(), those of what the switch's daemons say.
std::vector<RowId> effect_rows();

void add_entries(const ConfigDb& config, const Scope& scope, TreeBuilder& tree);
// What the switch's daemons say.
void add_effects(const SwitchState& state, const Scope& scope, TreeBuilder& tree);
// Buffers whose numbers are not in CONFIG_DB, as buffermgrd has computed them.
void add_computed(const ConfigDb& config, const SwitchState& state, const Scope& scope, TreeBuilder& tree);
bool wants_ports(const Scope& scope);
bool wants_sessions(const Scope& scope);
bool wants_hash_seed(const Scope& scope);
bool wants_computed(const Scope& scope);
bool wants_capabilities(const Scope& scope);
// These rows could not be read; and all of configuration, of ports' effects and so on.
std::vector<Unread> unread_rows(std::span<const RowId> rows, const Scope& scope, const Error& why);
std::vector<Unread> unread_config(const Scope& scope, const Error& why);
std::vector<Unread> unread_ports(const Scope& scope, const Error& why);
std::vector<Unread> unread_sessions(const Scope& scope, const Error& why);
std::vector<Unread> unread_hash_seed(const Scope& scope, const Error& why);
std::vector<Unread> unread_computed(const Scope& scope, const Error& why);
std::vector<Unread> unread_counters(const Scope& scope, const Error& why);
// What is computed by SONiC's own daemons and can't be set, what only people may change, and what the ASIC
// can't count.
std::vector<Incapable> incapable_of(const ConfigDb& config, const SwitchState& state, const Scope& scope);

// Whether what is configured is saved for the switch's next boot: the driver saves (saved_config.hpp).
RowId saving_row();
void add_saved(TreeBuilder& tree);
// Where the driver can't reach the switch's files.
Incapable unsavable();
// Whether the switch's daemons have taken over the configuration (taken_over.hpp).
RowId taken_over_row();
void add_taken_over(TreeBuilder& tree);
// Before they have started.
Incapable not_started();
// The first entry that two configurations do not have alike, with both values; empty: none. What SONiC's
// daemons compute does not count.
std::string first_difference(const ConfigDb& running, const ConfigDb& saved, const Scope& scope);

// The settings that one configuration has and another lacks, as changes that make them; of rows that are read
// by name, those of `changes`.
ChangeSet lost_settings(const ConfigDb& config, const ConfigDb& without, const ChangeSet& changes);
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
