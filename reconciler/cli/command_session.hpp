// What commands share: they load specs and open sessions with it, and it prints what goes wrong.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drivers/runtime/real_executor.hpp"
#include "reconciler/cli/console.hpp"
#include "reconciler/session/cluster_session.hpp"

namespace lockstep {

// Prints all errors (on success: warnings); returns nothing if there are errors.
std::optional<OpenedCluster> open_cluster(const ClusterSource& source, const Console& console);
// The same; tells what has no effect yet, too. `strict`: warnings are errors.
std::optional<OpenedCluster> validate_cluster(const ClusterSource& source, const Console& console,
                                              bool strict);

// A session with its own executor, which Ctrl-C interrupts.
class CommandSession {
 public:
  // Prints the error and returns null if the session can't be opened. `only`: devices, a hostlist.
  static std::unique_ptr<CommandSession> open(const ClusterSource& source, const Console& console,
                                              const std::string& only);
  // The same of specs that are loaded, and valid.
  static std::unique_ptr<CommandSession> open(OpenedCluster cluster, const Console& console,
                                              const std::string& only);
  ClusterSession* operator->() const { return session_.get(); }
  ClusterSession& operator*() const { return *session_; }
  RealExecutor& executor() { return executor_; }

 private:
  CommandSession() = default;
  Result<Done> watch_for_stop(int descriptor);
  std::unique_ptr<ClusterSession> session_;  // declared first: the executor must be destroyed before it
  RealExecutor executor_;
};

// Prints to standard error what could not be observed; then the answer is kExitIncomplete.
int tell_not_observed(const std::vector<NotObserved>& all, const Console& console);

// Where a twin's SLOs don't hold, or can't be judged, and this machine's CPUs were a limit: what would help.
void note_slow_machine(const OpenedCluster& cluster, const std::vector<SuiteOutcome>& outcomes,
                       const Console& console);

// Who runs this command: whoever called sudo, else the user.
std::string who_runs();

// Shows a measurement as progress; `indent` precedes each line.
MeasureHooks measure_hooks(const Console& console, const std::string& indent);

}  // namespace lockstep
