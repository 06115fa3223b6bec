// The table of managed entries, in path order. Adding an entry: one row in the table of its subject, one line
// in a driver's map, one golden case.
#pragma once

#include <algorithm>
#include <array>

#include "specs/model/schema_dcqcn_rows.hpp"
#include "specs/model/schema_host_rows.hpp"
#include "specs/model/schema_port_rows.hpp"
#include "specs/model/schema_routing_rows.hpp"

namespace lockstep {

inline constexpr auto kSchema = [] {
  std::array<Row, kDcqcnRows.size() + kHostRows.size() + kPortRows.size() + kRoutingRows.size()> all{};
  auto end = std::copy(kDcqcnRows.begin(), kDcqcnRows.end(), all.begin());
  end = std::copy(kHostRows.begin(), kHostRows.end(), end);
  end = std::copy(kPortRows.begin(), kPortRows.end(), end);
  std::copy(kRoutingRows.begin(), kRoutingRows.end(), end);
  std::sort(all.begin(), all.end(), [](const Row& a, const Row& b) { return a.pattern < b.pattern; });
  return all;
}();

// The row of a pattern, at compile time: row("interface[*]/mtu"); an unknown pattern does not compile.
consteval RowId row(std::string_view pattern) {
  for (std::size_t i = 0; i < kSchema.size(); ++i)
    if (kSchema[i].pattern == pattern) return static_cast<RowId>(i);
  throw "no such schema row";
}

constexpr const Row& schema_row(RowId id) { return kSchema[id]; }

}  // namespace lockstep
