// A spike, linked by tests only: a driver for a real redis-server that holds its configuration as SONiC does,
// in hashes of CONFIG_DB ("PORT|Ethernet0" with mtu and admin_status). It tests the driver seam, not a
// device.
//
// Promises: those of drivers/mapped; in addition, a write is done only if nothing that was read has changed
// before the write (WATCH, MULTI, EXEC); every wait ends with its call. Refuses: names with '|'.
#pragma once

#include <memory>
#include <string>

#include "drivers/driver.hpp"

struct redisContext;
struct redisReply;

namespace lockstep::contract {

struct FreeRedis {
  void operator()(redisContext* connection) const;
  void operator()(redisReply* reply) const;
};
using RedisReply = std::unique_ptr<redisReply, FreeRedis>;

// One connection to the database of CONFIG_DB. It is unusable after an error.
class RedisConnection {
 public:
  static Result<RedisConnection> open(const std::string& socket, const Call& call);
  // An error answer is `refused`.
  Result<RedisReply> ask(const std::vector<std::string>& words, const Call& call);
  Result<RedisReply> next_reply(const Call& call);
  // A reply that is already received; null if there is none.
  Result<RedisReply> reply_at_hand();
  int descriptor() const;

 private:
  std::unique_ptr<redisContext, FreeRedis> connection_;
};

Attached make_redis_driver(const std::string& device, const std::string& socket);

}  // namespace lockstep::contract
