// Entries that show whether the cable of a port (their first key) is in service: while one of them differs
// from its desired value, no traffic passes over the cable.
#pragma once

#include <algorithm>
#include <array>

#include "specs/model/schema_rows.hpp"

namespace lockstep {

inline bool tells_of_cable(RowId id) {
  static constexpr std::array kRows{row("interface[*]/admin"), row("interface[*]/carrier"),
                                    row("bgp/neighbor[*]/session")};
  return std::find(kRows.begin(), kRows.end(), id) != kRows.end();
}

}  // namespace lockstep
