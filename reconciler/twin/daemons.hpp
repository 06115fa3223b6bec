// The daemons of a twin's devices: which ones run, how they are started, and how their readiness is detected.
//
// Promises: each runs in the foreground as a child of the caller, in its device's network namespace and a UTS
// namespace that has the device's name (so that BGP and LLDP announce "leaf0", not this machine's name), with
// its files in the device's run directory; spawn returns after exec has succeeded, or with the reason for its
// failure. Refuses to start if the program is not installed (preflight).
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "reconciler/twin/layout.hpp"

namespace lockstep {

struct DaemonPlan {
  std::string device;
  std::string name;  // "zebra", "bgpd", "bfdd", "lldpd", "redis-server", "sonic-stand-in", "agent"
  std::vector<std::string> argv;
  std::string ready_socket;  // accepts when the daemon is ready; empty: see ready_file
  std::string ready_file{};  // the daemon makes it when it is ready
  // A private /run with the device's run directory alone. The agent needs the twin's, to restart daemons.
  bool own_folders = true;
  std::string after{};  // a daemon of the same device that must be ready first; empty: none
  // What it sees in the place of files of this machine.
  struct Cover {
    std::string file;
    std::string over;
  };
  std::vector<Cover> covers{};
};

std::vector<DaemonPlan> daemons_of(const TwinRecord& record);
// Checks all requirements before anything is created: privileges, programs, users.
Result<Done> preflight(const TwinRecord& record);
// Creates the run directory of one device with the daemons' empty configuration files, owned as the daemons
// need it and closed to other users.
Result<Done> prepare_run_dir(const TwinRecord& record, const TwinDevice& device);

struct Spawned {
  pid_t pid = -1;        // as the caller sees it, for waitpid
  pid_t outer_pid = -1;  // in the PID namespace that /proc was mounted in: what `ps` shows
};
// Between fork and exec it makes only calls that are safe in a process with threads. The child dies with its
// parent's PID namespace.
Result<Spawned> spawn(const DaemonPlan& plan, const std::string& cluster);
// Whether the daemon is ready: accepts connections on its socket, or has made its file.
bool is_ready(const DaemonPlan& plan);
// The last line that the daemon wrote, for error texts; empty: none.
std::string last_words(const DaemonPlan& plan, const std::string& cluster);

// The calling process's id in the PID namespace of /proc.
pid_t outer_pid_of_self();

}  // namespace lockstep
