// What a port's driver says of itself: its name (`ethtool -i`), and statistics that it names (`ethtool -S`).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "specs/model/result.hpp"

namespace lockstep {

// "mlx5_core", in the calling thread's network namespace; of a port without hardware its kind, or
// nothing; nothing, too, of one that is gone meanwhile.
Result<std::string> driver_name(std::string_view netdev);

// In the calling thread's network namespace. Told over the ioctl alone (ETHTOOL_GSTATS; netlink has the
// standard ones). `unsupported`: the port has none; `transient`: they could not be read, or became others
// meanwhile.
Result<std::map<std::string, std::uint64_t>> driver_statistics(std::string_view netdev);

}  // namespace lockstep
