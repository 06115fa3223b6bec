// The answer of the call `discover`: what is there on an agent's device, in the form of wire.hpp.
//
// Contract: encoding and decoding are inverse; what is empty is left out on the wire. Unknown fields are
// ignored. Everything else that does not fit is an error (invalid_spec) that names the field, and so is what
// readers of a DiscoveredHost rely on: all GPUs name the same NICs.
#pragma once

#include <string>
#include <string_view>

#include "drivers/linux/discover.hpp"

namespace lockstep::wire {

std::string encode(const DiscoveredHost& host);
Result<DiscoveredHost> decode_discovery(std::string_view body);

}  // namespace lockstep::wire
