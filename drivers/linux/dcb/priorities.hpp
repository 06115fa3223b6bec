// How many priorities a port has.
#pragma once

#include <cstddef>

namespace lockstep::dcb {

inline constexpr std::size_t kPriorities = 8;  // 802.1Q: three bits

}  // namespace lockstep::dcb
