// Differences of one problem in words: those that differ alike are shown once, and an entry that is there in
// another's place as a change of value.
#pragma once

#include <string>
#include <vector>

#include "reconciler/engine/status.hpp"

namespace lockstep {

// "interface[rail0]/mtu is 1500, desired 9000".
std::string difference_text(const DriftEntry& item);

// "interface[rail0]/mtu is 1500, desired 9000 (and 3 alike); interface[rail0]/admin is missing, desired
// true".
std::string differences_text(const std::vector<const DriftEntry*>& items);

// A member of a port's collection that is there instead of the only one that is missing from it.
struct ReplacedMember {
  const DriftEntry* actual;
  const DriftEntry* desired;
  std::string collection() const;  // "interface[rail0]/address"
  std::string actual_key() const;  // "192.0.2.1/31"
  std::string desired_key() const;
};

// Takes the entries of replacements out of `items`.
std::vector<ReplacedMember> take_replaced_members(std::vector<const DriftEntry*>& items);

}  // namespace lockstep
