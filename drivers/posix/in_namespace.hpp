// Runs code inside a network namespace: sockets opened there stay bound to it, and /proc/sys/net read there
// is its own (the kernel looks at the reading thread's namespace: fs/proc/proc_sysctl.c, net/sysctl_net.c).
//
// Promises: in_namespace and in_throwaway_namespace: a short-lived thread enters the namespace and ends, so
// no caller's thread ever changes namespace and a namespace that was deleted and made again under the same
// name is met fresh at each call (about 40 us). inside_namespace and inside_new_namespace: no thread is
// started, so that a process with a single one can fork freely; the calling thread goes there and comes back,
// and if it can't, the program ends, as all further work would be in a wrong network. Refuses: a path that is
// no network namespace. Needs CAP_SYS_ADMIN unless the path is empty (this one).
#pragma once

#include <functional>
#include <string>

#include "specs/model/result.hpp"

namespace lockstep {

// Error of entering; what `body` did is the body's own to tell (capture a result by reference).
Result<Done> in_namespace(const std::string& netns_path, const std::function<void()>& body);

// The same inside a new, empty namespace that is gone afterwards: for asking the kernel what it can do
// without touching anything that exists.
Result<Done> in_throwaway_namespace(const std::function<void()>& body);

// On the calling thread. An error is the body's, or that of entering.
Result<Done> inside_namespace(int netns, const std::function<Result<Done>()>& body);
// A new one, which ends with its last user: `body` is to keep it if it is to stay. `name` is for an error.
Result<Done> inside_new_namespace(const std::string& name, const std::function<Result<Done>()>& body);

}  // namespace lockstep
