// A child process that is killed just before one of its writes to files.
#pragma once

#include <functional>

namespace lockstep {

// Runs `body` in a child and kills it (SIGKILL) before the nth system call that changes a file or its name,
// or syncs it; n is from 1. False: it came to its end with fewer of them. Throws where a child can't be
// traced, or ends otherwise.
bool killed_at_write(int nth, const std::function<void()>& body);

}  // namespace lockstep
