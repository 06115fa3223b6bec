// Changes of one device (or of many) folded for people: the same change of many ports is one line,
// `interface[swp[1-4]]/mtu  1500 -> 9216`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "specs/model/diff.hpp"

namespace lockstep {

struct FoldedChange {
  std::string path;  // with the first keys folded
  RowId row = 0;     // of all changes that it stands for
  Value was;
  Value want;
  std::uint32_t origin = 0;
  std::size_t count = 1;  // changes that it stands for
};

// In the order of each line's first change.
struct FoldableChange {
  Path path;
  Value was;
  Value want;
  std::uint32_t origin = 0;
};
std::vector<FoldedChange> fold_changes(const std::vector<FoldableChange>& changes);

// A value in a row's unit as people write it: 1000000000 bit/s as 1Gbps, 64000 B as 64KB, 3 s as 3s.
std::string value_text(RowId row, Value value);

}  // namespace lockstep
