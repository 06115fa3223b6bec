// Changes as lines for people, folded further than by fold_changes(): a new object is one line with its
// fields, keys that get the same value share a line, and devices with the same differences share all lines,
// also if only numbers vary.
//
// Promises: each change is in exactly one line; `count` is the number of changes in a line. Lines are in the
// order of their first change.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "reconciler/engine/plan.hpp"
#include "reconciler/report/folded_changes.hpp"

namespace lockstep {

struct ChangeLine {
  char sign = '~';    // '+' added, '-' removed, '~' changed
  std::string path;   // "interface[rail[0-1]]/offload[gso,tso]"
  std::string value;  // "1500 → 9216"; for a new object its fields: "dscp 26, share 60%"
  std::string origin;
  std::size_t count = 1;
  std::vector<std::string> ports{};
  std::size_t ports_begin = 0;     // where the ports begin in the path
  std::size_t ports_size = 0;      // 0: no port
  std::vector<std::size_t> ids{};  // of the changes, as in FoldableChange

  // "interface[*]/offload[gso,tso]": for any port.
  std::string entry() const;
};

// For one device. `origins`: by the changes' numbers.
std::vector<ChangeLine> change_lines(const std::vector<FoldedChange>& folded,
                                     const std::vector<PlanOrigin>& origins);

// One line per change.
std::vector<ChangeLine> unfolded_lines(const std::vector<FoldableChange>& changes,
                                       const std::vector<PlanOrigin>& origins);

// "fabric.yaml:9 mtu.host": where a value comes from; empty: not from a spec.
std::string origin_text(const PlanOrigin& origin);

// Merges the lines of two or more devices: differing parts become a range ("10.64.0.1/31 … 10.64.0.7/31").
// None: they differ in more than numbers.
std::optional<std::vector<ChangeLine>> merged(const std::vector<std::vector<ChangeLine>>& devices);

// "10.64.0.1/31 … 10.64.0.7/31", part by part and word by word; names of ports as a list.
std::string from_least_to_greatest(const std::vector<std::string>& texts);
std::string each_from_least_to_greatest(const std::vector<std::string>& texts);

// The common part of texts, or of lines, that differ only in numbers.
std::string without_numbers(const std::string& text);
std::string without_numbers(const std::vector<ChangeLine>& lines);

}  // namespace lockstep
