// The desired traffic class of RDMA on a port, as its RoceProfile compiles: DSCP << 2 | ECN.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "specs/model/intent.hpp"

namespace lockstep {

// None: the port has no RoceProfile, or one without a lossless class.
std::optional<std::uint8_t> wanted_traffic_class(const Intent& intent, const std::string& port);

}  // namespace lockstep
