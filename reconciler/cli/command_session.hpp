// Shared by commands: load specs, open sessions with them, and print errors.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "drivers/runtime/real_executor.hpp"
#include "reconciler/cli/console.hpp"
#include "reconciler/session/cluster_session.hpp"

namespace lockstep {

// Prints all errors (on success: warnings); returns nothing if there are errors.
std::optional<OpenedCluster> open_cluster(const ClusterSource& source, const Console& console);
// Specs with all that is reported of them, fields without effect included; and the same, printed like
// open_cluster(). `strict`: warnings are errors.
Result<OpenedCluster> load_to_validate(const ClusterSource& source);
std::optional<OpenedCluster> validated(Result<OpenedCluster> cluster, const Console& console, bool strict);
// Like open_cluster(), if two are open at once: `side` ("OLD") prefixes everything printed about this one.
std::optional<OpenedCluster> open_side(const std::string& side, const ClusterSource& source,
                                       const Console& console);

// A session with its own executor, which Ctrl-C interrupts.
class CommandSession {
 public:
  // Prints the error and returns null if the session can't be opened. `only`: devices, a hostlist.
  static std::unique_ptr<CommandSession> open(const ClusterSource& source, const Console& console,
                                              const std::string& only);
  // The same for specs that are already loaded and valid.
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

// Prints to standard error what could not be observed; the exit code is then kExitIncomplete.
int tell_not_observed(const std::vector<NotObserved>& all, const Console& console);

// If a twin's SLOs fail or can't be judged, and this machine's CPUs were a limit: prints what would help.
void note_slow_machine(const OpenedCluster& cluster, const std::vector<SuiteOutcome>& outcomes,
                       const Console& console);

// Adds to the document the cluster, whether it is a twin, and the commit of its specs.
nlohmann::json of_cluster(const OpenedCluster& cluster, nlohmann::json document);

// The user who runs this command: the caller of sudo, else the user.
std::string who_runs();

// Shows a measurement as progress; `indent` precedes each line.
MeasureHooks measure_hooks(const Console& console, const std::string& indent);

}  // namespace lockstep
