// RedisProcess: a real redis-server for one test, in a temporary folder, on a unix socket and, where it is
// wanted, on a port of 127.0.0.1 that the kernel chose. It ends with the object, and with the test program.
// The tests look at it with redis-cli, not with the code under test.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "drivers/sonic/redis_connection.hpp"
#include "tests/needs.hpp"

namespace lockstep::sonic {

inline constexpr int kConfigDatabase = 4;

class RedisProcess {
 public:
  struct Options {
    std::vector<std::string> more = {};  // of redis-server: {"--requirepass", "secret"}
    bool tcp = false;
    std::string password = {};  // for redis-cli
  };
  RedisProcess() : RedisProcess(Options{}) {}
  explicit RedisProcess(Options options);
  ~RedisProcess();
  RedisProcess(const RedisProcess&) = delete;
  RedisProcess& operator=(const RedisProcess&) = delete;

  RedisServer server() const { return {.socket_path = socket_path(), .password = options_.password}; }
  RedisServer tcp_server() const {
    return {.host = "127.0.0.1", .port = port_, .password = options_.password};
  }
  const std::string& folder() const { return folder_; }
  std::string socket_path() const { return folder_ + "/redis.sock"; }

  // What redis-cli prints, in database 4, without the last newline.
  std::string cli(const std::vector<std::string>& words) const;
  // The commands that changed something or read rows since the last call: "HSET PORT|Ethernet0 mtu 9100".
  std::vector<std::string> commands() const;

  void signal(int number) const;
  // kill -9, and the same again, empty.
  void restart();

 private:
  void start();
  void stop();

  Options options_;
  std::string folder_;
  std::uint16_t port_ = 0;
  pid_t process_ = -1;
};

// Polls until it holds; false: it did not within 20 s.
bool eventually(const std::function<bool()>& holds);

inline Call within(std::chrono::milliseconds time) {
  Call call;
  call.deadline = std::chrono::steady_clock::now() + time;
  return call;
}
// Longer than anything takes here.
inline Call patient() { return within(std::chrono::seconds(30)); }

bool has_redis();

// "transient: Redis at ...".
template <class T>
std::string said(const Result<T>& result) {
  return result ? "no error" : std::string(to_string(result.error().kind)) + ": " + result.error().text();
}

}  // namespace lockstep::sonic

#define LOCKSTEP_NEEDS_REDIS() \
  if (!::lockstep::sonic::has_redis()) LOCKSTEP_NOT_TESTED_BUT_ON_CI("needs redis-server and redis-cli")
