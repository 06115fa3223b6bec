// FaultyRedisProxy: passes commands and replies between clients and a real Redis, and does harm at one
// command. Stands for what happens between two programs: others that write, connections that are cut, tunnels
// that deliver late, and servers that are not Redis.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "drivers/sonic/redis_connection.hpp"
#include "specs/files/descriptor.hpp"

namespace lockstep::sonic {

enum class RedisFault : std::uint8_t {
  none,         // only what `before` does
  cut_before,   // the command does not reach Redis, and both connections are closed
  close_after,  // its reply is passed on, and both connections are closed
  cut_after,    // Redis executes it, its reply is lost, and both connections are closed
  late,         // the command waits until deliver_late(), also when its client is gone
  answer,       // instead of Redis' reply to it, which it executes
};

struct RedisFaultPlan {
  std::string command{};  // "EXEC": the first that comes
  std::size_t skip = 0;   // so many of them are passed on before
  // Each time while it returns true; none: once.
  std::function<bool()> applies{};
  RedisFault fault = RedisFault::none;
  std::string answer{};            // as bytes
  std::function<void()> before{};  // done first, when all commands before have been answered
};

class FaultyRedisProxy {
 public:
  // Listens at `path`.
  FaultyRedisProxy(std::string path, std::string redis, RedisFaultPlan plan);
  ~FaultyRedisProxy();
  FaultyRedisProxy(const FaultyRedisProxy&) = delete;
  FaultyRedisProxy& operator=(const FaultyRedisProxy&) = delete;

  RedisServer server() const { return {.socket_path = path_}; }
  // Whether the fault has happened.
  bool done() const { return done_; }
  // What waits (`late`) reaches Redis now; returns when Redis has answered or closed.
  void deliver_late();

 private:
  struct Conversation;
  void serve();
  void converse(Conversation& talk);
  bool pass_command(Conversation& talk, const std::string& bytes);

  std::string path_;
  std::string redis_;
  RedisFaultPlan plan_;
  std::atomic<bool> done_ = false;
  std::size_t skipped_ = 0;
  Descriptor listener_;
  Descriptor quit_;
  Descriptor late_redis_;
  std::string late_bytes_;
  std::thread thread_;
};

}  // namespace lockstep::sonic
