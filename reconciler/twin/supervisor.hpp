// The one process behind a twin: it makes everything, is the parent of every daemon, and takes everything
// away.
//
// Promises: it is process 1 of a PID namespace of its own, so that whatever ends it (kill -9 included) ends
// every daemon with it, by the kernel; it holds the twin's lock for as long as it lives; a launcher that goes
// away before it said "keep" undoes the start; it restarts nothing by itself: a daemon that ended is told in
// its status. (What a twin breaks stays broken until it is named and healed: a supervisor that heals would
// hide it; on a real switch, systemd and watchfrr do so first.) It is executed anew, never a copy of a
// launcher that may have threads (fork(2)). Control socket: one line of JSON in ({"op": "status" | "stop" |
// "restart" | "change", ...}), one line out, one pair a connection; "change" ({"record": TEXT}, the twin as
// it is to be) tells its progress in lines before that one, as a start does. It is undone as far as it made
// something, and ends, if its client goes away; other clients wait meanwhile.
#pragma once

#include <string>

#include "reconciler/twin/channel.hpp"
#include "reconciler/twin/layout.hpp"
#include "specs/files/descriptor.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

// The first argument of a program that is to be a supervisor: its main() returns supervisor_main() then,
// before it does anything else. So does every program that brings twins up, tests included.
inline constexpr const char* kSupervisorWord = "twin-supervisor";
// What a supervisor is given: the descriptors of the twin's lock and of its end of the launcher's socket.
inline constexpr int kSupervisorLock = 3;
inline constexpr int kSupervisorLauncher = 4;

int supervisor_main();

// Starts `executable` as the supervisor, in a session of its own, and returns the launcher's end of the
// socket on which it tells its progress: lines {"step": "cables", "done": 12, "of": 12}, then {"ready": true,
// "supervisor": PID} or {"error": "...", "kind": 4}; the launcher answers "keep". End of file: the supervisor
// has ended (and cleaned up). `lock` is the twin's lock, held by the caller; the caller closes its own copy
// afterwards.
Result<LineChannel> launch_supervisor(const std::string& executable, const TwinRecord& record,
                                      const Descriptor& lock);

}  // namespace lockstep
