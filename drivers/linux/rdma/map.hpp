// The rows that this part carries: the one place of this folder that names entries.
#pragma once

#include <string>

#include "specs/model/diff.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep::rdma_map {

inline constexpr RowId kCnpDscp = row("interface[*]/cnp-dscp");
inline constexpr RowId kCongestionControl = row("interface[*]/congestion-control");
inline constexpr RowId kRoceTos = row("interface[*]/roce-tos");

inline constexpr RowId kRows[] = {kCnpDscp, kCongestionControl, kRoceTos};

// In words of MLNX_OFED's tools and files: those of other drivers are elsewhere (settings.hpp).
std::string native(const Change& change);

}  // namespace lockstep::rdma_map
