// EntryList: desired entries in any order; returns them in path order, with contradictory entries separated.
//
// Promises: of equal paths the first one added is kept, so objects must be added in descending priority;
// equal values do not contradict each other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "specs/model/tree.hpp"

namespace lockstep {

class EntryList {
 public:
  void add(Path path, Value value, OriginId origin) { entries_.push_back({path, origin, value}); }
  void add(Path path, bool value, OriginId origin) { add(path, Value::boolean(value), origin); }
  void add(Path path, std::uint64_t value, OriginId origin) { add(path, Value::integer(value), origin); }
  void add(Path path, std::string_view value, OriginId origin) { add(path, Value::text(value), origin); }
  void add(Path path, const char* value, OriginId origin) { add(path, std::string_view(value), origin); }

  // Empties the list.
  std::vector<Entry> sorted(std::vector<Clash>& clashes);

 private:
  std::vector<Entry> entries_;
};

}  // namespace lockstep
