// What the routes of route-mtu[*] are locked to, in words of ip-route(8): "mtu lock 1500".
#pragma once

#include <cstdint>
#include <optional>

#include "specs/model/value.hpp"

namespace lockstep {

Value mtu_lock(std::uint32_t bytes);

// None: not all of the routes are locked to one MTU, or none is.
std::optional<std::uint32_t> mtu_locked_to(Value value);

// What packets can't exceed by it; kUnlimited where that is none.
inline constexpr std::int64_t kUnlimited = 0xFFFF'FFFF;
inline std::int64_t mtu_limit(Value value) { return mtu_locked_to(value).value_or(kUnlimited); }

}  // namespace lockstep
