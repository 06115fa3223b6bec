// The one process behind a twin: it makes everything, is the parent of every daemon, and takes everything
// away.
//
// Promises: it is process 1 of a PID namespace of its own, so that whatever ends it (kill -9 included) ends
// every daemon with it, by the kernel; it holds the twin's lock for as long as it lives; a launcher that goes
// away before it said "keep" undoes the start; it restarts nothing by itself: a daemon that ended is told in
// its status. (What a twin breaks stays broken until it is named and healed: a supervisor that heals would
// hide it; on a real switch, systemd and watchfrr do so first.) Control socket: one line of JSON in ({"op":
// "status" | "stop" | "restart", ...}), one line out, one pair a connection.
#pragma once

#include "reconciler/twin/layout.hpp"
#include "specs/files/descriptor.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

// Forks the supervisor off, as a session of its own, and returns the launcher's end of the socket on which it
// tells its progress: lines {"step": "cables", "done": 12, "of": 12}, then {"ready": true, "supervisor": PID}
// or
// {"error": "...", "kind": 4}; the launcher answers "keep". End of file: the supervisor has ended (and
// cleaned up). `lock` is the twin's lock, held by the caller; the caller closes its own copy afterwards.
Result<Descriptor> launch_supervisor(const TwinRecord& record, const Descriptor& lock);

}  // namespace lockstep
