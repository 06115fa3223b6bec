// The rows of diversions: besides the maps of the other parts the only file of this driver that names rows.
#pragma once

#include "specs/model/schema_rows.hpp"

namespace lockstep::diversion_map {

inline constexpr RowId kPort = row("interface[*]");
inline constexpr RowId kRouted = row("fib[*]");
inline constexpr RowId kFilters = row("diverted[*]/filters");
inline constexpr RowId kNeighbours = row("diverted[*]/neighbors");
inline constexpr RowId kSent = row("diverted[*]/sent");
inline constexpr RowId kTransit = row("diverted[*]/transit");

}  // namespace lockstep::diversion_map
