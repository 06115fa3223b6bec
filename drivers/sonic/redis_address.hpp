// Where a switch's Redis is, as a spec says it (connect: redis).
#pragma once

#include <string_view>

#include "drivers/sonic/redis_connection.hpp"

namespace lockstep::sonic {

// "/var/run/redis/redis.sock", the same after unix://, "redis://10.0.0.1:6379", "[2001:db8::1]:6379",
// "10.0.0.1" (port 6379).
// Refuses (invalid_spec) host names, since looking one up cannot be ended, and anything else.
Result<RedisServer> parse_redis_server(std::string_view text);

}  // namespace lockstep::sonic
