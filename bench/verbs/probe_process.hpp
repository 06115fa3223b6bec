// A `lockstep verbs-probe` process that this one started (run.hpp): an order in, lines of JSON out.
//
// Promises: take() waits for no output; at the output's end it waits for the process to exit, half a second
// at most, and ends it then. The process is gone with the object, and dies with the thread that started it
// (PR_SET_PDEATHSIG, prctl(2)). Refuses: a line that is no JSON object or is longer than 4 MiB; it ends the
// process.
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
  // Lines that have come since.
  std::vector<Json> take();
  // How: "was killed by signal 9"; none: it has not.
  const std::optional<std::string>& ended() const { return ended_; }

 private:
  ProbeProcess(int pid, Descriptor out) : pid_(pid), out_(std::move(out)) {}
  void end(const std::string& why);
  bool split(std::vector<Json>& lines);  // false: not as it should be

  int pid_;
  Descriptor out_;
  std::string pending_;
  std::optional<std::string> ended_;
};

}  // namespace lockstep::bench::verbs
