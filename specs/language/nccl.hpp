// NCCL settings for a backend fabric. All are optional: without them lockstep writes no line to
// /etc/nccl.conf, and NCCL uses its own default.
#pragma once

#include <array>
#include <string_view>

#include "specs/language/said.hpp"

namespace lockstep {

// NCCL_CROSS_NIC 0, 1 and 2.
enum class CrossNic : std::uint8_t { never, allow, avoid };
constexpr auto words(CrossNic) { return std::to_array<std::string_view>({"never", "allow", "avoid"}); }

struct Nccl {
  Said<std::int32_t> gid_index;
  Said<std::uint32_t> qps_per_connection;
  Said<bool> split_data_on_qps;
  Said<CrossNic> cross_nic;
  Said<std::uint32_t> service_level;
  Said<bool> adaptive_routing;
};

}  // namespace lockstep
