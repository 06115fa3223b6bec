// What a port's driver reports: its name (`ethtool -i`), and the statistics that it defines (`ethtool -S`).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "specs/model/result.hpp"

namespace lockstep {

// "mlx5_core", in the calling thread's network namespace; for a port without hardware its kind, or empty;
// also empty for a port that no longer exists.
Result<std::string> driver_name(std::string_view netdev);

// In the calling thread's network namespace. Available over the ioctl only (ETHTOOL_GSTATS; netlink has the
// standard ones). `unsupported`: the port has none; `transient`: they could not be read, or the set of
// statistics changed meanwhile.
Result<std::map<std::string, std::uint64_t>> driver_statistics(std::string_view netdev);

}  // namespace lockstep
