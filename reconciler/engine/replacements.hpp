// Replacements: where one lossless priority or DSCP replaces another at a port, its changes are split into
// two halves: the first adds the new beside the old, the second removes the old. Senders switch between them
// (ladders.hpp).
//
// Promises: pure; both halves together make the requested change. Between them each priority that is lossless
// before or after has PFC and its buffer, each DSCP and priority is in one class, each one that is lossless
// before or after is in a lossless class, and the sum of the shares of a port's classes is unchanged. Classes
// for which there is no such state stay in one write, with the reason. A port that replaces nothing stays as
// it is.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reconciler/engine/atoms.hpp"

namespace lockstep {

struct Replacements {
  std::vector<AtomChange> changes;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> order;  // first halves before second ones, by index
  std::map<std::string_view, std::string> in_one_write;  // ports whose classes stay in one write, and why
  std::vector<Path> read;                                // entries of the device that this depends on
};

// `seen`: of the device; null: nothing is known about it.
Replacements cut_replacements(const Observation* seen, std::vector<AtomChange> changes,
                              const Columns& columns);

}  // namespace lockstep
