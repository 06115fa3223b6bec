// Runs code inside a network namespace: sockets opened there stay bound to it, and /proc/sys/net read there
// is its own (the kernel looks at the reading thread's namespace: fs/proc/proc_sysctl.c, net/sysctl_net.c).
//
// Promises: a short-lived thread enters the namespace and ends, so no caller's thread ever changes namespace
// and a namespace that was deleted and made again under the same name is met fresh at each call (about 40
// us). Refuses: a path that is no network namespace. Needs CAP_SYS_ADMIN unless the path is empty (this one).
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

}  // namespace lockstep
