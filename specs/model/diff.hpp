// diff(): the only comparison in the program. want against have, under the schema's compare rules.
//
// Promises: pure; an entry in an unread scope is never called different; a member that no intent names is
// removed only inside a claim; effect entries are compared like any other (the caller decides what to do
// about them).
#pragma once

#include <vector>

#include "specs/model/intent.hpp"

namespace lockstep {

struct Change {
  Path path;
  Value was;   // none: absent
  Value want;  // none: remove
  OriginId origin = 0;
  bool operator==(const Change&) const = default;
};

using ChangeSet = std::vector<Change>;  // in path order

struct Difference {
  ChangeSet changes;              // config and next_boot entries that differ
  ChangeSet effects;              // effect entries that differ: never written, cured or reported
  std::vector<Entry> unobserved;  // wanted entries whose scope could not be read
  bool in_sync() const { return changes.empty() && effects.empty() && unobserved.empty(); }
};

Difference diff(const Intent& intent, const Observation& observation);

// True when `have` satisfies `want` under the row's compare rule.
bool satisfies(RowId row, Value want, Value have);

// The members of a set that are not among the wanted ones.
std::vector<std::string> beyond(Value want, Value have);

// A scope of a row (Claim, Unread, Incapable) is named by its leading keys: true when they are those of
// `path`.
bool has_leading_keys(Path path, const std::vector<std::string>& keys);

// The claim that covers `path`; null: nobody owns it whole.
const Claim* claim_of(const Intent& intent, Path path);

// The entry of `unread` that covers `path`; null: none does.
const Unread* unread_of(const std::vector<Unread>& unread, Path path);
bool is_unread(const std::vector<Unread>& unread, Path path);

// The first entry of `incapable` that covers `path`; null: none does.
const Incapable* incapable_of(const std::vector<Incapable>& incapable, Path path);

}  // namespace lockstep
