// Replacements: where one lossless priority or DSCP takes another's place at a port, its changes are cut in
// two halves: the first adds what comes beside what is there, the second removes what goes. Senders turn
// between them (ladders.hpp).
//
// Promises: pure; the halves together make what was asked for. Between them each priority that is lossless
// before or after has PFC and its buffer, each DSCP and priority is in one class, each that is lossless
// before or after in a lossless one, and the shares of a port's classes sum to what they did. Classes for
// which there is no such state stay in one write, and it is said why. A port that replaces nothing stays as
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
  std::map<std::string_view, std::string> in_one_write;        // ports whose classes are, and why
  std::vector<Path> read;                                      // of the device: what decided this
};

// `seen`: of the device, null: nothing is known of it.
Replacements cut_replacements(const Observation* seen, std::vector<AtomChange> changes,
                              const Columns& columns);

}  // namespace lockstep
