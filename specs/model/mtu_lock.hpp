// The MTU lock of the routes of route-mtu[*], in the syntax of ip-route(8): "mtu lock 1500".
#pragma once

#include <cstdint>
#include <optional>

#include "specs/model/value.hpp"

namespace lockstep {

Value mtu_lock(std::uint32_t bytes);

// None: the routes are not all locked to one MTU.
std::optional<std::uint32_t> mtu_locked_to(Value value);

// The packet size limit that the lock sets; kUnlimited if there is none.
inline constexpr std::int64_t kUnlimited = 0xFFFF'FFFF;
inline std::int64_t mtu_limit(Value value) { return mtu_locked_to(value).value_or(kUnlimited); }

}  // namespace lockstep
