// A separate redis-server for a test, on a unix socket in its own folder; both are removed with the object.
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
  // Why the server cannot run here; empty if it can.
  static std::string impossible();

  RedisServer();
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;
  std::string folder() const { return folder_; }
  std::string socket() const { return folder_ + "/redis.sock"; }
  void signal(int number) const;
  // Runs a command as another client; throws if the server refuses it.
  RedisReply tell(const std::vector<std::string>& words) const;

 private:
  std::string folder_;
  pid_t pid_ = -1;
};

}  // namespace lockstep::contract
