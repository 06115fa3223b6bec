// A new UUID of random bytes (RFC 4122 section 4.4).
#pragma once

#include <string>

#include "specs/model/result.hpp"

namespace lockstep {

// `whose`: for the error (refused) of a kernel without random bytes, such as "the cluster's UUID".
Result<std::string> random_uuid(const std::string& whose);

}  // namespace lockstep
