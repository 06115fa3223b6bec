// The run directory of a twin: its lock, and the removal of what a dead twin has left.
//
// Promises: the lock ends with its holder (flock(2)), however it was killed; only things with the cluster's
// own name are removed: /run/netns/ls-<cluster>-* and the run directory. Processes are not searched for: all
// of a twin's die with its supervisor (PID namespace). Refuses to clean without the lock, and to touch
// another user's files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "specs/files/descriptor.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

// The lock of this cluster, creating its run directory if there is none; none: another process holds it.
Result<std::optional<Descriptor>> claim(const std::string& cluster);

// Refuses folders that are not this user's, or are links: their contents are under another user's control.
Result<Done> check_own(const std::string& cluster);

// The clusters with a run directory of this user, running or left behind. Other users' are not listed.
Result<std::vector<std::string>> twin_clusters();

// The remains under the cluster's name, as text ("namespace ls-pod1-leaf0", "run directory ...").
std::vector<std::string> remains_of(const std::string& cluster);

enum class Leave : bool { nothing, lock };
// Removes them. With Leave::lock the run directory and the held lock stay, for a new twin.
Result<Done> clean_remains(const std::string& cluster, Leave leave);

// The supervisor's identity, kept in the run directory: a pid alone is ambiguous without its start time.
struct ProcessIdentity {
  pid_t pid = -1;
  unsigned long long started = 0;  // clock ticks after boot, field 22 of /proc/PID/stat (proc(5))
};
std::optional<ProcessIdentity> identity_of(pid_t pid);
Result<Done> record_supervisor(const std::string& cluster);
std::optional<ProcessIdentity> recorded_supervisor(const std::string& cluster);

}  // namespace lockstep
