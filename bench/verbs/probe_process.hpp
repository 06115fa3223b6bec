// A `lockstep verbs-probe` child process (run.hpp): an order in, lines of JSON out.
//
// Promises: take() waits for no output; at the end of the output it waits for the process to exit, half a
// second at most, then ends it. The process is gone with the object, and dies with the thread that started it
// (PR_SET_PDEATHSIG, prctl(2)). A line that is no JSON object or is longer than 4 MiB ends the process.
#pragma once

#include <optional>
#include <vector>

#include "bench/tcp/wire.hpp"
#include "specs/files/descriptor.hpp"

namespace lockstep::bench::verbs {

class ProbeProcess {
 public:
  static Result<ProbeProcess> start(const std::string& executable, const Json& order);
  ProbeProcess(ProbeProcess&& other) noexcept;
  ProbeProcess& operator=(ProbeProcess&&) = delete;
  ~ProbeProcess();

  int pid() const { return pid_; }
  int descriptor() const { return out_.number(); }  // -1 once it has ended
  // Lines received since the last call.
  std::vector<Json> take();
  // How it ended: "was killed by signal 9"; none: it is running.
  const std::optional<std::string>& ended() const { return ended_; }

 private:
  ProbeProcess(int pid, Descriptor out) : pid_(pid), out_(std::move(out)) {}
  void end(const std::string& why);
  bool split(std::vector<Json>& lines);  // false: invalid output

  int pid_;
  Descriptor out_;
  std::string pending_;
  std::optional<std::string> ended_;
};

}  // namespace lockstep::bench::verbs
