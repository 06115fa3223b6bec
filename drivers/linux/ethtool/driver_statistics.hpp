// The statistics of a port that its driver names itself (`ethtool -S`).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "specs/model/result.hpp"

namespace lockstep {

// In the calling thread's network namespace. Told over the ioctl alone (ETHTOOL_GSTATS; netlink has the
// standard ones). `unsupported`: the port has none; `transient`: they could not be read, or became others
// meanwhile.
Result<std::map<std::string, std::uint64_t>> driver_statistics(std::string_view netdev);

}  // namespace lockstep
