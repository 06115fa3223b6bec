// Entries ↔ FRR: which rows of the schema this driver supports, and what each corresponds to.
//
// The only file of the driver that names entries. Promises: entries_of and edit_of are inverse for rows that
// can be written. Refuses (invalid_spec) keys and values that would be more than one word of an FRR command
// line.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "drivers/driver.hpp"
#include "drivers/frr/state.hpp"

namespace lockstep::frr {

// What an entry is in FRR's terms.
enum class Field : std::uint8_t {
  profile,
  profile_multiplier,
  profile_receive,
  profile_transmit,
  speaker,
  aggregate,
  asn,
  graceful_shutdown,
  max_paths,
  multipath_relax,
  neighbor,
  neighbor_bfd,
  neighbor_hold,
  neighbor_keepalive,
  neighbor_remote_as,
  neighbor_shutdown,
  redistribute,
  router_id,
  saved,
};

// One change in FRR's terms. `word` is the desired value as FRR writes it; empty: to be removed (or false).
struct Edit {
  Field field;
  std::string key = {};  // neighbour's interface, prefix, profile or source; empty: the speaker itself
  bool remove = false;
  std::string word = {};    // text and integers
  std::int64_t number = 0;  // integers
  bool on = false;          // booleans and present
  std::size_t change = 0;
};

std::vector<RowId> rows_read();
std::vector<RowId> rows_written();
// What has to be read for a row; nothing: the row is not supported.
Wanted needs_of(RowId row);

// Whether the row is the one that reports if the running configuration is saved.
bool is_saving(RowId row);
// What the offers of remedies depend on, by the entries of an observation.
struct SeenSessions {
  bool speaks = false;                          // there is a BGP speaker
  std::map<std::string, bool> is_shut;          // of each neighbour
  std::map<std::string, std::string> sessions;  // of each neighbour that reports one, as in BgpState

  // Whether observations of this scope have all of it.
  static bool are_in(const Scope& scope);
  static SeenSessions of(const Tree& have);
};

// The session, or the kernel's next hops, that an effect difference is about.
bool is_session(RowId row);
bool is_bfd_session(RowId row);
bool is_timer_in_use(RowId row);
bool is_forwarding(RowId row);
bool is_forwarding_count(RowId row);

// The daemon that an effect difference is about; empty: none.
std::string daemon_of(Path path);

Result<Edit> edit_of(const Change& change, std::size_t index);
void entries_of(const State& state, const Scope& scope, TreeBuilder& tree);

// Rows that could not be read, because their daemon did not answer.
std::vector<Unread> unread_of(const State& state, const Scope& scope);

}  // namespace lockstep::frr
