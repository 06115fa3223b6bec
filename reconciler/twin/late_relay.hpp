// A process that passes every frame between two interfaces, each a given time after it came. It delays the
// management path of a device on kernels that have no qdisc for that (netem is a module, and not in all).
//
// Promises: both directions have the same delay and keep their order; checksums and segmentation that a
// kernel has left to the interface pass as they are (virtio_net_hdr, packet(7)). It holds a bounded number of
// frames and loses what is beyond. The process ends with its parent's PID namespace.
#pragma once

#include <chrono>
#include <string>

#include "specs/files/descriptor.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

// Two interfaces of one network namespace.
struct LatePath {
  std::string one;
  std::string other;
  std::chrono::milliseconds delay{0};
};

class LateRelay {
 public:
  LateRelay() = default;
  // Forks without exec: the caller has one thread (daemons.hpp, spawn).
  static Result<LateRelay> start(int netns, const LatePath& path);
  LateRelay(LateRelay&& other) noexcept = default;
  LateRelay& operator=(LateRelay&& other) noexcept;
  ~LateRelay();

 private:
  void end();

  Descriptor process_;  // a pidfd, as the caller reaps children of any pid
};

}  // namespace lockstep
