// The daemons of a twin as managed by their parent: each with its plan, its process and its state.
//
// Promises: start() returns when all given daemons answer, or with an error and none of them left; daemons
// that already ran are not touched. No daemon is restarted automatically. Ending one ends its own children
// too. The caller has one thread (daemons.hpp, spawn) and waits for no child elsewhere.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "reconciler/twin/daemons.hpp"
#include "reconciler/twin/namespace.hpp"
#include "reconciler/twin/state.hpp"

namespace lockstep {

class RunningDaemons {
 public:
  explicit RunningDaemons(std::string cluster) : cluster_(std::move(cluster)) {}

  // `told`: called with the number of ready daemons each time one becomes ready. `wake`: readable when a
  // child ended.
  Result<Done> start(std::vector<DaemonPlan> plans, const GoOn& go_on,
                     const std::function<void(std::size_t done, std::size_t of)>& told, int wake);
  // Ends the daemon first, in whatever state it is.
  Result<Done> restart(const std::string& device, const std::string& name);
  // Ends the daemons of a device and forgets them.
  void end(const std::string& device);
  void end_all();
  // Records which daemons ended, were stopped or continued.
  void reap();
  std::vector<DaemonState> states() const;

 private:
  struct One {
    DaemonPlan plan;
    DaemonState state;
    pid_t pid = -1;  // in our PID namespace, for waitpid; -1: not started or ended
  };
  Result<std::size_t> start_round(std::size_t first);
  Result<Done> start_one(One& one);
  void end_processes(const std::function<bool(const One&)>& which);
  void change(DaemonState& state, DaemonLife life, std::string how);

  std::string cluster_;
  std::vector<One> all_;
};

}  // namespace lockstep
