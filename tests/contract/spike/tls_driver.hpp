// A spike, linked by tests only: a driver that speaks the seam to a process on the device over TLS, one line
// of JSON a call; and that process, as a thread here. The forerunner of lockstep-agent.
//
// Promises of the driver: those of the seam; the time that a call has left travels with it; what breaks after
// a write was sent is unknown_outcome. Of the server: it serves one connection at a time; what is armed it
// undoes by itself, whoever is there. Refuses: any other certificate than the server's.
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "drivers/driver.hpp"
#include "drivers/posix/wake_descriptor.hpp"
#include "specs/files/descriptor.hpp"
#include "tests/contract/spike/tls_channel.hpp"

namespace lockstep::contract {

// `expected` must outlive the driver. `port` is of 127.0.0.1.
Attached make_tls_driver(const std::string& device, SSL_CTX* expected, std::uint16_t port);

class TlsServer {
 public:
  // Serves `device` until it ends.
  TlsServer(Driver& device, TlsContext context);
  ~TlsServer();
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;
  std::uint16_t port() const { return port_; }
  // While it is on, an apply is done, and the connection ends in the middle of the answer.
  void lose_replies(bool on) { loses_ = on; }
  // While it is on, nothing is read.
  void hang(bool on);
  // The device, between two calls: for a hand at the device and for its clock.
  void at_device(const std::function<void()>& act);

 private:
  void serve();
  void converse(TlsChannel client);
  std::string answer(const std::string& line);
  // Until there is something to read and nothing hangs; false: it ends.
  bool readable(int descriptor);

  Driver& device_;
  TlsContext context_;
  Descriptor listener_;
  std::uint16_t port_ = 0;
  std::mutex mutex_;  // guards the device
  std::atomic<bool> loses_{false};
  std::atomic<bool> hangs_{false};
  std::stop_source ends_;
  WakeDescriptor ended_;    // and stays so
  WakeDescriptor resumed_;  // hangs_ has changed
  std::thread thread_;
};

}  // namespace lockstep::contract
