// All comparisons of the program. diff(): desired against actual, under the schema's compare rules;
// changes_between(): one desired tree against another, value by value.
//
// Promises of diff(): pure; an entry in an unread scope is never reported as different; a member that no
// intent contains is removed only inside a claim; effect entries are compared like any other (the caller
// decides how to handle them).
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
  ChangeSet effects;              // effect entries that differ: never written, but remedied or reported
  std::vector<Entry> unobserved;  // desired entries whose scope could not be read
  bool in_sync() const { return changes.empty() && effects.empty() && unobserved.empty(); }
};

Difference diff(const Intent& intent, const Observation& observation);

// The changes that turn `was` into `want`. Values are compared exactly, without the compare rules: this
// compares specs, not devices. A removal has the origin of `was`, every other change that of `want`.
ChangeSet changes_between(const Tree& was, const Tree& want);

// Whether `have` satisfies `want` under the row's compare rule.
bool satisfies(RowId row, Value want, Value have);

// The members of the set `have` that are not in `want`.
std::vector<std::string> beyond(Value want, Value have);

// A scope of a row (Claim, Unread, Incapable) is given by its leading keys: true if `path` begins with them.
bool has_leading_keys(Path path, const std::vector<std::string>& keys);

// The claim that covers `path`; null: none does.
const Claim* claim_of(const Intent& intent, Path path);

// The entry of `unread` that covers `path`; null: none does.
const Unread* unread_of(const std::vector<Unread>& unread, Path path);
bool is_unread(const std::vector<Unread>& unread, Path path);

// The first entry of `incapable` that covers `path`; null: none does.
const Incapable* incapable_of(const std::vector<Incapable>& incapable, Path path);

}  // namespace lockstep
