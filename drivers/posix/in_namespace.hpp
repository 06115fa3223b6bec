// Runs code inside a network namespace: sockets opened there stay bound to it, and /proc/sys/net read there
// is its own (the kernel looks at the reading thread's namespace: fs/proc/proc_sysctl.c, net/sysctl_net.c).
//
// Promises: in_namespace and in_throwaway_namespace: a short-lived thread enters the namespace and ends, so
// no caller's thread ever changes namespace and a namespace that was deleted and recreated under the same
// name is picked up at each call (about 40 us). inside_namespace and inside_new_namespace: no thread is
// started, so that a single-threaded process can fork freely; the calling thread enters and returns, and if
// it can't return, the program aborts, as it would continue in the wrong network. Refuses: a path that is not
// a network namespace. Needs CAP_SYS_ADMIN unless the path is empty (the current one).
#pragma once

#include <functional>
#include <string>

#include "specs/model/result.hpp"

namespace lockstep {

// Returns errors of entering only; `body` has to report its own result (capture one by reference).
Result<Done> in_namespace(const std::string& netns_path, const std::function<void()>& body);

// The same inside a new, empty namespace that is removed afterwards: for probing what the kernel supports
// without touching anything that exists.
Result<Done> in_throwaway_namespace(const std::function<void()>& body);

// On the calling thread. An error is either from the body or from entering.
Result<Done> inside_namespace(int netns, const std::function<Result<Done>()>& body);
// A new namespace, which ends with its last user: `body` must keep a reference if it is to stay. `name` is
// for an error.
Result<Done> inside_new_namespace(const std::string& name, const std::function<Result<Done>()>& body);

}  // namespace lockstep
