// A spike, linked by tests only: a driver on a real redis-server that holds its configuration as SONiC does,
// in hashes of CONFIG_DB ("PORT|Ethernet0" with mtu and admin_status). It is there to try the seam, not a
// device.
//
// Promises: those of drivers/mapped; besides, a write is done only if nothing that was read has changed up to
// the moment of the write (WATCH, MULTI, EXEC); every wait ends with its call. Refuses: names with '|'.
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

// One connection, to the database of CONFIG_DB. After an error it is of no use.
class RedisConnection {
 public:
  static Result<RedisConnection> open(const std::string& socket, const Call& call);
  // An answer that is an error is `refused`.
  Result<RedisReply> ask(const std::vector<std::string>& words, const Call& call);
  Result<RedisReply> next_reply(const Call& call);
  // What has come; null: nothing more.
  Result<RedisReply> reply_at_hand();
  int descriptor() const;

 private:
  std::unique_ptr<redisContext, FreeRedis> connection_;
};

Attached make_redis_driver(const std::string& device, const std::string& socket);

}  // namespace lockstep::contract
