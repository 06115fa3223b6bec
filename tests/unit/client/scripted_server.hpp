// A server on a UNIX socket that answers each connection with the next of its replies, whatever is asked, and
// notes what was asked. Connections beyond the last reply are closed without one.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "specs/files/descriptor.hpp"
#include "tests/unit/api/temporary_path.hpp"

namespace lockstep::client {

class ScriptedServer {
 public:
  explicit ScriptedServer(std::vector<std::string> replies);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  std::string address() const { return "unix:" + folder_.file("socket"); }
  std::vector<std::string> requests() const {
    const std::scoped_lock lock(mutex_);
    return requests_;
  }

  static std::string json(int status, const std::string& body, const std::string& headers = "");
  static std::string events(const std::string& text);
  // Kubernetes' Status, as the API has it.
  static std::string failure(int status, const std::string& message, const std::string& headers = "");

 private:
  void serve();
  void answer(int connection);

  const api::TemporaryPath folder_;
  const std::vector<std::string> replies_;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  Descriptor listener_;
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

}  // namespace lockstep::client
