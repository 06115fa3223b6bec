// The single process behind a twin: it creates everything, is the parent of every daemon, and removes
// everything.
//
// Promises: it is process 1 of its own PID namespace, so that the kernel ends every daemon with it, whatever
// ends it (kill -9 included); it holds the twin's lock for as long as it lives; if a launcher exits before it
// sent "keep", the start is undone; it restarts nothing by itself: its status reports a daemon that ended. (A
// twin keeps its faults until the reconciler detects and heals them: a supervisor that heals would hide them;
// on a real switch, systemd and watchfrr do so first.) It is executed anew, never forked from a launcher that
// may have threads (fork(2)). Control socket: one line of JSON in ({"op": "status" | "stop" | "restart" |
// "delay" | "change", ...}), one line out, one pair per connection; "change" ({"record": TEXT}, the requested
// twin) reports its progress in lines before the answer, as a start does. If its client disconnects, the
// change ends and what it created is undone; other clients wait meanwhile.
#pragma once

#include <string>

#include "reconciler/twin/channel.hpp"
#include "reconciler/twin/layout.hpp"
#include "specs/files/descriptor.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

// The first argument of a program that must run as a supervisor: its main() then returns supervisor_main(),
// before it does anything else. Required in every program that brings twins up, tests included.
inline constexpr const char* kSupervisorWord = "twin-supervisor";
// Descriptors passed to a supervisor: the twin's lock and its end of the launcher's socket.
inline constexpr int kSupervisorLock = 3;
inline constexpr int kSupervisorLauncher = 4;

int supervisor_main();

// Starts `executable` as the supervisor, in its own session, and returns the launcher's end of the socket on
// which the supervisor reports its progress: lines {"step": "cables", "done": 12, "of": 12}, then {"ready":
// true, "supervisor": PID} or {"error": "...", "kind": 4}; the launcher answers "keep". End of file: the
// supervisor has ended (and cleaned up). `lock` is the twin's lock, held by the caller; the caller closes its
// own copy afterwards.
Result<LineChannel> launch_supervisor(const std::string& executable, const TwinRecord& record,
                                      const Descriptor& lock);

}  // namespace lockstep
