// Starts a probe, `lockstep WORD...`, and ends it.
//
// Promises: the probe has its own process group (Ctrl-C is delivered to the caller, which ends the probes in
// order), default signal handlers with no signal blocked, and one descriptor of the caller besides the
// standard ones; reap() waits for the given time, then ends it by its own pid, and leaves no zombie. Refuses:
// an executable that can't be started.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "specs/model/result.hpp"

namespace lockstep::bench {

// `given` becomes the probe's descriptor `as`. `words`: the arguments after the program's name.
Result<pid_t> spawn_probe(const std::string& executable, const std::vector<std::string>& words, int given,
                          int as);
// "ended with status 2", "was killed by signal 9".
std::string reap(pid_t pid, std::uint64_t grace_ns);

}  // namespace lockstep::bench
