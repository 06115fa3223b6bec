// Starts a probe, `lockstep WORD...`, and sees to its end.
//
// Promises: the probe has its own process group (Ctrl-C reaches the caller, which ends the probes in order),
// default signals of which none is blocked, and one descriptor of the caller's besides the standard ones;
// reap() waits for as long as it is told, then ends it by its own pid, and leaves no zombie. Refuses: an
// executable that can't be started.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "specs/model/result.hpp"

namespace lockstep::bench {

// `given` is the probe's descriptor `as`. `words`: after the program's own name.
Result<pid_t> spawn_probe(const std::string& executable, const std::vector<std::string>& words, int given,
                          int as);
// "ended with status 2", "was killed by signal 9".
std::string reap(pid_t pid, std::uint64_t grace_ns);

}  // namespace lockstep::bench
