// Relay: stands between a client and a real daemon on a unix socket, and can lose the daemon's replies.
//
// Promises: commands are passed to the daemon unchanged; while lose() is on, a write is done up to its last
// command, and the client sees the connection end instead of the answer to that command.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "specs/files/descriptor.hpp"

namespace lockstep::contract {

// How to recognize a write in the bytes of a client: from one command to another, each ended by `separator`.
struct WriteCommands {
  char separator;
  std::string_view begin;
  std::string_view end;
};

class Relay {
 public:
  Relay(const std::string& listen_on, std::string daemon, WriteCommands commands);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;
  void lose(bool on) { losing_ = on; }
  // Called when a write has begun and before its next command is passed on. Set it while no client is in a
  // call.
  void at_begin(std::function<void()> act) { at_begin_ = std::move(act); }

 private:
  void serve();
  void converse(int client, int daemon);

  std::string daemon_;
  WriteCommands commands_;
  Descriptor listener_;
  Descriptor quit_;
  std::atomic<bool> losing_{false};
  std::function<void()> at_begin_;
  std::thread thread_;
};

}  // namespace lockstep::contract
