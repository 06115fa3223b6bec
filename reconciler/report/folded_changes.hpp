// Changes of one device (or of many) folded for people: the same change of many ports is one line,
// `interface[swp[1-4]]/mtu  1500 -> 9216`; likewise a kernel parameter of many ports. Ports are in the order
// of their numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "specs/model/diff.hpp"

namespace lockstep {

struct FoldedChange {
  std::string path;  // with the ports folded
  RowId row = 0;     // the row of all changes in the line
  Value was;
  Value want;
  std::uint32_t origin = 0;
  std::size_t count = 1;  // number of changes in the line
  std::vector<std::string> ports{};
  // Where the ports are in the path; size 0: no port.
  std::size_t ports_begin = 0;
  std::size_t ports_size = 0;
  std::vector<std::size_t> ids{};  // of the changes in the line
};

// In the order of each line's first change.
struct FoldableChange {
  Path path;
  Value was;
  Value want;
  std::uint32_t origin = 0;
  std::size_t id = 0;  // the caller's own
};
std::vector<FoldedChange> fold_changes(const std::vector<FoldableChange>& changes);

// A value in a row's unit for people: 1000000000 bit/s as 1Gbps, 64000 B as 64KB, 3 s as 3s.
std::string value_text(RowId row, Value value);

}  // namespace lockstep
