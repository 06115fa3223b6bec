// A redis-server of its own for a test: on a unix socket in a folder of its own; both end with it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "tests/contract/relay.hpp"
#include "tests/contract/spike/redis_driver.hpp"

namespace lockstep::contract {

inline constexpr WriteCommands kRedisWrite{'\n', "MULTI\r", "EXEC\r"};

class RedisServer {
 public:
  // Why there can't be one; empty: there can.
  static std::string impossible();

  RedisServer();
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;
  std::string folder() const { return folder_; }
  std::string socket() const { return folder_ + "/redis.sock"; }
  void signal(int number) const;
  // As another hand does it; throws where the server does not do it.
  RedisReply tell(const std::vector<std::string>& words) const;

 private:
  std::string folder_;
  pid_t pid_ = -1;
};

}  // namespace lockstep::contract
