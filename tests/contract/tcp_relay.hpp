// TcpRelay: the path between a controller and an agent, over loopback TCP. It passes bytes that it can't read
// (TLS), and stands still or ends connections when a test says so.
//
// Promises: bytes are passed in order and unchanged. An end that goes while bytes are on the way to the other
// does not take them back.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <thread>

#include "drivers/posix/wake_descriptor.hpp"
#include "specs/files/descriptor.hpp"

namespace lockstep::contract {

class TcpRelay {
 public:
  explicit TcpRelay(std::uint16_t agent);  // its port on 127.0.0.1
  ~TcpRelay();
  TcpRelay(const TcpRelay&) = delete;
  TcpRelay& operator=(const TcpRelay&) = delete;
  std::uint16_t port() const { return port_; }

  // While on, nothing passes; what was sent meanwhile passes afterwards.
  void hang(bool on);
  enum class To : std::uint8_t { agent, controller };
  // Once `bytes` more have passed that way, the connection ends, for both: the rest is lost.
  void cut_after(To way, std::size_t bytes);
  // Waits until no byte is on the way and the agent has ended every connection that its controller has left.
  // False: it takes more than 10 s.
  bool rest();

 private:
  struct Connection {
    Descriptor controller;  // none: it has gone, or was cut off
    Descriptor agent;
    bool ended = false;
  };
  void serve();
  void accept();
  void serve(Connection& one, bool from_controller, bool from_agent);
  static void leave(Connection& one);
  // False: the connection ends.
  bool pass_on(const Descriptor& from, const Descriptor& to, To way);
  bool is_resting();  // whether somebody waits for it
  bool is_hanging();

  const std::uint16_t agent_;
  std::uint16_t port_ = 0;
  Descriptor listener_;
  std::list<Connection> connections_;  // the thread's
  WakeDescriptor wake_;
  std::mutex mutex_;
  std::condition_variable rested_;
  bool hangs_ = false;  // under mutex_, as what follows
  bool resting_ = false;
  bool quits_ = false;
  std::array<std::optional<std::size_t>, 2> left_;  // by way: bytes before the cut
  std::thread thread_;
};

}  // namespace lockstep::contract
