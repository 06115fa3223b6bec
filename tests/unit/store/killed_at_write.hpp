// Kills a child process just before one of its writes to files.
#pragma once

#include <functional>

namespace lockstep {

// Runs `body` in a child and kills it (SIGKILL) before the nth system call that changes a file or its name,
// or syncs it. n starts at 1. Returns false when the child finished with fewer such calls. Throws when a
// child can't be traced or ends in any other way.
bool killed_at_write(int nth, const std::function<void()>& body);

}  // namespace lockstep
