// VtyRelay: stands between a client and a real FRR daemon, and can lose the daemon's replies.
//
// Promises: commands reach the daemon as they are; while lose() is on, a configuration is done to its last
// line, and the client sees the connection end in place of the answer to that.
#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "specs/files/descriptor.hpp"

namespace lockstep::contract {

class VtyRelay {
 public:
  // Listens as DAEMON.vty in `folder`; the daemon itself does in `run_dir`.
  VtyRelay(const std::string& folder, const std::string& run_dir, const std::string& daemon);
  ~VtyRelay();
  VtyRelay(const VtyRelay&) = delete;
  VtyRelay& operator=(const VtyRelay&) = delete;
  void lose(bool on) { losing_ = on; }

 private:
  void serve();
  void converse(int client, int daemon);

  std::string daemon_path_;
  Descriptor listener_;
  Descriptor quit_;
  std::atomic<bool> losing_{false};
  std::thread thread_;
};

}  // namespace lockstep::contract
