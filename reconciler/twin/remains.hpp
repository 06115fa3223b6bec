// The run directory of a twin: who holds it, and taking away what a dead twin has left.
//
// Promises: the lock dies with its holder (flock(2)), whatever killed it; only things that bear the cluster's
// own names are removed: /run/netns/ls-<cluster>-* and the run directory. Processes are never looked for: all
// of a twin's die with its supervisor (PID namespace). Refuses to clean without the lock, and to touch what
// is another user's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "specs/files/descriptor.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

// The lock of this cluster, making its run directory if there is none; none: somebody holds it.
Result<std::optional<Descriptor>> claim(const std::string& cluster);

// Refuses folders that are not this user's, or are links: what is in them is another user's word.
Result<Done> check_own(const std::string& cluster);

// The clusters that have a run directory of this user's, running or left behind. Other users' are not told.
Result<std::vector<std::string>> twin_clusters();

// What is there in the cluster's name, in words ("namespace ls-pod1-leaf0", "run directory ...").
std::vector<std::string> remains_of(const std::string& cluster);

enum class Leave : bool { nothing, lock };
// Removes it. With Leave::lock the run directory and the held lock stay (to build anew).
Result<Done> clean_remains(const std::string& cluster, Leave leave);

// The supervisor's identity, kept in the run directory: a pid means nothing without its start time.
struct ProcessIdentity {
  pid_t pid = -1;
  unsigned long long started = 0;  // clock ticks after boot, field 22 of /proc/PID/stat (proc(5))
};
std::optional<ProcessIdentity> identity_of(pid_t pid);
Result<Done> record_supervisor(const std::string& cluster);
std::optional<ProcessIdentity> recorded_supervisor(const std::string& cluster);

}  // namespace lockstep
